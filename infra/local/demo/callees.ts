import { CommandError } from '../../command-line.ts';

/** The simulator goes by the last two digits: the first answers, the second is busy and then answers, the third never does. */
const LAST_DIGITS = ['00', '06', '01'];

const FIRST_AREA_CODE = 206;
const LAST_AREA_CODE = 989;

/**
 * Three numbers for the demo that were not called before: who was busy at first has been called already, and would answer at once. Numbers
 * with 555-01 in the middle belong to nobody, in any area code.
 *
 * @param called the numbers that the simulator has called since it was started
 * @throws {CommandError} where there are no more
 */
export const freshCallees = (called: ReadonlySet<string>): readonly string[] => {
  for (let area = FIRST_AREA_CODE; area <= LAST_AREA_CODE; area += 1) {
    const numbers = LAST_DIGITS.map((digits) => `+1${area}55501${digits}`);
    if (!numbers.some((number) => called.has(number))) return numbers;
  }
  throw new CommandError('All numbers of the demo have been called. Start the service again.');
};
