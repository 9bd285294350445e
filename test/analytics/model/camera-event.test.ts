import { describe, expect, it } from 'vitest';

import { categoriesOf, contributionOf, type Facets } from '../../../src/analytics/model/camera-event.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { applyFacets } from '../../../src/analytics/model/newest-wins.ts';

/** What a message says: each facet that it has is as of its time. */
interface Said {
  readonly detections?: Readonly<Record<string, number>>;
  readonly reviewed?: boolean;
  readonly annotations?: Readonly<Record<string, number>>;
}

const facets = (microseconds: number, { detections, reviewed, annotations }: Said): Facets => {
  const time = instantFrom(BigInt(microseconds));
  return {
    ...(detections && { detections: { value: new Map(Object.entries(detections)), time } }),
    ...(reviewed !== undefined && { reviewed: { value: reviewed, time } }),
    ...(annotations && { annotations: { value: new Map(Object.entries(annotations)), time } }),
  };
};

const fold = (messages: readonly Facets[]): Facets => messages.reduce(applyFacets, {});

describe('the facets of an event', () => {
  it('keep the first of two values with the same time', () => {
    const [first, second] = [facets(1, { reviewed: true, detections: { fire: 1 } }), facets(1, { reviewed: false })];
    expect(fold([first, second, facets(1, { detections: { fire: 2 } })])).toEqual(first);
  });

  it('keep a category that was removed, with 0', () => {
    const known = fold([
      facets(1, { annotations: { fire: 2, smoke: 1 }, detections: { fog: 1 } }),
      facets(2, { annotations: { smoke: 3 }, detections: {} }),
    ]);
    expect(known).toEqual(facets(2, { annotations: { fire: 0, smoke: 3 }, detections: { fog: 0 } }));
    expect(categoriesOf(known)).toEqual(new Set(['fire', 'smoke', 'fog']));
  });
});

describe('the contribution of an event', () => {
  it.each<readonly [Said, readonly number[], Readonly<Record<string, readonly number[]>>]>([
    [{}, [1, 0, 0], {}],
    [{ detections: { smoke: 3, fire: 0 } }, [1, 0, 0], { smoke: [3, 0, 0, 0, 0], fire: [0, 0, 0, 0, 0] }],
    [{ reviewed: true }, [1, 1, 0], {}],
    [{ reviewed: false }, [1, 0, 0], {}],
    [{ annotations: { fire: 2 } }, [1, 0, 1], { fire: [0, 0, 2, 0, 0] }],
    [{ annotations: { fire: 0 }, reviewed: true }, [1, 1, 0], { fire: [0, 0, 0, 0, 0] }],
    [
      { detections: { smoke: 4, fire: 1 }, reviewed: true, annotations: { fire: 7, fog: 0, dust: 1 } },
      [1, 1, 1],
      { smoke: [4, 0, 0, 1, 0], fire: [1, 1, 7, 1, 1], fog: [0, 0, 0, 0, 0], dust: [0, 1, 1, 0, 0] },
    ],
  ])('of %j is %j, and of its categories %j', (said, ofEvents, ofCategories) => {
    const tally = contributionOf(facets(1, said));
    expect([tally.events, tally.reviewed, tally.annotated]).toEqual(ofEvents);
    expect(Object.fromEntries(Array.from(tally.categories, ([name, own]) => [name, Object.values(own)]))).toEqual(
      ofCategories,
    );
  });
});
