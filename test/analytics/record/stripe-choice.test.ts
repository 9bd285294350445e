import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { leavesStripe, moved, type StripeChoice } from '../../../src/analytics/record/stripe-choice.ts';

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const choice = fc.record({ stripe: fc.nat(63), moves: fc.nat(20) });
const ago = fc.oneof(fc.integer({ min: -60_000, max: 60_000 }), fc.constantFrom(9_999, 10_000));
const after = (moves: number, last: number): StripeChoice => moved({ stripe: 0, moves }, last);

it('the first move goes to one of 8 stripes, and each further one in a row to one of 64, all of which are reached', () => {
  fc.assert(
    fc.property(choice, random, (before, drawn) => {
      const { stripe, moves } = moved(before, drawn);
      expect(moves).toBe(before.moves + 1);
      expect(stripe).toBe(Math.floor(drawn * (before.moves === 0 ? 8 : 64)));
    }),
  );
  expect([after(0, 0.999), after(1, 0.999), after(19, 0)].map(({ stripe }) => stripe)).toEqual([7, 63, 0]);
});

it('a writer that has moved leaves a stripe of the last 10 seconds to its writer, until its 12th move in a row', () => {
  fc.assert(
    fc.property(choice, ago, (at, agoMs) => {
      expect(leavesStripe(at, agoMs)).toBe(agoMs < 10_000 && at.moves >= 1 && at.moves <= 11);
      expect(leavesStripe(at, Number.NaN), 'it was never written').toBe(false);
    }),
  );
});

it('a writer that met another takes the first free stripe that it draws, or after 12 draws one in use', () => {
  const draws = fc.array(random, { minLength: 12, maxLength: 12 });
  const taken = fc.uniqueArray(fc.nat(63), { maxLength: 64 });
  fc.assert(
    fc.property(draws, taken, (drawn, inUse) => {
      const stripes = drawn.map((one, index) => Math.floor(one * (index === 0 ? 8 : 64)));
      const free = stripes.findIndex((stripe) => !inUse.includes(stripe));
      let at: StripeChoice = { stripe: 0, moves: 0 };
      do at = moved(at, drawn[at.moves] ?? 0);
      while (leavesStripe(at, inUse.includes(at.stripe) ? 0 : Number.NaN));
      const moves = free === -1 ? 12 : free + 1;
      expect(at).toEqual({ stripe: stripes[moves - 1], moves });
    }),
  );
});
