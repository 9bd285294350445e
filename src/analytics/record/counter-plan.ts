import { StaleSnapshot } from '../errors.ts';
import { hourOfMinute } from '../model/day.ts';
import { plus } from '../model/tally.ts';
import { addToCamera, cameraWrite, emptyCameraRow, hoursOf } from '../rows/camera-row.ts';
import { addToBucket, bucketsWrite, NO_BUCKETS } from '../rows/hour-rows.ts';
import { cameraKey, hourKey, HOURS_KEY, minuteKey, SECONDS_A_ROW, TOTAL_KEY } from '../rows/keys.ts';
import { addSamples, minuteRowWrite, NO_SAMPLES, secondOf } from '../rows/minute-row.ts';
import { COMMIT_NUMBER, fenceWrite, inStripe, announcement } from '../rows/stripes.ts';
import { withCameras, type CameraList, EMPTY_TOTAL, totalWrites, type TotalRow } from '../rows/total-row.ts';
import { decodingRow } from '../../storage/errors.ts';
import { ANY_VERSION, type StoringWrite } from '../../storage/row.ts';
import { camerasIn, type BucketDifference, type CounterDifferences } from './counter-differences.ts';
import { counterRow, versionOf, type ShardRow, type ShardSnapshot } from './shard-snapshot.ts';

/** Writes, and the rows as they are once these are applied, by row key. */
export interface RowsPlan {
  /** The `total` row of the stripe is first, so that a stale plan fails at once. */
  readonly writes: readonly StoringWrite[];
  readonly rows: ReadonlyMap<string, ShardRow>;
}

const ALL_DAY: ReadonlySet<number> = new Set(Array.from({ length: 24 }, (_, hour) => hour));

/** A change of one counter row; its keys are those of stripe 0. */
interface CounterChange {
  readonly write: StoringWrite;
  readonly row: ShardRow;
}

/**
 * What to write to add differences to the counters of a snapshot's stripe. Pure.
 *
 * @throws {StaleSnapshot} where the rows of the snapshot do not fit together
 * @throws {DamagedRow}
 */
export const planCounters = (snapshot: ShardSnapshot, differences: CounterDifferences): RowsPlan => {
  const { stripe } = snapshot;
  const before = counterRow(snapshot, TOTAL_KEY, 'total')?.value;
  const known = before ?? EMPTY_TOTAL;
  const total: TotalRow = {
    ...known,
    tally: plus(known.tally, differences.day),
    cameras: withCameras(known.cameras, camerasIn(differences)),
    commit: known.commit + 1,
  };
  const changes: readonly CounterChange[] = [
    ...totalWrites(before, total, (key) => versionOf(snapshot.rows.get(inStripe(key, stripe)))).map(
      (write): CounterChange => ({
        write,
        row: write.rowKey === TOTAL_KEY ? { kind: 'total', value: total } : { kind: 'list' },
      }),
    ),
    ...bucketChanges(snapshot, differences, total),
    ...sampleChanges(snapshot, differences, total),
    ...cameraChanges(snapshot, differences, total.cameras),
  ];
  const writes = changes.map(({ write }) => ({
    ...write,
    rowKey: inStripe(write.rowKey, stripe),
    properties: { ...write.properties, [COMMIT_NUMBER]: total.commit },
  }));
  const rows = new Map(changes.map(({ write, row }) => [inStripe(write.rowKey, stripe), row]));
  for (const key of absentHalves(snapshot, differences, rows)) rows.set(key, { kind: 'absent' });
  return { writes: [...writes, ...(before === undefined ? newStripeWrites(snapshot) : [])], rows };
};

/** A new stripe announces itself in stripe 0's `total` row, and passes the fence. */
const newStripeWrites = ({ stripe, fence }: ShardSnapshot): readonly StoringWrite[] => {
  const stripes = Math.max(fence?.stripes ?? 0, stripe + 1);
  const fenced = fenceWrite(fence, stripes);
  if (stripe === 0) return [fenced];
  // Other writers change other properties of this row all the time. What orders the new stripes is the fence.
  return [{ kind: 'merge', rowKey: TOTAL_KEY, etag: ANY_VERSION, properties: announcement(stripes) }, fenced];
};

/** The changed `hours` row and `hour` rows. */
function* bucketChanges(
  snapshot: ShardSnapshot,
  { hours, minutes }: CounterDifferences,
  total: TotalRow,
): Generator<CounterChange> {
  const categories = [...total.tally.categories.keys()];
  const changeOf = (key: string, differences: Iterable<readonly [number, BucketDifference]>): CounterChange => {
    const stored = counterRow(snapshot, key, 'buckets');
    let value = stored?.value ?? NO_BUCKETS;
    const numbers: number[] = [];
    for (const [number, { tally, cameras }] of differences) {
      value = fitting(snapshot, key, () =>
        addToBucket(value, number, tally, indexesIn(total.cameras, cameras), categories),
      );
      numbers.push(number);
    }
    return { write: bucketsWrite(key, stored?.etag, value, numbers), row: { kind: 'buckets', value } };
  };
  if (hours.size > 0) yield changeOf(HOURS_KEY, hours);
  for (const [hour, own] of Map.groupBy(minutes, ([minute]) => hourOfMinute(minute))) {
    yield changeOf(
      hourKey(hour),
      own.map(([minute, difference]) => [minute % 60, difference]),
    );
  }
}

/** The changed `minute` rows. */
function* sampleChanges(
  snapshot: ShardSnapshot,
  { samples }: CounterDifferences,
  { tally, cameras }: TotalRow,
): Generator<CounterChange> {
  const categories = [...tally.categories.keys()];
  for (const [minute, ofMinute] of samples) {
    const byRow = Map.groupBy(ofMinute, ({ microsecond }) => minuteKey(minute, secondOf(microsecond)));
    for (const [key, differences] of byRow) {
      const stored = counterRow(snapshot, key, 'samples');
      const added = differences.map(({ microsecond, cameraId, tally: difference }) => ({
        microsecond,
        cameraIndex: indexIn(cameras, cameraId),
        tally: difference,
      }));
      const value = fitting(snapshot, key, () => addSamples(stored?.value ?? NO_SAMPLES, added, categories));
      yield { write: minuteRowWrite(key, stored?.etag, value, added), row: { kind: 'samples', value } };
    }
  }
}

/** The changed camera rows. */
function* cameraChanges(
  snapshot: ShardSnapshot,
  { cameras }: CounterDifferences,
  list: CameraList,
): Generator<CounterChange> {
  for (const [cameraId, difference] of cameras) {
    const stored = counterRow(snapshot, cameraKey(cameraId), 'camera');
    const before = stored?.value ?? emptyCameraRow(indexIn(list, cameraId));
    const value = fitting(snapshot, cameraKey(cameraId), () => addToCamera(before, difference));
    yield {
      write: cameraWrite(cameraId, stored?.etag, value, hoursOf(difference)),
      // A camera that had no row has only the hours that are written now.
      row: { kind: 'camera', value, hours: stored?.hours ?? ALL_DAY },
    };
  }
}

/** The row of the other half of each minute that had no events before: it is not stored, and need not be looked for. */
const absentHalves = (
  snapshot: ShardSnapshot,
  { samples }: CounterDifferences,
  written: ReadonlyMap<string, ShardRow>,
): readonly string[] =>
  [...samples.keys()]
    .filter((minute) => {
      const hour = counterRow(snapshot, hourKey(hourOfMinute(minute)), 'buckets');
      return hour?.value.has(minute % 60) !== true;
    })
    .flatMap((minute) => [minuteKey(minute, 0), minuteKey(minute, SECONDS_A_ROW)])
    .map((key) => inStripe(key, snapshot.stripe))
    .filter((key) => !written.has(key));

/** A changed row, where the row before and the total of the snapshot fit together. */
const fitting = <Row>({ partition, stripe }: ShardSnapshot, key: string, change: () => Row | undefined): Row => {
  const rowKey = inStripe(key, stripe);
  const row = decodingRow({ partitionKey: partition, rowKey }, change);
  if (row === undefined) throw new StaleSnapshot(`${rowKey} is newer than the total`);
  return row;
};

const indexesIn = (list: CameraList, cameraIds: readonly string[]): readonly number[] =>
  cameraIds.map((cameraId) => indexIn(list, cameraId));

/** The index of a camera that is in the list. */
const indexIn = ({ indexes }: CameraList, cameraId: string): number => {
  const index = indexes.get(cameraId);
  if (index === undefined) throw new RangeError('a camera is not in the camera list');
  return index;
};
