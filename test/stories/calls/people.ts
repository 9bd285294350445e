import { messageOf, type NotificationState, type Stage } from '../../harness/phone-stage.ts';

/** A recipient at the end: the status, the outcomes of the attempts, and the texts that the callee heard. */
export type Told = readonly [status: string, outcomes: string, heard: readonly string[]];

const PLAIN = messageOf('ConfirmedFire');
const WITH_KEYS = messageOf('ConfirmedFire', { confirm: true });
const CONFIRMED = 'Confirmed. Thank you.';

/** How long things take in the simulators. */
export const PACE = { ringMs: 200, eventMs: 50, speakMs: 600 };

/** By the last two digits of their numbers, for both providers. One attempt each. */
export const CALLED_ONCE: Readonly<Record<string, Told>> = {
  '00': ['heard', 'heard', [PLAIN]],
  '01': ['not_reached', 'no_answer', []],
  '02': ['not_reached', 'busy', []],
  '04': ['failed', 'refused', []],
  '12': ['not_reached', 'cut_short', [PLAIN]],
  '21': ['heard', 'heard', [PLAIN]],
  '22': ['heard', 'heard', [PLAIN]],
  '23': ['heard', 'heard', [PLAIN]],
  '34': ['heard', 'heard', [PLAIN]],
  '36': ['failed', 'refused', []],
  '40': ['heard', 'heard', [PLAIN]],
};

/** Two attempts each. */
export const CALLED_TWICE: Readonly<Record<string, Told>> = {
  ...CALLED_ONCE,
  '01': ['not_reached', 'no_answer no_answer', []],
  '02': ['not_reached', 'busy busy', []],
  '07': ['heard', 'no_answer heard', [PLAIN]],
  '12': ['not_reached', 'cut_short cut_short', [PLAIN, PLAIN]],
};

/** The message asks for a key. */
export const PRESSERS: Readonly<Record<string, Told>> = {
  '70': ['confirmed', 'confirmed', [WITH_KEYS, CONFIRMED]],
  '71': ['confirmed', 'confirmed', [WITH_KEYS, CONFIRMED]],
  '72': ['confirmed', 'confirmed', [WITH_KEYS, CONFIRMED]],
  '73': ['confirmed', 'confirmed', [WITH_KEYS, CONFIRMED]],
  '84': ['confirmed', 'confirmed', [WITH_KEYS, WITH_KEYS, CONFIRMED]],
  '85': ['cannot_go', 'cannot_go', [WITH_KEYS, 'Understood. Thank you.']],
};

/** The numbers of the recipients of a table. `area` keeps the tables apart. */
export const numbersOf = (people: Readonly<Record<string, Told>>, area: string): readonly string[] =>
  Object.keys(people)
    .toSorted()
    .map((digits) => `+1206555${area}${digits}`);

/** The recipients of a notification at the end, by the last digits of their numbers. */
export const toldOf = (
  { recipients }: NotificationState,
  numbers: readonly string[],
  stage: Stage,
): Readonly<Record<string, Told>> =>
  Object.fromEntries(
    numbers.map((number, index) => {
      const { status = '', attempts = [] } = recipients[index] ?? {};
      const heard = stage.callsTo(number).flatMap(({ spoken }) => spoken);
      return [number.slice(-2), [status, attempts.map(({ outcome }) => outcome).join(' '), heard]];
    }),
  );
