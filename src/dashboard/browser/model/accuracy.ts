import type { CameraCounts, CategoryAccuracy, CountsPerCategory } from './answers.ts';

/** `3 of 40 confirmed, 2 missed`: flags of the AI in reviewed frames, and categories that only the reviewer saw. */
export const accuracyText = ({ flagged, confirmed, missed }: CategoryAccuracy): string => {
  if (flagged === 0 && missed === 0) return '–';
  const right = flagged === 0 ? 'none flagged' : `${confirmed} of ${flagged} confirmed`;
  return `${right}, ${missed} missed`;
};

export const totalOf = (counts: CountsPerCategory): number =>
  Object.values(counts).reduce((sum, count) => sum + count, 0);

/** Flags of the AI that no reviewer confirmed: a camera with many of them cries wolf. */
export const notConfirmed = ({ flagged, confirmed }: CameraCounts): number => totalOf(flagged) - totalOf(confirmed);
