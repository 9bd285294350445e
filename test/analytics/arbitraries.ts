import * as fc from 'fast-check';

import { MICROSECONDS } from '../../src/analytics/model/day.ts';
import { idProblem } from '../../src/analytics/model/identifier.ts';
import { instantFrom, type Instant } from '../../src/analytics/model/instant.ts';
import type { Period } from '../../src/analytics/model/period.ts';
import { NO_COUNT, type Tally } from '../../src/analytics/model/tally.ts';

/** The first and the last microsecond of the years 0001 to 9999. */
export const FIRST = -62_135_596_800_000_000n;
export const LAST = 253_402_300_799_999_999n;

/** Any instant of the years 0001 to 9999. */
export const instants: fc.Arbitrary<Instant> = fc.bigInt({ min: FIRST, max: LAST }).map(instantFrom);

/** Instants, often on the boundary of a minute, an hour or a day, or a microsecond beside it. */
export const instantsAtBoundaries: fc.Arbitrary<Instant> = fc
  .record({
    // 2026-11-19 to 2026-11-23.
    into: fc.bigInt({ min: 20_776n * MICROSECONDS.day, max: 20_781n * MICROSECONDS.day }),
    unit: fc.constantFrom(1n, 1_000n, MICROSECONDS.minute, MICROSECONDS.hour, MICROSECONDS.day),
    beside: fc.constantFrom(-1n, 0n, 1n),
  })
  .map(({ into, unit, beside }) => instantFrom(into - (into % unit) + beside));

/** Periods of up to five days, from a single microsecond on. */
export const periods: fc.Arbitrary<Period> = fc
  .tuple(instantsAtBoundaries, instantsAtBoundaries)
  .map(([one, other]) => (one <= other ? { start: one, end: other } : { start: other, end: one }));

/** Names of categories, also names of JavaScript's own properties. */
export const categories: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('fire', 'smoke', 'structure', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'Fire', 'a'),
  fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/),
);

/** Tallies of hours and minutes, with counts from 0 to more than a whole network counts in a day. */
export const tallies: fc.Arbitrary<Tally> = tallyOf(fc.integer({ min: 0, max: 2 ** 40 }));

/** Tallies of whole days: with the figures that say how often the AI was right. */
export const dayTallies: fc.Arbitrary<Tally> = tallyOf(fc.integer({ min: 0, max: 2 ** 40 }), true);

/** The contribution of a frame with two detections of smoke. */
export const ONE_FRAME: Tally = {
  events: 1,
  reviewed: 0,
  annotated: 0,
  categories: new Map([['smoke', { ...NO_COUNT, detections: 2 }]]),
};

/** Differences between tallies: counts may be negative. */
export const differences: fc.Arbitrary<Tally> = tallyOf(fc.integer({ min: -20_000, max: 20_000 }));

function tallyOf(count: fc.Arbitrary<number>, isOfDay = false): fc.Arbitrary<Tally> {
  const ofDay = isOfDay ? count : fc.constant(0);
  const ofCategory = fc.record(
    { detections: count, reviewed: count, annotations: count, flagged: ofDay, confirmed: ofDay },
    { noNullPrototype: true },
  );
  return fc.record(
    {
      events: count,
      reviewed: count,
      annotated: count,
      categories: fc
        .uniqueArray(fc.tuple(categories, ofCategory), { selector: ([category]) => category, maxLength: 8 })
        .map((entries): ReadonlyMap<string, (typeof entries)[number][1]> => new Map(entries)),
    },
    { noNullPrototype: true },
  );
}

/** Characters that keys cannot have, their escapes, and characters that separate the parts of keys. */
const NASTY = String.raw`/ \ # ? % | } { ' " & + = , ; : . ( ) [ ] ~ ^ $ < > * - _ é 語 🔥 👩‍🚒`
  .split(' ')
  .concat(['\uFF0F', '\uFF3C', '\uFF03', '\uFF1F', '\uFF05', '\uFF5C', '\u3000', ' ']);

/** Any valid id. */
export const ids: fc.Arbitrary<string> = fc
  .oneof(
    fc.string({ unit: fc.constantFrom(...NASTY), minLength: 1, maxLength: 60 }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
    fc.stringMatching(/^[a-z]{1,8}-\d{1,4}$/),
    fc.constantFrom(...NASTY.map((character) => character.repeat(128 / character.length))),
  )
  .filter((id) => idProblem(id) === undefined);
