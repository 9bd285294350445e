/** A speech of a call: the message, its first and its second repeat, or one of the two goodbyes. A later speech has a higher number. */
export type SpeechNumber = (typeof SPEECHES)[number];

/** The message that every call begins with. */
export const MESSAGE = 0;
/** How often the callee may hear the message again. */
export const MOST_REPEATS = 2;
/** Said to a callee who cannot go. */
export const UNDERSTOOD = 8;
/** Said to a callee who has confirmed, even after `UNDERSTOOD`. */
export const THANKED = 9;

/** The speeches that may follow the message. */
const LATER_SPEECHES = [1, MOST_REPEATS, UNDERSTOOD, THANKED] as const;

/** All speeches of a call. */
export const SPEECHES = [MESSAGE, ...LATER_SPEECHES] as const;

/** The speech of a number that comes from outside; undefined if it is no such number. */
export const speechOf = (number: number): SpeechNumber | undefined => SPEECHES.find((speech) => speech === number);

/** Whether it is the message, or the message again. */
export const isMessage = (speech: SpeechNumber): boolean => speech <= MOST_REPEATS;
