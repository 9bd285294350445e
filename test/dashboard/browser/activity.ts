import { believableDay, type CameraMessage } from '../../../infra/cli/demo/day.ts';
import { NOON, TODAY, YESTERDAY } from '../answers.ts';

/** Ids that would do harm as markup, or break the layout. */
export const HOSTILE_IDS = [
  '<img src=x onerror="window.harmed=1">',
  '"><script>window.harmed=1</script>',
  '\u202egnissim-thgir',
  'حريق-الجبل-٠٤',
  '🔥🏔️ ridge & peak',
  'x'.repeat(128),
  'a?b=c&d#e/f\\g%20h',
] as const;

/** The largest network. */
export const CAMERAS = Array.from({ length: 1_300 }, (_, camera) => `mountain-top-${String(camera).padStart(4, '0')}`);

let frames = 0;

/** The message about a new frame of a camera. */
export const frame = (camera_id: string, at: number, facts: object = {}) => {
  frames += 1;
  const [event_id, time] = [`frame-${frames}`, new Date(at).toISOString()];
  return {
    specversion: '1.0',
    id: event_id,
    source: '/test/dashboard',
    type: 'CameraEvent.Changed',
    time,
    data: { event_id, camera_id, ts_utc: time, detections: {}, ...facts },
  };
};

let demo: readonly CameraMessage[] | undefined;

/** The demo of yesterday, and of today until noon: 20 cameras, each with a frame every half an hour, and a frame just now. */
export const demoDays = (): readonly CameraMessage[] =>
  // Made once for all files of a process: whole days are slow to make.
  (demo ??= [YESTERDAY, TODAY]
    .flatMap((date) => believableDay(date, NOON))
    .filter(({ data }) => {
      const at = new Date(data.ts_utc);
      return at.getUTCMinutes() % 30 === 0 || (at.getUTCMinutes() === 50 && NOON - at.getTime() < 15 * 60_000);
    }));

/** Cameras with hostile ids, early today, with unusual categories. */
export const hostileFrames = () =>
  HOSTILE_IDS.map((id, index) =>
    frame(id, Date.parse(TODAY) + index * 1_000, {
      detections: { lightning: 1, ['category-'.repeat(7)]: 1 },
      reviewed: true,
      annotations: { constructor: 1 },
    }),
  );
