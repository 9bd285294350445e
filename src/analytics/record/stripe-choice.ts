import { MAX_STRIPES } from '../rows/keys.ts';

// Instances write to different stripes of a shard, so that they do not wait for one another. There is no list of free stripes: a random stripe is
// free often enough.

/** The first move goes to one of these stripes; each further move in a row goes to any stripe. */
const FEW_STRIPES = 8;

/** A stripe that was written this recently, in milliseconds, has a writer. */
const IN_USE_MS = 10_000;

/** After this many moves in a row a writer takes a stripe in use: there are more writers than stripes. */
const MAX_MOVES = 12;

/** The stripe of a writer, and how often the writer has moved since its last commit. */
export interface StripeChoice {
  readonly stripe: number;
  readonly moves: number;
}

/** The next choice of a writer that met another writer in its stripe. @param random from 0 to less than 1 */
export const moved = ({ moves }: StripeChoice, random: number): StripeChoice => ({
  stripe: Math.floor(random * (moves === 0 ? FEW_STRIPES : MAX_STRIPES)),
  moves: moves + 1,
});

/**
 * Whether a writer that has moved leaves the stripe to the writer that is there.
 *
 * @param writtenAgoMs how long ago the stripe was written; NaN: never
 */
export const leavesStripe = ({ moves }: StripeChoice, writtenAgoMs: number): boolean =>
  moves > 0 && moves < MAX_MOVES && writtenAgoMs < IN_USE_MS;
