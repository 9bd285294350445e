import type { CameraCounts, CategoryAccuracy, CountsPerCategory } from './answers.ts';
import { countOf } from './categories.ts';

/** `3 of 40 confirmed, 2 missed`: flags of the AI in reviewed frames, and categories that only the reviewer saw. */
export const accuracyText = ({ flagged, confirmed, missed }: CategoryAccuracy): string => {
  if (flagged === 0 && missed === 0) return '–';
  const right = flagged === 0 ? 'none flagged' : `${confirmed} of ${flagged} confirmed`;
  return `${right}, ${missed} missed`;
};

/** `fire: 3 of 40 confirmed, 2 missed; smoke: –` */
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

/** Flags of the AI that no reviewer confirmed: a camera with many of them cries wolf. */
export const notConfirmed = ({ flagged, confirmed }: CameraCounts): number => totalOf(flagged) - totalOf(confirmed);
