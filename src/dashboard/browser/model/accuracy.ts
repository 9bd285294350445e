import type { CameraCounts, CategoryAccuracy, CountsPerCategory } from './answers.ts';
import { countOf } from './categories.ts';

/** `3 of 40 confirmed, 2 missed`: of the reviewed frames that the AI flagged, and those that it did not flag. */
export const accuracyText = ({ flagged, confirmed, missed }: CategoryAccuracy): string => {
  if (flagged === 0 && missed === 0) return '–';
  const right = flagged === 0 ? 'none flagged' : `${confirmed} of ${flagged} confirmed`;
  return `${right}, ${missed} missed`;
};

/** How often the AI was right about a camera, category by category: `fire: 3 of 40 confirmed, 2 missed; smoke: –`. */
export const cameraAccuracyText = ({ flagged, confirmed, missed }: CameraCounts): string =>
  Object.keys(flagged)
    .map((category) => {
      const of = (counts: CountsPerCategory): number => countOf(counts, category);
      return `${category}: ${accuracyText({ flagged: of(flagged), confirmed: of(confirmed), missed: of(missed) })}`;
    })
    .join('; ');

/** All categories together. */
export const totalOf = (counts: CountsPerCategory): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** How often the AI flagged something that no reviewer confirmed: a camera with many of these cries wolf. */
export const notConfirmed = ({ flagged, confirmed }: CameraCounts): number => totalOf(flagged) - totalOf(confirmed);
