import type { AlertType } from '../model/alert-types.ts';

/** The first seconds of a call are easily missed. */
const REPETITIONS = 3;

/** The longest text that the line speaks. The settings bound `SERVICE_NAME` so that no message comes near it. */
export const MAX_SPOKEN_CHARACTERS = 4_000;

/**
 * What the callee hears: the message unit three times, each with a space after it.
 *
 * @param confirm whether a key is asked for first
 * @example
 * spokenMessage('Ridge Watch', ConfirmedFire)
 *   // "You've received a new Alert from Ridge Watch. Confirmed fire has been reported. You've received …"
 */
export const spokenMessage = (serviceName: string, alertType: AlertType, confirm = false): string =>
  `${confirm ? ASK_FOR_KEY : ''}${messageUnit(serviceName, alertType).repeat(REPETITIONS)}`;

/** What is said once, and repeated. */
export const messageUnit = (serviceName: string, alertType: AlertType): string =>
  `You've received a new Alert from ${serviceName}. ${alertType.phrase} `;

const ASK_FOR_KEY = 'Press any key to confirm. ';

// Neural en-US voices speak about 15 characters a second. Allow half that speed, and more for digits and signs, which are read
// out as words.
const SLOWEST_MS_PER_LETTER = 120;
const SLOWEST_MS_PER_SIGN = 400;
const START_OF_SPEECH_MS = 10_000;

/** How long speaking a text takes at most, in milliseconds. After that, the message has surely ended. */
export const longestSpeakingMs = (text: string): number => {
  const signs = text.match(/[^\p{L}\s.,']/gu)?.length ?? 0;
  return START_OF_SPEECH_MS + (text.length - signs) * SLOWEST_MS_PER_LETTER + signs * SLOWEST_MS_PER_SIGN;
};

// A little slower than they speak: who is taken for reached is not called again.
const USUAL_MS_PER_CHARACTER = 80;

/** How long after its start a text was surely spoken, in milliseconds. */
export const surelySpokenMs = (text: string): number => text.length * USUAL_MS_PER_CHARACTER;
