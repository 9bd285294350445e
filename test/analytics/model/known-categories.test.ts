import { expect, it } from 'vitest';

import { withKnownCategories } from '../../../src/analytics/model/known-categories.ts';

it('known categories are present with 0, beside those that were counted, sorted', () => {
  const counted = { detections: 2, reviewed: 1, annotations: 0 };
  const tally = {
    events: 1,
    reviewed: 1,
    annotated: 0,
    categories: new Map([
      ['smoke', counted],
      ['fog', counted],
    ]),
  };
  const none = { detections: 0, reviewed: 0, annotations: 0 };
  expect(withKnownCategories(tally, ['smoke', 'fire'])).toEqual({
    ...tally,
    categories: new Map([
      ['fire', none],
      ['fog', counted],
      ['smoke', counted],
    ]),
  });
  expect([...withKnownCategories(tally, ['smoke', 'fire']).categories.keys()]).toEqual(['fire', 'fog', 'smoke']);
});
