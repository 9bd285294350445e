import type { CategoryAccuracy } from './answers.ts';

/** `3 of 40 confirmed, 2 missed`: of the reviewed frames that the AI flagged, and those that it did not flag. */
export const accuracyText = ({ flagged, confirmed, missed }: CategoryAccuracy): string => {
  if (flagged === 0 && missed === 0) return '–';
  const right = flagged === 0 ? 'none flagged' : `${confirmed} of ${flagged} confirmed`;
  return `${right}, ${missed} missed`;
};

/** All categories together. */
export const allOf = (accuracy: Readonly<Record<string, CategoryAccuracy>>): CategoryAccuracy => {
  const all = { flagged: 0, confirmed: 0, missed: 0 };
  for (const { flagged, confirmed, missed } of Object.values(accuracy)) {
    all.flagged += flagged;
    all.confirmed += confirmed;
    all.missed += missed;
  }
  return all;
};

/** How often the AI flagged something that no reviewer confirmed: a camera with many of these cries wolf. */
export const notConfirmed = (accuracy: Readonly<Record<string, CategoryAccuracy>>): number => {
  const { flagged, confirmed } = allOf(accuracy);
  return flagged - confirmed;
};
