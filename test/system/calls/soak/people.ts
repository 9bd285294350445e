import type { CallStory } from '../../../../infra/local/acs-simulator/story.ts';
import type { Random } from '../../../../infra/local/demo/random.ts';
import type { Outcome } from '../../../../src/calls/call-outcome.ts';

/** What must become of somebody who is called. */
export interface Fate {
  readonly status: 'heard' | 'not_reached' | 'failed';
  /** Of their calls in turn, where nothing gets lost; the simulator decides by the last two digits of their number. */
  readonly outcomes: readonly Outcome[];
}

const FATES: Readonly<Record<string, Fate>> = {
  '00': { status: 'heard', outcomes: ['heard'] },
  '01': { status: 'not_reached', outcomes: ['no_answer', 'no_answer', 'no_answer'] },
  '02': { status: 'not_reached', outcomes: ['busy', 'busy', 'busy'] },
  '03': { status: 'not_reached', outcomes: ['declined'] },
  '04': { status: 'failed', outcomes: ['refused'] },
  '06': { status: 'heard', outcomes: ['busy', 'heard'] },
  '07': { status: 'heard', outcomes: ['no_answer', 'heard'] },
  '08': { status: 'heard', outcomes: ['busy', 'no_answer', 'heard'] },
  // These hang up: in the middle of the message, and before it.
  '12': { status: 'heard', outcomes: ['cut_short'] },
  '19': { status: 'not_reached', outcomes: ['unknown', 'unknown', 'unknown'] },
};

const MIX = [
  '00',
  '00',
  '00',
  '00',
  '00',
  '00',
  '00',
  '00',
  '06',
  '06',
  '07',
  '07',
  '08',
  '01',
  '01',
  '02',
  '03',
  '04',
  '12',
  '19',
];

/** Twenty numbers in an order that the seed decides. */
export const twentyPeople = (random: Random): readonly string[] =>
  MIX.map((digits) => ({ digits, at: random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ digits }, index) => `+1206555${String(index + 10)}${digits}`);

/** What must become of a number. */
export const fateOf = (number: string): Fate => {
  const fate = FATES[number.slice(-2)];
  if (fate === undefined) throw new Error(`nothing is known of ${number}`);
  return fate;
};

/**
 * What a call came to, as the simulator saw it.
 *
 * @param index how many calls to the same number were before it
 */
export const seenOutcome = ({ to, speeches, answeredAt }: CallStory, index: number): Outcome => {
  if (speeches.some(({ isComplete }) => isComplete)) return 'heard';
  if (speeches.length > 0) return 'cut_short';
  const { outcomes } = fateOf(to);
  return answeredAt === undefined ? (outcomes[index] ?? outcomes.at(-1) ?? 'unknown') : 'unknown';
};
