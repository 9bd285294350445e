import type { AlertType } from './alert-types.ts';

/** The message is said this often: a call's first seconds are easily missed. */
const TIMES = 3;

/** ACS refuses to speak a longer text. `SERVICE_NAME` is bounded so that no message comes near it. */
export const MAX_SPOKEN_CHARACTERS = 4_000;

/**
 * What the callee hears: the message unit three times, each with a space after it.
 *
 * @example
 * spokenMessage('Ridge Watch', ConfirmedFire)
 *   // "You've received a new Alert from Ridge Watch. Confirmed fire has been reported. You've received …"
 */
export const spokenMessage = (serviceName: string, alertType: AlertType): string =>
  `You've received a new Alert from ${serviceName}. ${alertType.phrase} `.repeat(TIMES);

// Neural en-US voices say about 15 characters a second; these allow for half of that, and for digits and signs that are read
// out as words.
const SLOWEST_MS_PER_LETTER = 120;
const SLOWEST_MS_PER_SIGN = 400;
const START_OF_SPEECH_MS = 10_000;

/** How long speaking a text can take at the very most, in milliseconds: after that, nobody is being spoken to any more. */
export const longestSpeakingMs = (text: string): number => {
  const signs = text.match(/[^\p{L}\s.,']/gu)?.length ?? 0;
  return START_OF_SPEECH_MS + (text.length - signs) * SLOWEST_MS_PER_LETTER + signs * SLOWEST_MS_PER_SIGN;
};
