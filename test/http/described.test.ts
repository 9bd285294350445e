import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import * as z from 'zod';

import { date } from '../../src/http/analytics-answer.ts';
import { cameraEventSchema } from '../../src/http/event-message.ts';
import { rangeParameters } from '../../src/http/range-parameters.ts';
import { referenceText } from '../../src/http/recipients.ts';
import { spokenText } from '../../src/http/request-values.ts';

const { time, data } = cameraEventSchema.shape;
const { camera_id: id, ts_utc: frameTime } = data.shape;
const describedSchema = z.looseObject({ pattern: z.string(), maxLength: z.number().default(60) });

// Generated clients refuse what does not match a pattern; some of them read it without the flag u.
it.each<[string, z.ZodType, ...examples: string[]]>([
  ['an id', id, 'x', "o'brien's #1?", '見張り台', 'x'.repeat(128)],
  ['a time', time, '2026-11-21T08:00:02.5Z', '2024-02-29t01:00:02.123456789-07:00'],
  ['the time of a frame', frameTime, '2026-11-21T08:00:00', '2000-02-29T23:59:59.999999z'],
  ['the end of a range', rangeParameters.ts_utc_end, '2026-11-21T08:00:00', '1970-01-01T00:00:00+14:00'],
  ['a day', date, '2026-12-31', '2400-02-29'],
  ['a reference', referenceText, 'https://example.org/?a=b#c', 'Камера 4', 'हिमालय', '山火事 🔥', 'a — b “c”'],
  ['a place', spokenText(200), 'Antelope Ridge, camera 4 (50 m, 7 %)', '🔥'],
])('%s that matches its described pattern is accepted, and usual ones match it', (_, schema, ...examples) => {
  const { pattern, maxLength } = describedSchema.parse(z.toJSONSchema(schema, { io: 'input' }));
  for (const flags of ['', 'u']) {
    const described = new RegExp(pattern, flags);
    for (const example of examples) expect([example, described.test(example)]).toEqual([example, true]);
    const texts = fc.stringMatching(described, { maxLength });
    // An offset may put the first frames of 2000 into 1999.
    const isRight = (text: string) => schema.safeParse(text).success || text.startsWith('2000-01-01');
    fc.assert(fc.property(texts, isRight), { numRuns: 1_000 });
  }
});
