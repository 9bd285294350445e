import { numberTexts } from '../model/number-text.ts';
import { timeTexts } from '../model/time-text.ts';

/** Times in UTC and in the reader's own zone. */
export const times = timeTexts();

/** Numbers as the reader's language writes them. */
export const numbers = numberTexts();
