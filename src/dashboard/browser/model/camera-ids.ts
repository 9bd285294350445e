/** Every two signs of a text that stand side by side. */
const pairsOf = (text: string): ReadonlySet<string> =>
  new Set(Array.from({ length: Math.max(text.length - 1, 0) }, (_, index) => text.slice(index, index + 2)));

/** The ids that are most like what somebody wrote, the nearest first: those that contain it, or share most pairs of signs with it. */
export const nearestIds = (wanted: string, ids: readonly string[]): readonly string[] => {
  const text = wanted.toLowerCase();
  const pairs = pairsOf(text);
  const likenessOf = (id: string): number => {
    if (id.includes(text)) return 1;
    const other = pairsOf(id);
    return [...pairs].filter((pair) => other.has(pair)).length / Math.max(pairs.size, other.size, 1);
  };
  return ids
    .map((id) => ({ id, likeness: likenessOf(id.toLowerCase()) }))
    .filter(({ likeness }) => likeness >= 0.4)
    .sort((a, b) => b.likeness - a.likeness || (a.id < b.id ? -1 : 1))
    .slice(0, 5)
    .map(({ id }) => id);
};
