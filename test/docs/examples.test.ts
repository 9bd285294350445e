import { expect, it } from 'vitest';
import { z } from 'zod';

import { NOTIFICATION_STATUSES } from '../../src/http/notification-answer.ts';
import { RECIPIENT_STATUSES } from '../../src/calls/state/view.ts';
import { loadBundle } from '../harness/bundled.ts';
import { codeBlocksOf, tableOf } from './markdown.ts';

const { components } = z
  .object({
    components: z.object({
      schemas: z.record(z.string(), z.object({ examples: z.array(z.unknown()).default([]) })),
      examples: z.record(z.string(), z.object({ value: z.unknown() })),
    }),
  })
  .parse(loadBundle('release').description);

/** The examples of the API description: of answers, of bodies and of problems. */
const described = [
  ...Object.values(components.schemas).flatMap(({ examples }) => examples),
  ...Object.values(components.examples).map(({ value }) => value),
];

it.each(['README.md', 'src/http/README.md'])('%s shows answers that are examples of the API description', (page) => {
  const shown = codeBlocksOf(page, 'json').map((block): unknown => JSON.parse(block));
  expect(shown.length).toBeGreaterThan(1);
  for (const answer of shown) expect(described).toContainEqual(answer);
});

it('src/http/README.md has every status of a notification and of a recipient', () => {
  const rows = tableOf('src/http/README.md', 'The state: GET /api/notifications/{id}');
  const of = (thing: string) => rows.flatMap(([status = '', owner]) => (owner === thing ? [status] : []));
  expect(of('notification')).toEqual([...NOTIFICATION_STATUSES]);
  expect(of('recipient').toSorted()).toEqual(RECIPIENT_STATUSES.toSorted());
});
