import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { categoriesOf, contributionOf, type Counts, type Facets } from '../../../src/analytics/model/camera-event.ts';
import { applyFacets } from '../../../src/analytics/model/newest-wins.ts';
import { instantFrom, type Instant } from '../../../src/analytics/model/instant.ts';
import { EMPTY_TALLY, minus, plus, sameTally, type Tally } from '../../../src/analytics/model/tally.ts';
import { categories } from '../arbitraries.ts';

const at = (microseconds: number): Instant => instantFrom(BigInt(microseconds));

const detected = (time: number, value: Record<string, number>): Facets => ({
  detections: { value: new Map(Object.entries(value)), time: at(time) },
});
const reviewed = (time: number, value: boolean): Facets => ({ reviewed: { value, time: at(time) } });
const annotated = (time: number, value: Record<string, number>): Facets => ({
  annotations: { value: new Map(Object.entries(value)), time: at(time) },
});

const fold = (messages: readonly Facets[]): Facets => messages.reduce(applyFacets, {});

const counted = (counts: Counts | undefined) =>
  [...(counts ?? [])].filter(([, count]) => count > 0).sort(([a], [b]) => (a < b ? -1 : 1));

/** Facets without categories of 0, which depend on the order of the messages. */
const bare = ({ detections, reviewed: flag, annotations }: Facets) => {
  return {
    detections: [detections?.time, counted(detections?.value)],
    reviewed: flag,
    annotations: [annotations?.time, counted(annotations?.value)],
  };
};

const counts = fc
  .uniqueArray(fc.tuple(categories, fc.integer({ min: 0, max: 10_000 })), { selector: ([name]) => name, maxLength: 4 })
  .map((entries): Counts => new Map(entries));

/** Messages about one event, each with its own time and some or none of the facets. */
const messages: fc.Arbitrary<readonly Facets[]> = fc
  .array(
    fc.record({ detections: fc.option(counts), reviewed: fc.option(fc.boolean()), annotations: fc.option(counts) }),
    { minLength: 1, maxLength: 8 },
  )
  .map((said) =>
    said.map(({ detections, reviewed: flag, annotations }, index): Facets => {
      const time = at(index);
      return {
        ...(detections && { detections: { value: detections, time } }),
        ...(flag !== null && { reviewed: { value: flag, time } }),
        ...(annotations && { annotations: { value: annotations, time } }),
      };
    }),
  );

describe('the facets of an event', () => {
  it('are the newest of each kind, whatever came in between', () => {
    const known = fold([
      detected(1, { smoke: 1 }),
      annotated(5, { fire: 2 }),
      reviewed(3, true),
      detected(4, { smoke: 2, fire: 1 }),
      annotated(2, { smoke: 9 }),
      reviewed(2, false),
    ]);
    expect(known).toEqual({
      ...detected(4, { smoke: 2, fire: 1 }),
      ...reviewed(3, true),
      ...annotated(5, { fire: 2 }),
    });
  });

  it('are the same in whatever order and however often the messages come', () => {
    const delivered = messages.chain((inOrder) =>
      fc.tuple(
        fc.constant(inOrder),
        fc
          .array(fc.constantFrom(...inOrder), { maxLength: 8 })
          .chain((again) => fc.shuffledSubarray([...inOrder, ...again], { minLength: inOrder.length + again.length })),
      ),
    );
    fc.assert(
      fc.property(delivered, ([inOrder, shuffled]) => {
        expect(bare(fold(shuffled))).toEqual(bare(fold(inOrder)));
        expect(sameTally(contributionOf(fold(shuffled)), contributionOf(fold(inOrder)))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('are the same object after a repeated or older message, so that nothing is written', () => {
    fc.assert(
      fc.property(messages, (inOrder) => {
        const known = fold(inOrder);
        for (const message of inOrder) expect(applyFacets(known, message)).toBe(known);
      }),
    );
  });

  it('keep the first of two values with the same time', () => {
    const known = fold([reviewed(1, true), reviewed(1, false), detected(1, { fire: 1 }), detected(1, { fire: 2 })]);
    expect(known).toEqual({ ...reviewed(1, true), ...detected(1, { fire: 1 }) });
  });

  it('keep a category that was removed, with 0', () => {
    const known = fold([
      annotated(1, { fire: 2, smoke: 1 }),
      annotated(2, { smoke: 3 }),
      detected(1, { fog: 1 }),
      detected(2, {}),
    ]);
    expect(known).toEqual({ ...annotated(2, { fire: 0, smoke: 3 }), ...detected(2, { fog: 0 }) });
    expect(categoriesOf(known)).toEqual(new Set(['fire', 'smoke', 'fog']));
  });

  it('are not changed by a message that lacks them', () => {
    const known = fold([detected(9, { smoke: 1 }), reviewed(9, true)]);
    expect(fold([known, annotated(1, { fire: 1 })])).toEqual({ ...known, ...annotated(1, { fire: 1 }) });
    expect(applyFacets(known, {})).toBe(known);
  });
});

const category = (detections: number, reviewedWith: number, annotations: number) => ({
  detections,
  reviewed: reviewedWith,
  annotations,
});

describe('the contribution of an event', () => {
  it.each<[string, Facets, Tally]>([
    ['nothing but that it exists', {}, { events: 1, reviewed: 0, annotated: 0, categories: new Map() }],
    [
      'detections',
      detected(1, { smoke: 3, fire: 0 }),
      {
        events: 1,
        reviewed: 0,
        annotated: 0,
        categories: new Map([
          ['smoke', category(3, 0, 0)],
          ['fire', category(0, 0, 0)],
        ]),
      },
    ],
    ['a review', reviewed(1, true), { events: 1, reviewed: 1, annotated: 0, categories: new Map() }],
    ['a review taken back', reviewed(1, false), { events: 1, reviewed: 0, annotated: 0, categories: new Map() }],
    [
      'annotations without a review',
      annotated(1, { fire: 2 }),
      { events: 1, reviewed: 0, annotated: 1, categories: new Map([['fire', category(0, 0, 2)]]) },
    ],
    [
      'annotations of nothing',
      { ...annotated(1, { fire: 0 }), ...reviewed(1, true) },
      { events: 1, reviewed: 1, annotated: 0, categories: new Map([['fire', category(0, 0, 0)]]) },
    ],
    [
      'everything',
      { ...detected(1, { smoke: 4, fire: 1 }), ...reviewed(1, true), ...annotated(1, { fire: 7, fog: 0, dust: 1 }) },
      {
        events: 1,
        reviewed: 1,
        annotated: 1,
        categories: new Map([
          ['smoke', category(4, 0, 0)],
          ['fire', category(1, 1, 7)],
          ['fog', category(0, 0, 0)],
          ['dust', category(0, 1, 1)],
        ]),
      },
    ],
  ])('of which is known: %s', (_known, facets, contribution) => {
    expect(contributionOf(facets)).toEqual(contribution);
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
        expect(sameTally(sum, contributionOf(fold(inOrder)))).toBe(true);
      }),
    );
  });
});
