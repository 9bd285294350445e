import * as fc from 'fast-check';

import { DAY, type PlainMessage, type Question } from './oracle.ts';

/** The stories are about two days, 2026-11-21 and 22. */
export const FIRST_DAY = 20_778n * DAY;
const DAYS = 2n;

/** Instants of the two days, often on a boundary or a microsecond beside it. */
const instants: fc.Arbitrary<bigint> = fc
  .record({
    into: fc.bigInt({ min: 0n, max: DAYS * DAY - 1n }),
    unit: fc.constantFrom(1n, 60_000_000n, 3_600_000_000n, DAY),
    beside: fc.constantFrom(-1n, 0n, 1n),
  })
  .map(({ into, unit, beside }) => {
    const at = into - (into % unit) + beside;
    return FIRST_DAY + (at < 0n ? 0n : at);
  });

const CAMERAS = ['ridge-04', 'ridge-05', 'north/ridge|4', "o'brien's 🔥?", 'ridge-04 '];

type Said = Pick<PlainMessage, 'detections' | 'reviewed' | 'annotations'>;

const detections: readonly PlainMessage['detections'][] = [
  undefined,
  {},
  { smoke: 1 },
  { smoke: 2, fire: 10_000 },
  { fog: 0 },
];
const reviews = [undefined, true, false];
const annotations: readonly PlainMessage['annotations'][] = [
  undefined,
  {},
  { fire: 1 },
  { fire: 0, smoke: 3 },
  { constructor: 2 },
];

/** All combinations of facets in the stories. */
const SAID: Said[] = [];
for (const detected of detections) {
  for (const reviewed of reviews) {
    for (const annotated of annotations) {
      SAID.push({
        ...(detected && { detections: detected }),
        ...(reviewed !== undefined && { reviewed }),
        ...(annotated && { annotations: annotated }),
      });
    }
  }
}

interface StoryEvent {
  readonly cameraId: string;
  readonly ts: bigint;
}

/** Messages with the same time have the same facets: of two different ones neither would be newer. */
const messageOf = ({ cameraId, ts }: StoryEvent, said: number, order: number): PlainMessage => ({
  cameraId,
  ts,
  eventId: `f|${ts}`,
  time: FIRST_DAY + BigInt(order * SAID.length + said),
  ...SAID[said],
});

const messageAbout = (events: readonly StoryEvent[]): fc.Arbitrary<PlainMessage> =>
  fc
    .tuple(fc.constantFrom(...events), fc.nat(SAID.length - 1), fc.nat(20))
    .map(([event, said, order]) => messageOf(event, said, order));

/** Messages about few events of a few cameras, several about each event. */
export const messages: fc.Arbitrary<readonly PlainMessage[]> = fc
  .array(fc.record({ cameraId: fc.constantFrom(...CAMERAS), ts: instants }), { minLength: 1, maxLength: 12 })
  .chain((events) => fc.array(messageAbout(events), { minLength: 1, maxLength: 40 }));

const questionOf = (one: bigint, other: bigint, cameraId: string | undefined): Question => ({
  start: one < other ? one : other,
  end: one < other ? other : one,
  ...(cameraId !== undefined && { cameraId }),
});

/** Periods of the two days with ends at any microsecond, of all cameras, of one, or of an unknown one. */
export const questions: fc.Arbitrary<Question> = fc
  .tuple(instants, instants, fc.constantFrom(undefined, ...CAMERAS, 'unknown'))
  .map(([one, other, cameraId]) => questionOf(one, other, cameraId));

/** Both whole days, each of all cameras and of each camera. */
export const WHOLE_DAYS: readonly Question[] = [0n, 1n].flatMap((day) => {
  const [start, end] = [FIRST_DAY + day * DAY, FIRST_DAY + (day + 1n) * DAY - 1n];
  return [undefined, ...CAMERAS].map((cameraId) => questionOf(start, end, cameraId));
});
