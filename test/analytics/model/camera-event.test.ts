import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { categoriesOf, contributionOf, type Counts, type Facets } from '../../../src/analytics/model/camera-event.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { applyFacets } from '../../../src/analytics/model/newest-wins.ts';
import { EMPTY_TALLY, minus, plus, type Tally } from '../../../src/analytics/model/tally.ts';
import { categories, counted } from '../arbitraries.ts';

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

const counts = fc.dictionary(categories, fc.nat(10_000), { maxKeys: 4, noNullPrototype: true });

/** Messages about one event, each with its own time and some or none of the facets. */
const messages: fc.Arbitrary<readonly Facets[]> = fc
  .array(
    fc.record(
      { detections: counts, reviewed: fc.boolean(), annotations: counts },
      { requiredKeys: [], noNullPrototype: true },
    ),
    { minLength: 1, maxLength: 8 },
  )
  .map((said) => said.map((one, time) => facets(time, one)));

/** Messages in the order of their times, and in any order, some of them repeated. */
const deliveries = messages.chain((inOrder) =>
  fc
    .array(fc.constantFrom(...inOrder), { maxLength: 8 })
    .chain((again) => fc.shuffledSubarray([...inOrder, ...again], { minLength: inOrder.length + again.length }))
    .map((shuffled) => ({ inOrder, shuffled })),
);

const positive = (value: Counts | undefined): ReadonlyMap<string, number> =>
  new Map([...(value ?? [])].filter(([, count]) => count > 0));

/** Facets without categories of 0, which depend on the order of the messages. */
const bare = ({ detections, reviewed, annotations }: { readonly [Name in keyof Facets]: Facets[Name] | undefined }) => [
  [detections?.time, positive(detections?.value)],
  reviewed,
  [annotations?.time, positive(annotations?.value)],
];

describe('the facets of an event', () => {
  it('are the newest of each kind, in whatever order and however often messages come; repeats change nothing', () => {
    fc.assert(
      fc.property(deliveries, ({ inOrder, shuffled }) => {
        const known = fold(shuffled);
        const newest = bare({
          detections: inOrder.findLast(({ detections }) => detections)?.detections,
          reviewed: inOrder.findLast(({ reviewed }) => reviewed)?.reviewed,
          annotations: inOrder.findLast(({ annotations }) => annotations)?.annotations,
        });
        expect(bare(known)).toEqual(newest);
        for (const message of inOrder) expect(applyFacets(known, message)).toBe(known);
      }),
      { numRuns: 500 },
    );
  });

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
    [{ detections: { smoke: 3, fire: 0 } }, [1, 0, 0], { smoke: [3, 0, 0], fire: [0, 0, 0] }],
    [{ reviewed: true }, [1, 1, 0], {}],
    [{ reviewed: false }, [1, 0, 0], {}],
    [{ annotations: { fire: 2 } }, [1, 0, 1], { fire: [0, 0, 2] }],
    [{ annotations: { fire: 0 }, reviewed: true }, [1, 1, 0], { fire: [0, 0, 0] }],
    [
      { detections: { smoke: 4, fire: 1 }, reviewed: true, annotations: { fire: 7, fog: 0, dust: 1 } },
      [1, 1, 1],
      { smoke: [4, 0, 0], fire: [1, 1, 7], fog: [0, 0, 0], dust: [0, 1, 1] },
    ],
  ])('of %j is %j, and of its categories %j', (said, ofEvents, ofCategories) => {
    const tally = contributionOf(facets(1, said));
    expect([tally.events, tally.reviewed, tally.annotated]).toEqual(ofEvents);
    expect(Object.fromEntries(Array.from(tally.categories, ([name, own]) => [name, Object.values(own)]))).toEqual(
      ofCategories,
    );
  });

  it('is the sum of the differences that its messages made', () => {
    fc.assert(
      fc.property(messages, (inOrder) => {
        let [known, sum]: [Facets | undefined, Tally] = [undefined, EMPTY_TALLY];
        for (const message of inOrder) {
          const next: Facets = applyFacets(known ?? {}, message);
          sum = plus(sum, minus(contributionOf(next), known === undefined ? EMPTY_TALLY : contributionOf(known)));
          known = next;
        }
        expect(counted(sum)).toEqual(counted(contributionOf(fold(inOrder))));
      }),
    );
  });
});
