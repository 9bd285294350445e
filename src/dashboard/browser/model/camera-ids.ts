/** The cameras of a list that are not in another one: active before, and now they send nothing. */
export const silentCameras = (before: readonly string[], recent: readonly string[]): readonly string[] => {
  const sending = new Set(recent);
  return before.filter((id) => !sending.has(id));
};

/** How many signs have to be put in, taken out or changed to make one text of another. */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let index = 0; index < one.length; index += 1) {
    const next = [index + 1];
    for (let at = 0; at < other.length; at += 1) {
      const changed = (row[at] ?? 0) + (one[index] === other[at] ? 0 : 1);
      next.push(Math.min(changed, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
};

/** How many ids are offered. */
const MOST_OFFERED = 5;

/** The ids that are most like what somebody wrote, the nearest first: those that contain it, and those with a few signs changed. */
export const nearestIds = (wanted: string, ids: readonly string[]): readonly string[] => {
  const text = wanted.toLowerCase();
  const farthest = Math.max(2, text.length / 2);
  const farOf = (id: string): number => {
    if (id.includes(text)) return 0;
    return Math.abs(id.length - text.length) > farthest ? Infinity : distance(text, id);
  };
  return ids
    .map((id) => ({ id, far: farOf(id.toLowerCase()) }))
    .filter(({ far }) => far <= farthest)
    .sort((a, b) => a.far - b.far || (a.id < b.id ? -1 : 1))
    .slice(0, MOST_OFFERED)
    .map(({ id }) => id);
};
