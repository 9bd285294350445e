import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { idProblem } from '../../../src/analytics/model/identifier.ts';
import {
  cameraKey,
  DAY_KEY,
  eventKey,
  eventsOfMinute,
  hourKey,
  minuteKey,
  parseCameraKey,
  parseEventKey,
  parseMinuteKey,
  parseShardPartition,
  partitionsOf,
  rowsOfHour,
  SEALED_KEY,
  shardPartition,
} from '../../../src/analytics/rows/keys.ts';
import { inStripe, MAX_STRIPES, parseStripe, stripesOf } from '../../../src/analytics/rows/stripes.ts';
import { DecodeError } from '../../../src/storage/errors.ts';
import type { KeyRange } from '../../../src/storage/row.ts';
import { DATE } from '../counting.ts';

/** Characters that keys cannot have, their escapes, characters that separate the parts of keys, and ids that are much alike. */
const NASTY = String.raw`/ \ # ? % | } { ' " & + = , ; . ~ ! é 語 🔥 👩‍🚒 ／ ＼ ＃ ？ ％ ｜ a ab a| a|b a} a/ A .. %2F`
  .split(' ')
  .concat('\u3000', ' ', 'a ', 'a 01');
const ids = fc
  .oneof(
    fc.constantFrom(...NASTY),
    fc.string({ unit: fc.constantFrom(...NASTY), minLength: 1, maxLength: 40 }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
    fc.constantFrom(...NASTY.map((text) => text.repeat(Math.floor(128 / text.length)))),
  )
  .filter((id) => idProblem(id) === undefined);
const minutes = fc.oneof(fc.nat(1_439), fc.integer({ min: 598, max: 601 }));
const stripes = fc.nat(MAX_STRIPES - 1);
const counterKeys = fc.oneof(
  fc.constant(DAY_KEY),
  fc.nat(23).map(hourKey),
  fc.tuple(minutes, fc.nat(59)).map(([minute, second]) => minuteKey(minute, second)),
  ids.map(cameraKey),
);
const has = ({ from, before }: KeyRange, key: string): boolean => from <= key && key < before;

it('a key tells what it was made of, and has at most 512 characters: none that storage refuses, or proxies and SDKs decode', () => {
  fc.assert(
    fc.property(
      minutes,
      ids,
      ids,
      fc.nat(59),
      counterKeys,
      stripes,
      (minute, cameraId, eventId, second, key, stripe) => {
        const own = eventKey(minute, cameraId, eventId);
        expect(parseCameraKey(cameraKey(cameraId))).toBe(cameraId);
        expect(parseEventKey(own)).toEqual({ minute, cameraId, eventId });
        expect(parseMinuteKey(minuteKey(minute, second))).toEqual({ minute, second: second < 30 ? 0 : 30 });
        expect(parseStripe(inStripe(key, stripe))).toEqual({ key, stripe });
        for (const stored of [own, inStripe(key, stripe)]) {
          expect(stored.length).toBeLessThanOrEqual(512);
          expect(stored).not.toMatch(/[/\\#?%\p{Cc}]/u);
        }
      },
    ),
    { numRuns: 500 },
  );
});

it.each<readonly [parse: (key: string) => unknown, keys: string]>([
  [parseCameraKey, 'camera,camera|a|b,event|0815|a|b,hour|08'],
  [parseMinuteKey, 'minute|0815,minute|2400|00,minute|0860|00,minute|0815|15,minute|0815|60,hour|0815|00'],
  [parseEventKey, 'event|9959|a|b,event|815|a|b,event|0815|a,event|0815|a|b|c,camera|a,event|08:5|a|b'],
  [parseStripe, 'day 1,day 00,day 64,day 01 02,day x1,day sealed'],
  [(key) => parseShardPartition(DATE, key), '2026-11-20_00,2026-11-21,2026-11-21.0_00,2026-11-21_0'],
])('a key of another form is damage: %o, %s', (parse, keys) => {
  for (const key of keys.split(',')) expect(() => parse(key), key).toThrow(DecodeError);
});

it('a range of keys has its rows and no others: of a minute, of a camera in it, of a counter in all stripes, of a day', () => {
  fc.assert(
    fc.property(minutes, minutes, ids, ids, ids, (asked, minute, askedId, cameraId, eventId) => {
      const key = eventKey(minute, cameraId, eventId);
      expect(has(eventsOfMinute(asked), key)).toBe(asked === minute);
      expect(has(eventsOfMinute(minute, askedId), key)).toBe(askedId === cameraId);
      const [hour, other] = [minute, asked].map((one) => Math.floor(one / 60));
      expect(has(rowsOfHour('minute', other ?? 0), minuteKey(minute, 42))).toBe(other === hour);
    }),
  );
  fc.assert(
    fc.property(counterKeys, counterKeys, stripes, (asked, key, stripe) => {
      expect(has(stripesOf(asked), inStripe(key, stripe))).toBe(asked === key);
      expect(has(stripesOf(asked), inStripe(asked, stripe))).toBe(true);
    }),
  );
  for (const [shard, generation] of [
    [63, 0],
    [7, 12],
  ] as const) {
    const partition = shardPartition(DATE, shard, generation);
    expect(parseShardPartition(DATE, partition)).toEqual({ shard, generation });
    expect(has(partitionsOf(DATE), partition)).toBe(true);
  }
  for (const other of ['2026-11-20_00', '2026-11-22.1_00', 'days']) expect(has(partitionsOf(DATE), other)).toBe(false);
  // The row that tells of a seal is the last of the day rows.
  expect(has(stripesOf(DAY_KEY), SEALED_KEY) && inStripe(DAY_KEY, MAX_STRIPES - 1) < SEALED_KEY).toBe(true);
});
