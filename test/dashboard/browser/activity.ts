import { believableDay, type CameraMessage } from '../../../infra/cli/demo/day.ts';

/** The day that is today where no test says otherwise, and the one before; UTC, and both of 24 hours in Los Angeles. */
export const TODAY = '2026-11-21';
export const YESTERDAY = '2026-11-20';

/** When a page is opened, by its own clock. Milliseconds since 1970, as every time here. */
export const NOON = Date.parse(`${TODAY}T12:00:00Z`);

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

type Counts = Readonly<Record<string, number>>;

let frames = 0;

/** The message about a new frame of a camera. */
export const frame = (
  camera_id: string,
  at: number,
  facts: { readonly detections?: Counts; readonly reviewed?: boolean; readonly annotations?: Counts } = {},
) => {
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

/** The demo of yesterday, and of today until noon: its 20 cameras, each with a frame every half an hour in place of every minute, and one just now. */
export const demoDays = (): readonly CameraMessage[] =>
  // Made once for all files of a process: whole days are made for it.
  (demo ??= [YESTERDAY, TODAY]
    .flatMap((date) => believableDay(date, NOON))
    .filter(({ data }) => {
      const at = new Date(data.ts_utc);
      return at.getUTCMinutes() % 30 === 0 || (at.getUTCMinutes() === 50 && NOON - at.getTime() < 15 * 60_000);
    }));

/** Cameras with hostile ids, early today, with a category that is not one of the usual ones. */
export const hostileFrames = () =>
  HOSTILE_IDS.map((id, index) =>
    frame(id, Date.parse(TODAY) + index * 1_000, {
      detections: { lightning: 1, ['category-'.repeat(7)]: 1 },
      reviewed: true,
      annotations: { constructor: 1 },
    }),
  );
