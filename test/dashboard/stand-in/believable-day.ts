import type { Frame } from './frames.ts';

/** Ids that would do harm on a page that took them for markup, or break its layout. */
export const HOSTILE_IDS = [
  '<img src=x onerror="window.harmed=1">',
  '"><script>window.harmed=1</script>',
  '\u202egnissim-thgir',
  'حريق-الجبل-٠٤',
  '🔥🏔️ ridge & peak',
  'x'.repeat(128),
  'a?b=c&d#e/f\\g%20h',
] as const;

/** Always the same numbers from 0 to 1 for a seed (mulberry32). */
const chances = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

/**
 * A day of activity: cameras send by day more than by night, smoke comes up in the afternoon.
 *
 * @param date `YYYY-MM-DD`
 * @param until no frame after it; milliseconds since 1970
 */
export const believableDay = (
  date: string,
  {
    cameras,
    frames,
    until,
    seed = 1,
  }: { readonly cameras: number; readonly frames: number; readonly until: number; readonly seed?: number },
): readonly Frame[] => {
  const chance = chances(seed);
  const start = Date.parse(`${date}T00:00:00Z`);
  const length = Math.min(86_400_000, until - start);
  return Array.from({ length: frames }, (_, index): Frame => {
    const at = start + Math.floor(chance() * length);
    const hour = new Date(at).getUTCHours();
    const smoky = Math.exp(-((hour - 15) ** 2) / 12) * 0.5 + 0.06;
    const smoke = chance() < smoky ? 1 + Math.floor(chance() * 3) : 0;
    const fire = smoke > 0 && chance() < 0.22 ? 1 : 0;
    const structure = chance() < 0.04 ? 1 : 0;
    const reviewed = smoke + fire > 0 ? chance() < 0.7 : chance() < 0.05;
    const detections = Object.fromEntries(Object.entries({ fire, smoke, structure }).filter(([, count]) => count > 0));
    return {
      event_id: `${date}-${seed}-${index}`,
      // A few cameras are much busier than the others.
      camera_id: `ridge-${String(1 + Math.floor(chance() ** 2 * cameras)).padStart(2, '0')}`,
      ts_utc: new Date(at).toISOString(),
      detections,
      reviewed,
      annotations: reviewed && chance() < 0.6 ? detections : {},
    };
  });
};
