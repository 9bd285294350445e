import type { AlertType } from '../model/alert-types.ts';
import { type PromptNumber, GOODBYE_CONFIRMED, GOODBYE_CANNOT_GO } from '../model/ids.ts';
import type { CallMessage } from '../model/phone-provider.ts';

/** How often the unit is spoken: the first seconds of a call are easily missed. */
export const REPETITIONS = 3;

/** The longest details of a request, in characters as people count them. */
export const MAX_DETAILS_CHARACTERS = 200;

export interface MessageTerms {
  /** The place: spoken once in each unit. */
  readonly details?: string | undefined;
  readonly confirm?: boolean | undefined;
}

/**
 * The text for a callee. Its unit is spoken three times: the announcement, and the menu after it if the message asks for keys.
 *
 * @example callMessage('Ridge Watch', ConfirmedFire, { confirm: true, details: 'Antelope Ridge, camera 4' })
 *   // { unit: "… Confirmed fire has been reported. Antelope Ridge, camera 4. Press 1 to confirm, …", hasKeys: true }
 */
export const callMessage = (serviceName: string, alertType: AlertType, terms: MessageTerms = {}): CallMessage => {
  const hasKeys = terms.confirm === true;
  return { unit: `${announcement(serviceName, alertType, terms)}${hasKeys ? MENU : ''}`, hasKeys };
};

export const spokenMessage = ({ unit }: CallMessage): string => unit.repeat(REPETITIONS);

/** The alert and its place: the unit without the menu. Ends with a space. */
export const announcement = (serviceName: string, alertType: AlertType, { details }: MessageTerms = {}): string =>
  `You've received a new Alert from ${serviceName}. ${alertType.phrase} ${details === undefined ? '' : sentenceOf(details)}`;

const MENU = 'Press 1 to confirm, 2 to hear it again, 3 if you cannot go. ';

// Without a full stop the voice runs on into the menu.
const sentenceOf = (details: string): string => `${details}${/[.!?…]$/.test(details) ? '' : '.'} `;

export const goodbyeText = (prompt: typeof GOODBYE_CONFIRMED | typeof GOODBYE_CANNOT_GO): string =>
  prompt === GOODBYE_CONFIRMED ? 'Confirmed. Thank you.' : 'Understood. Thank you.';

export const spokenText = (prompt: PromptNumber, message: CallMessage): string =>
  prompt === GOODBYE_CONFIRMED || prompt === GOODBYE_CANNOT_GO ? goodbyeText(prompt) : spokenMessage(message);

// Neural en-US voices speak about 15 characters a second, and spell digits, signs and capitals: 0.3 to 0.5 s each.
const MS_PER_SPELLED = 500;
// Half the speed of the voices.
const SLOWEST_MS_PER_LETTER = 120;
// A little slower than the voices: a recipient who counts as reached is not called again.
const USUAL_MS_PER_LETTER = 80;
const START_OF_SPEECH_MS = 10_000;

/** Characters that the voices spell: digits and signs, punctuation between digits, and capitals in a row. */
const SPELLED = /[^\p{Script=Latin}\s.,']|(?<=\d)[.,'](?=\d)|\p{Lu}(?=\p{Lu})|(?<=\p{Lu})\p{Lu}/gu;

const speakingMs = (text: string, msPerLetter: number): number => {
  const spelled = text.match(SPELLED)?.length ?? 0;
  return (text.length - spelled) * msPerLetter + spelled * MS_PER_SPELLED;
};

/**
 * After `unitMs` from its start, one unit was surely spoken, apart from its menu. After `messageMs` from the request to speak, the message
 * has surely ended. Both are in milliseconds.
 */
export const speakingTimes = (serviceName: string, alertType: AlertType, terms: MessageTerms = {}) => {
  const { unit } = callMessage(serviceName, alertType, terms);
  return {
    unitMs: speakingMs(announcement(serviceName, alertType, terms), USUAL_MS_PER_LETTER),
    messageMs: START_OF_SPEECH_MS + REPETITIONS * speakingMs(unit, SLOWEST_MS_PER_LETTER),
  };
};

/** The meaning of each key; every other key has no meaning. */
export type KeyMeaning = 'confirms' | 'repeat' | 'cannot go';

const MEANINGS: ReadonlyMap<string, KeyMeaning> = new Map([
  ['1', 'confirms'],
  ['2', 'repeat'],
  ['3', 'cannot go'],
]);

/** The meaning of a key; undefined if it has none of them. */
export const meaningOfKey = (key: string | undefined): KeyMeaning | undefined =>
  key === undefined ? undefined : MEANINGS.get(key);

/** How long a call waits for keys after the last word, in milliseconds: a thumb needs 5 s, and callees hang up a silent phone after 10. */
export const KEYS_AFTER_MS = 8_000;
