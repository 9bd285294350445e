import { type Random, randomFrom, integerBetween } from './random.ts';

interface FrameFacts {
  readonly event_id: string;
  readonly camera_id: string;
  readonly ts_utc: string;
  readonly detections?: Counts;
  readonly reviewed?: boolean;
  readonly annotations?: Counts;
}

type Counts = Readonly<Record<string, number>>;

/** The cameras of the demo: lookouts, as camera networks name them. */
export const CAMERAS: readonly string[] = [
  'antelope-ridge',
  'bald-mountain',
  'bear-creek',
  'cedar-point',
  'condor-peak',
  'deer-lodge',
  'eagle-rock',
  'fern-canyon',
  'granite-dome',
  'hawk-hill',
  'juniper-flat',
  'lone-pine',
  'manzanita-pass',
  'oak-summit',
  'pine-mesa',
  'quartz-hill',
  'red-bluff',
  'signal-butte',
  'tower-7',
  'wolf-lookout',
];

const MINUTES_A_DAY = 1440;

/** A part of a day, in minutes of the day; `to` is excluded. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

const isIn = (minute: number, stretches: readonly Stretch[]): boolean =>
  stretches.some(({ from, to }) => minute >= from && minute < to);

/**
 * A believable day. Each camera sends a frame a minute. Some cameras see smoke for a while, sometimes with fire; some flags are false alarms. A
 * camera may be dark for an hour or two. Minutes later operators review most flagged frames, draw annotations, and change some of them.
 *
 * @param date `YYYY-MM-DD`, UTC; the same date gives the same messages, ids included, so that sending a day twice
 *   changes nothing
 * @param until the end of the messages, in milliseconds since 1970
 * @returns the messages in the order of their time
 */
export const believableDay = (date: string, until: number): readonly CameraMessage[] => {
  const midnight = Date.parse(`${date}T00:00:00Z`);
  return CAMERAS.flatMap((camera) => cameraDay(camera, date, midnight))
    .filter((message) => Date.parse(message.time) < until)
    .sort((a, b) => (a.time < b.time ? -1 : 1));
};

const cameraDay = (camera: string, date: string, midnight: number): readonly CameraMessage[] => {
  const random = randomFrom(`${date} ${camera}`);
  const smoke = stretches(random, integerBetween(random, 0, 2), 8, 45);
  const dark = stretches(random, random() < 0.15 ? 1 : 0, 40, 130);
  const seesAHouse = random() < 0.2;
  const messages: CameraMessage[] = [];
  for (let minute = 0; minute < MINUTES_A_DAY; minute += 1) {
    // Drawn for dark minutes as well: the later numbers of a camera must not depend on whether it was dark.
    const takenAt = midnight + minute * 60_000 + integerBetween(random, 0, 9_999);
    const detections = whatTheAiSees(random, isIn(minute, smoke), seesAHouse);
    if (isIn(minute, dark)) continue;
    messages.push(...frameMessages(random, camera, takenAt, detections));
  }
  return messages;
};

const stretches = (random: Random, count: number, least: number, most: number): readonly Stretch[] =>
  Array.from({ length: count }, () => {
    // Around the warm hours: the sum of two draws is seldom far from its mean, 15:00 UTC here.
    const from = Math.min(MINUTES_A_DAY - 1, integerBetween(random, 0, 600) + integerBetween(random, 300, 900));
    return { from, to: from + integerBetween(random, least, most) };
  });

const whatTheAiSees = (random: Random, isSmoking: boolean, seesAHouse: boolean): Counts => {
  const smoke = isSmoking && random() < 0.85 ? integerBetween(random, 1, 3) : random() < 0.001 ? 1 : 0;
  const fire = smoke > 1 && random() < 0.3 ? 1 : 0;
  const structure = seesAHouse && random() < 0.02 ? 1 : 0;
  return seen({ smoke, fire, structure });
};

const seen = (counts: Counts): Counts => Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));

const frameMessages = (
  random: Random,
  camera: string,
  takenAt: number,
  detections: Counts,
): readonly CameraMessage[] => {
  const micros = String(integerBetween(random, 0, 999)).padStart(3, '0');
  const frame = {
    event_id: `${camera}-${iso(takenAt)}`,
    camera_id: camera,
    ts_utc: iso(takenAt).replace('Z', `${micros}Z`),
  };
  const processedAt = takenAt + integerBetween(random, 900, 4_000);
  const messages = [message('/ai/worker', 'processed', processedAt, { ...frame, detections })];

  const isFlagged = Object.keys(detections).length > 0;
  if (!isFlagged || random() > 0.7) return messages;
  const reviewedAt = processedAt + integerBetween(random, 120_000, 540_000);
  const annotations = random() < 0.75 ? detections : {};
  messages.push(message('/review/desk', 'reviewed', reviewedAt, { ...frame, reviewed: true, annotations }));

  if (random() > 0.15) return messages;
  const editedAt = reviewedAt + integerBetween(random, 60_000, 900_000);
  messages.push(
    message('/review/desk', 'edited', editedAt, { ...frame, annotations: changedAnnotations(random, annotations) }),
  );
  return messages;
};

// All annotations removed, or one more fire drawn.
const changedAnnotations = (random: Random, annotations: Counts): Counts =>
  random() < 0.5 ? {} : { ...annotations, fire: (annotations['fire'] ?? 0) + 1 };

const message = (source: string, what: string, time: number, data: FrameFacts) => ({
  specversion: '1.0',
  id: `${data.event_id}-${what}`,
  source,
  type: 'CameraEvent.Changed',
  time: iso(time),
  data,
});

/** A message as `POST /api/events` takes it: one CloudEvent about one camera frame. */
export type CameraMessage = ReturnType<typeof message>;

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString();
