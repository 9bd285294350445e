import { hourOfMinute, microsecondOfMinute } from '../model/day.ts';
import { addTo, EMPTY_TALLY, plus, sumOf, type Tally } from '../model/tally.ts';
import { withCameras, type CameraList } from '../rows/camera-list.ts';
import { addToCamera, cameraWrite, emptyCameraRow, type CameraRow } from '../rows/camera-row.ts';
import { decodingRow } from '../rows/damaged-row.ts';
import { eventWrite, type EventRow } from '../rows/event-row.ts';
import { addToBucket, bucketsWrite, NO_BUCKETS, type HourRow, type HoursRow } from '../rows/hour-rows.ts';
import { hourKey, HOURS_KEY, minuteKey } from '../rows/keys.ts';
import { addSamples, minuteRowWrite, NO_SAMPLES, type MinuteRow } from '../rows/minute-row.ts';
import type { RowWrite } from '../rows/row.ts';
import { EMPTY_TOTAL, totalWrites, type TotalRow } from '../rows/total-row.ts';
import { Draft, type Change, type Outcome } from './commit-draft.ts';
import type { KeyedMessage } from './keyed-message.ts';
import { StaleSnapshot, type ShardSnapshot } from './shard-snapshot.ts';

/** One transaction: the outcome of each message, the writes, and the rows as they are once these are applied. */
export interface CommitPlan {
  /** In the order of the messages. */
  readonly outcomes: readonly Outcome[];
  /** Empty where nothing changes. The `total` row is first, so that a stale plan fails at once. */
  readonly writes: readonly RowWrite[];
  readonly total: TotalRow;
  readonly hours: HoursRow;
  /** By hour of the day. */
  readonly hourRows: ReadonlyMap<number, HourRow>;
  /** By minute of the day. */
  readonly minuteRows: ReadonlyMap<number, MinuteRow>;
  /** By camera id. */
  readonly cameras: ReadonlyMap<string, CameraRow>;
  /** By row key. */
  readonly events: ReadonlyMap<string, EventRow>;
}

/**
 * What to write for messages about events of one shard and day: their event rows, the counters of their cameras, minutes and
 * hours, and the total, in one transaction. Pure. Counters get the difference that each message makes.
 *
 * @param messages in the order of arrival; messages about the same event are folded
 * @throws {StaleSnapshot} where the rows of the snapshot do not fit together
 * @throws {DamagedRow}
 */
export const planCommit = (snapshot: ShardSnapshot, messages: readonly KeyedMessage[]): CommitPlan => {
  const draft = new Draft(snapshot);
  for (const message of messages) draft.take(message);
  const { outcomes, events, changes } = draft;
  const stored: TotalRow = snapshot.total ?? EMPTY_TOTAL;
  if (events.size === 0) {
    const hours = snapshot.hours?.value ?? NO_BUCKETS;
    const rows = { hours, hourRows: new Map(), minuteRows: new Map(), cameras: new Map() };
    return { ...rows, outcomes, writes: [], total: stored, events };
  }
  const byCamera = Map.groupBy(changes, ({ keyed }) => keyed.message.cameraId);
  const total: TotalRow = {
    tally: plus(stored.tally, sumOf(changes.map(({ difference }) => difference))),
    cameras: withCameras(stored.cameras, byCamera.keys()),
  };
  const cameras = planCameras(snapshot, byCamera, total.cameras);
  const times = planTimes(snapshot, changes, total);
  return {
    outcomes,
    total,
    hours: times.hours,
    hourRows: times.hourRows,
    minuteRows: times.minuteRows,
    cameras: cameras.rows,
    events,
    writes: [
      ...totalWrites(snapshot.total, total),
      ...times.writes,
      ...cameras.writes,
      ...Array.from(events, ([key, event]) => eventWrite(key, snapshot.events.get(key)?.etag, event)),
    ],
  };
};

/** The changed camera rows, by camera id. */
const planCameras = (
  snapshot: ShardSnapshot,
  byCamera: ReadonlyMap<string, readonly Change[]>,
  list: CameraList,
): { rows: ReadonlyMap<string, CameraRow>; writes: readonly RowWrite[] } => {
  const rows = new Map<string, CameraRow>();
  const writes: RowWrite[] = [];
  for (const [cameraId, changes] of byCamera) {
    const minutes = new Map<number, Tally>();
    for (const { keyed, difference } of changes) addTo(minutes, keyed.minute, difference);
    const before = snapshot.cameras.get(cameraId);
    let row = before?.value ?? emptyCameraRow(indexIn(list, cameraId));
    decodingRow({ partitionKey: snapshot.partition, rowKey: changes[0]?.keyed.cameraKey ?? '' }, () => {
      for (const [minute, difference] of minutes) row = addToCamera(row, minute, difference);
    });
    rows.set(cameraId, row);
    writes.push(cameraWrite(cameraId, before?.etag, row, new Set(Array.from(minutes.keys(), hourOfMinute))));
  }
  return { rows, writes };
};

/** The changed `hours` row, `hour` rows and `minute` rows, with the writes in this order. */
const planTimes = (
  { partition, hours: storedHours, hourRows: storedHourRows, minuteRows: storedMinuteRows }: ShardSnapshot,
  changes: readonly Change[],
  { tally, cameras }: TotalRow,
): Pick<CommitPlan, 'hours' | 'hourRows' | 'minuteRows' | 'writes'> => {
  const categories = [...tally.categories.keys()];
  const cameraIndex = ({ keyed }: Change): number => indexIn(cameras, keyed.message.cameraId);
  const changed = <Row>(rowKey: string, change: () => Row | undefined): Row => {
    const row = decodingRow({ partitionKey: partition, rowKey }, change);
    if (row === undefined) throw new StaleSnapshot(`${rowKey} is newer than the total`);
    return row;
  };
  let hours = storedHours?.value ?? NO_BUCKETS;
  const hourRows = new Map<number, HourRow>();
  const minuteRows = new Map<number, MinuteRow>();
  const hourWrites: RowWrite[] = [];
  const minuteWrites: RowWrite[] = [];
  for (const [hour, ofHour] of Map.groupBy(changes, ({ keyed }) => keyed.hour)) {
    const before = storedHourRows.get(hour);
    let row = before?.value ?? NO_BUCKETS;
    let sum = EMPTY_TALLY;
    const byMinute = Map.groupBy(ofHour, ({ keyed }) => keyed.minute);
    for (const [minute, ofMinute] of byMinute) {
      const difference = sumOf(ofMinute.map((change) => change.difference));
      sum = plus(sum, difference);
      row = changed(hourKey(hour), () =>
        addToBucket(row, minute % 60, difference, ofMinute.map(cameraIndex), categories),
      );
      const samples = ofMinute.map((change) => ({
        microsecond: microsecondOfMinute(change.keyed.message.ts),
        cameraIndex: cameraIndex(change),
        tally: change.difference,
      }));
      const stored = storedMinuteRows.get(minute);
      const minuteRow = changed(minuteKey(minute), () => addSamples(stored?.value ?? NO_SAMPLES, samples, categories));
      minuteRows.set(minute, minuteRow);
      minuteWrites.push(minuteRowWrite(minute, stored?.etag, minuteRow, samples));
    }
    hours = changed(HOURS_KEY, () => addToBucket(hours, hour, sum, ofHour.map(cameraIndex), categories));
    hourRows.set(hour, row);
    const minutes = Array.from(byMinute.keys(), (minute) => minute % 60);
    hourWrites.push(bucketsWrite(hourKey(hour), before?.etag, row, minutes));
  }
  const hoursWrite = bucketsWrite(HOURS_KEY, storedHours?.etag, hours, [...hourRows.keys()]);
  return { hours, hourRows, minuteRows, writes: [hoursWrite, ...hourWrites, ...minuteWrites] };
};

/** The index of a camera that is in the list. */
const indexIn = ({ indexes }: CameraList, cameraId: string): number => {
  const index = indexes.get(cameraId);
  if (index === undefined) throw new RangeError('a camera is not in the camera list');
  return index;
};
