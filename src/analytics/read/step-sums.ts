import { hourOfMinute } from '../model/day.ts';
import type { DayPiece } from '../model/period.ts';
import { sumOf, type Tally } from '../model/tally.ts';
import { CAMERA_DAY_PROPERTIES, cameraProperties, cameraRowFrom, minutesOf } from '../rows/camera-row.ts';
import { decodingRow } from '../rows/damaged-row.ts';
import type { Bucket } from '../rows/hour-rows.ts';
import { cameraKey, hourKey, HOURS_KEY } from '../rows/keys.ts';
import type { PartialMinuteRows, ShardReader } from './shard-reader.ts';
import { ShardSum } from './shard-sum.ts';

/** What happened in one step, in one shard. */
export interface StepSum {
  readonly tally: Tally;
  /** How many distinct cameras sent events. */
  readonly activeCameras: number;
}

/** The steps of a series that are in one day, in order: one whole day, or disjoint parts of the day. */
export type DaySteps = readonly DayPiece[];

interface Part {
  readonly piece: Extract<DayPiece, { whole: false }>;
  readonly sum: ShardSum;
}

const partsOf = (steps: DaySteps): readonly Part[] =>
  steps.flatMap((piece) => (piece.whole ? [] : [{ piece, sum: new ShardSum() }]));

/** Numbers (hours of the day, or minutes of an hour) and the sums that their buckets belong to. */
type Wanted = Map<number, ShardSum>;

/**
 * What all cameras of a shard did in each step of a day. Every row is read once, however many steps it serves: so many steps cost no
 * more reads than one question about the same period.
 */
export const stepsOfShard = async (shard: ShardReader, steps: DaySteps): Promise<readonly StepSum[]> => {
  const [first] = steps;
  if (first?.whole === true) {
    const { tally, cameras } = await shard.piece(first);
    return [{ tally, activeCameras: cameras.length }];
  }
  const parts = partsOf(steps);
  const hours: Wanted = new Map();
  const minutes = new Map<number, Wanted>();
  for (const { piece, sum } of parts) {
    for (const hour of piece.hours) hours.set(hour, sum);
    for (const minute of piece.minutes) {
      const hour = hourOfMinute(minute);
      const ofHour = minutes.get(hour) ?? new Map<number, ShardSum>();
      minutes.set(hour, ofHour.set(minute % 60, sum));
    }
  }
  const addBuckets = async (rowKey: string, wanted: Wanted): Promise<void> => {
    const add = (bucket: Bucket, number: number): void => wanted.get(number)?.addBucket(bucket);
    await shard.buckets(rowKey, [...wanted.keys()], add);
  };
  const [lists, partial] = await Promise.all([
    shard.lists(),
    Promise.all(parts.map(async ({ piece }) => partialMinutesOf(shard, piece))),
    addBuckets(HOURS_KEY, hours),
    ...Array.from(minutes, async ([hour, wanted]) => addBuckets(hourKey(hour), wanted)),
  ]);
  for (const [index, { sum }] of parts.entries()) {
    for (const { samples } of partial[index] ?? []) for (const sample of samples) sum.addSample(sample);
  }
  return shard.named(
    lists,
    async () => shard.lists(),
    ({ categories, ids }) =>
      allOf(parts, ({ sum }, index): StepSum | undefined => {
        const events = (partial[index] ?? []).map((minute) => minute.events);
        const tally = sum.tally(categories);
        const activeCameras = countCameras(
          sum,
          ids,
          events.flatMap(({ cameras }) => cameras),
        );
        if (tally === undefined || activeCameras === undefined) return undefined;
        return { tally: sumOf([tally, ...events.map((event) => event.tally)]), activeCameras };
      }),
  );
};

/** What one camera, which is in the shard, did in each step of a day. */
export const stepsOfCamera = async (
  shard: ShardReader,
  steps: DaySteps,
  cameraId: string,
): Promise<readonly StepSum[]> => {
  const [first] = steps;
  if (first?.whole === true) {
    const { tally, cameras } = await shard.pieceOfCamera(first, cameraId);
    return [{ tally, activeCameras: cameras.length }];
  }
  const parts = partsOf(steps);
  const hours = parts.flatMap(({ piece }) => piece.hours);
  const hoursOfMinutes = new Set(parts.flatMap(({ piece }) => piece.minutes.map(hourOfMinute)));
  const hasPartialMinutes = parts.some(({ piece }) => piece.partialMinutes.length > 0);
  const readCategories = async (): Promise<readonly string[]> => (hasPartialMinutes ? shard.categories() : []);
  const [list, partial, stored] = await Promise.all([
    readCategories(),
    Promise.all(parts.map(async ({ piece }) => partialMinutesOf(shard, piece, cameraId))),
    shard.row(
      cameraKey(cameraId),
      hours.length + hoursOfMinutes.size === 0 ? CAMERA_DAY_PROPERTIES : cameraProperties(hours, hoursOfMinutes),
    ),
  ]);
  if (stored === undefined) return parts.map(() => ({ tally: sumOf([]), activeCameras: 0 }));
  const row = cameraRowFrom(stored);
  const minutes = decodingRow(
    stored,
    () => new Map(Array.from(hoursOfMinutes, (hour) => [hour, minutesOf(row, hour)] as const)),
  );
  for (const [index, { sum }] of parts.entries()) {
    for (const { samples } of partial[index] ?? []) {
      for (const sample of samples) if (sample.cameraIndex === row.index) sum.addSample(sample);
    }
  }
  return shard.named(list, readCategories, (categories) =>
    allOf(parts, ({ piece, sum }, index): StepSum | undefined => {
      const ofSamples = sum.tally(categories);
      if (ofSamples === undefined) return undefined;
      const tally = sumOf([
        ...piece.hours.flatMap((hour) => row.hours.get(hour)?.tally ?? []),
        ...piece.minutes.flatMap((minute) => minutes.get(hourOfMinute(minute))?.get(minute % 60) ?? []),
        ofSamples,
        ...(partial[index] ?? []).map(({ events }) => events.tally),
      ]);
      return { tally, activeCameras: tally.events > 0 ? 1 : 0 };
    }),
  );
};

const partialMinutesOf = async (
  shard: ShardReader,
  { partialMinutes }: Part['piece'],
  cameraId?: string,
): Promise<readonly PartialMinuteRows[]> =>
  Promise.all(partialMinutes.map(async (minute) => shard.partialMinute(minute, cameraId)));

/** How many distinct cameras a sum and some events have; undefined where the list of ids is older than the sum. */
const countCameras = (sum: ShardSum, ids: readonly string[], ofEvents: readonly string[]): number | undefined => {
  // Most steps are counted without their ids: a minute series of a network would look up more than a million.
  if (ofEvents.length === 0) return sum.countCameras(ids.length);
  const ofSum = sum.cameras(ids);
  return ofSum && new Set([...ofSum, ...ofEvents]).size;
};

/** All results; undefined where one is. */
const allOf = <Item, Result>(
  items: readonly Item[],
  of: (item: Item, index: number) => Result | undefined,
): readonly Result[] | undefined => {
  const results: Result[] = [];
  for (const [index, item] of items.entries()) {
    const result = of(item, index);
    if (result === undefined) return undefined;
    results.push(result);
  }
  return results;
};
