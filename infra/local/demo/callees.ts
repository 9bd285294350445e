import { CommandError } from '../../command-line.ts';

/** Whom the demo phones. */
export interface DemoCallees {
  /** Gets the test call, and answers. */
  readonly tested: string;
  /** One a wave: the first never answers, the second presses a key, and so the third is not called. */
  readonly alerted: readonly [string, string, string];
}

/** The simulator goes by them. */
const LAST_DIGITS = { tested: '00', alerted: ['01', '70', '90'] } as const;

const FIRST_AREA_CODE = 206;
const LAST_AREA_CODE = 989;

/**
 * Numbers for the demo that were not called before. Numbers with 555-01 in the middle belong to nobody, in any area code.
 *
 * @param called the numbers that the simulator has called since it was started
 * @throws {CommandError} where there are no more
 */
export const freshCallees = (called: ReadonlySet<string>): DemoCallees => {
  for (let area = FIRST_AREA_CODE; area <= LAST_AREA_CODE; area += 1) {
    const numberOf = (digits: string): string => `+1${area}55501${digits}`;
    const [first, second, third] = LAST_DIGITS.alerted;
    const tested = numberOf(LAST_DIGITS.tested);
    const alerted = [numberOf(first), numberOf(second), numberOf(third)] as const;
    if (![tested, ...alerted].some((number) => called.has(number))) return { tested, alerted };
  }
  throw new CommandError('All numbers of the demo have been called. Start the service again.');
};
