import { decodingRow } from '../../storage/errors.ts';
import { StaleSnapshot } from '../errors.ts';
import { type Hour, hourOf, minuteOfHour, type MinuteOfDay } from '../model/day.ts';
import { type DayTally, growingDayTally } from '../model/tally.ts';
import { addToBucket, type HourRow } from '../rows/buckets.ts';
import { addToCamera, type CameraRow, EMPTY_CAMERA } from '../rows/camera-row.ts';
import { type DayRow, withCameras } from '../rows/day-row.ts';
import { cameraCounter, type Counter, counterKey, DAY_COUNTER, hourCounter } from '../rows/keys.ts';

/** The difference that a message makes to the counters of its event, or the contribution of an event that was not counted yet. */
export interface Change {
  readonly cameraId: string;
  readonly minute: MinuteOfDay;
  readonly difference: DayTally;
}

/** The counter rows of one stripe. */
export interface Counters {
  readonly day: DayRow;
  readonly hours: ReadonlyMap<Hour, HourRow>;
  readonly cameras: ReadonlyMap<string, CameraRow>;
}

const hourOfChange = ({ minute }: Change): Hour => hourOf(minute);
const sumOfChanges = (changes: readonly Change[]): DayTally => {
  const [first, ...more] = changes;
  if (first !== undefined && more.length === 0) return first.difference;
  const sum = growingDayTally();
  for (const { difference } of changes) sum.add(difference);
  return sum;
};

/**
 * Adds changes to the counter rows of a stripe. Pure.
 *
 * @param before hours and cameras that are not stored are left out
 * @returns the day, and the hours and cameras that changed
 * @throws {StaleSnapshot} if the rows before do not fit together
 * @throws {DamagedRow}
 */
export const addChanges = (
  { partition, stripe }: { readonly partition: string; readonly stripe: number },
  before: Counters,
  changes: readonly Change[],
): Counters => {
  /** A changed row, if the row before and the `day` row fit together. */
  const fitting = <Row>(counter: Counter, change: () => Row | undefined): Row => {
    const rowKey = counterKey(counter, stripe);
    const row = decodingRow({ partitionKey: partition, rowKey }, change);
    if (row === undefined) throw new StaleSnapshot(`${rowKey} is newer than the day row`);
    return row;
  };
  const tally = growingDayTally().add(before.day.tally).add(sumOfChanges(changes));
  const categories = [...tally.categories.keys()];
  const cameras = withCameras(
    before.day.cameras,
    changes.map(({ cameraId }) => cameraId),
  );
  const indexOf = ({ cameraId }: Change): number => {
    const index = cameras.indexes.get(cameraId);
    if (index === undefined) throw new RangeError('every camera that changes is in the list');
    return index;
  };
  const byHour = Map.groupBy(changes, hourOfChange);
  const hoursOfDay = fitting(DAY_COUNTER, () => {
    let buckets: DayRow['hours'] | undefined = before.day.hours;
    for (const [hour, some] of byHour) {
      buckets = buckets && addToBucket(buckets, hour, sumOfChanges(some), some.map(indexOf), categories);
    }
    return buckets;
  });
  const hours = Array.from(byHour, ([hour, ofHour]): [Hour, HourRow] => [
    hour,
    fitting(hourCounter(hour), () => {
      let buckets: HourRow | undefined = before.hours.get(hour) ?? new Map();
      for (const [minute, some] of Map.groupBy(ofHour, (change) => minuteOfHour(change.minute))) {
        buckets = buckets && addToBucket(buckets, minute, sumOfChanges(some), some.map(indexOf), categories);
      }
      return buckets;
    }),
  ]);
  const changedCameras = Array.from(
    Map.groupBy(changes, ({ cameraId }) => cameraId),
    ([cameraId, some]): [string, CameraRow] => [
      cameraId,
      fitting(cameraCounter(cameraId), () =>
        addToCamera(
          before.cameras.get(cameraId) ?? EMPTY_CAMERA,
          some.map(({ minute, difference }) => [minute, difference]),
        ),
      ),
    ],
  );
  return { day: { tally, hours: hoursOfDay, cameras }, hours: new Map(hours), cameras: new Map(changedCameras) };
};
