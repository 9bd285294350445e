import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { EMPTY_TALLY, minus, plus, sameTally, sumOf, type Tally } from '../../../src/analytics/model/tally.ts';
import { differences, tallies } from '../arbitraries.ts';

const one: Tally = {
  events: 1,
  reviewed: 1,
  annotated: 1,
  categories: new Map([['fire', { detections: 2, reviewed: 1, annotations: 3 }]]),
};

describe('adding tallies', () => {
  it('does not depend on their order or grouping', () => {
    fc.assert(
      fc.property(tallies, tallies, tallies, (a, b, c) => {
        expect(sameTally(plus(a, b), plus(b, a))).toBe(true);
        expect(sameTally(plus(plus(a, b), c), plus(a, plus(b, c)))).toBe(true);
        expect(sameTally(sumOf([c, a, b]), plus(plus(a, b), c))).toBe(true);
      }),
    );
  });

  it('changes nothing where one is empty, and changes neither of the two objects', () => {
    fc.assert(
      fc.property(tallies, tallies, (a, b) => {
        expect(plus(a, EMPTY_TALLY)).toEqual(a);
        expect(plus(EMPTY_TALLY, a)).toEqual(a);
        const [aBefore, bBefore] = [structuredClone(a), structuredClone(b)];
        plus(a, b);
        minus(a, b);
        expect([a, b]).toEqual([aBefore, bBefore]);
      }),
    );
  });

  it('adds each counter to its own and keeps the order of the first categories', () => {
    const other: Tally = {
      events: 10,
      reviewed: 20,
      annotated: 30,
      categories: new Map([
        ['smoke', { detections: 40, reviewed: 50, annotations: 60 }],
        ['fire', { detections: 70, reviewed: 80, annotations: 90 }],
      ]),
    };
    const sum = plus(one, other);
    expect(sum).toEqual({
      events: 11,
      reviewed: 21,
      annotated: 31,
      categories: new Map([
        ['fire', { detections: 72, reviewed: 81, annotations: 93 }],
        ['smoke', { detections: 40, reviewed: 50, annotations: 60 }],
      ]),
    });
    expect([...sum.categories.keys()]).toEqual(['fire', 'smoke']);
  });

  it('of none is empty', () => {
    expect(sumOf([])).toEqual(EMPTY_TALLY);
  });
});

describe('the difference of tallies', () => {
  it('added to the old gives the new', () => {
    fc.assert(
      fc.property(tallies, tallies, (before, after) => {
        expect(sameTally(plus(before, minus(after, before)), after)).toBe(true);
      }),
    );
  });

  it('subtracted again leaves the old', () => {
    fc.assert(
      fc.property(tallies, differences, (tally, difference) => {
        expect(sameTally(minus(plus(tally, difference), difference), tally)).toBe(true);
      }),
    );
  });

  it('to itself is 0, with every category still there', () => {
    const nothing = minus(one, one);
    expect(nothing).toEqual({
      events: 0,
      reviewed: 0,
      annotated: 0,
      categories: new Map([['fire', { detections: 0, reviewed: 0, annotations: 0 }]]),
    });
    expect(sameTally(nothing, EMPTY_TALLY)).toBe(true);
  });
});

describe('two tallies', () => {
  it.each<[string, Tally]>([
    ['events', { ...one, events: 2 }],
    ['reviewed events', { ...one, reviewed: 2 }],
    ['annotated events', { ...one, annotated: 2 }],
    ['detections', { ...one, categories: new Map([['fire', { detections: 1, reviewed: 1, annotations: 3 }]]) }],
    [
      'reviewed of a category',
      { ...one, categories: new Map([['fire', { detections: 2, reviewed: 2, annotations: 3 }]]) },
    ],
    ['annotations', { ...one, categories: new Map([['fire', { detections: 2, reviewed: 1, annotations: 4 }]]) }],
    ['a category', { ...one, categories: new Map([['smoke', { detections: 2, reviewed: 1, annotations: 3 }]]) }],
    ['no category', { ...one, categories: new Map() }],
  ])('that differ in %s are not the same', (_counter, other) => {
    expect([sameTally(one, other), sameTally(other, one)]).toEqual([false, false]);
  });

  it('are the same where one has another category with zeros', () => {
    const mentions = {
      ...one,
      categories: new Map(one.categories).set('smoke', { detections: 0, reviewed: 0, annotations: 0 }),
    };
    expect([sameTally(one, mentions), sameTally(mentions, one)]).toEqual([true, true]);
  });
});
