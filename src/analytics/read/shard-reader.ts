import { hourOfMinute, microsecondOfMinute } from '../model/day.ts';
import { instantFrom, sortableInstant, type Instant } from '../model/instant.ts';
import type { DayPiece, PartialMinute } from '../model/period.ts';
import { EMPTY_TALLY, sumOf, type Tally } from '../model/tally.ts';
import { CAMERA_DAY_PROPERTIES, cameraProperties, cameraRowFrom, minutesOf } from '../rows/camera-row.ts';
import { decodingRow } from '../rows/damaged-row.ts';
import { CONTRIBUTION_PROPERTIES, contributionFrom, INSTANT_PROPERTIES, instantOf } from '../rows/event-row.ts';
import { bucketProperties, bucketsFrom } from '../rows/hour-rows.ts';
import { cameraKey, eventsOfMinute, hourKey, HOURS_KEY, parseEventKey } from '../rows/keys.ts';
import {
  minuteRowFrom,
  overflowedSecondsOf,
  sampleRows,
  samplesOf,
  SECOND,
  secondOf,
  type MinuteRow,
  type StoredSample,
} from '../rows/minute-row.ts';
import type { StoredRow } from '../rows/row.ts';
import { listsTooShort } from '../rows/total-row.ts';
import { readShard, type ReadingSource, type RowRequest, type StripeReading } from './shard-reading.ts';
import { ShardSum } from './shard-sum.ts';

/** What happened in a piece of a period, in one shard. */
export interface ShardActivity {
  readonly tally: Tally;
  /** The cameras that sent events, perhaps more than once. */
  readonly cameras: readonly string[];
}

type PartOfDay = Extract<DayPiece, { whole: false }>;

const NOTHING: ShardActivity = { tally: EMPTY_TALLY, cameras: [] };

const sumOfActivities = (activities: readonly ShardActivity[]): ShardActivity => ({
  tally: sumOf(activities.map(({ tally }) => tally)),
  cameras: activities.flatMap(({ cameras }) => cameras),
});

/** Minutes of the day by their hour, there as minutes of the hour. */
const byHour = (minutes: readonly number[]): ReadonlyMap<number, readonly number[]> =>
  new Map(
    Array.from(Map.groupBy(minutes, hourOfMinute), ([hour, ofHour]) => [hour, ofHour.map((minute) => minute % 60)]),
  );

const secondsOf = ({ start, end }: PartialMinute): readonly [from: number, to: number] => [
  microsecondOfMinute(start),
  microsecondOfMinute(end),
];

const samplesRequests = (partialMinutes: readonly PartialMinute[]): readonly RowRequest[] =>
  partialMinutes.flatMap((partial) =>
    Array.from(sampleRows(partial.minute, ...secondsOf(partial)), ([key, select]) => ({ key, select })),
  );

/**
 * Reads pieces of periods from the rows of one shard of a day: a whole day from its `total` rows (or a camera's rows), whole hours
 * and minutes from the `hours` and `hour` rows (or the camera's rows), and partial minutes from the `minute` rows: the sums over
 * the shard's stripes. All of one event is in one row of a piece, and each row is read as of one moment over all stripes, so no
 * event is ever half visible. All is read by key, so that the number of reads depends on neither the events nor the cameras.
 * Event rows are read only for seconds that have overflowed.
 */
export class ShardReader {
  readonly #source: ReadingSource;

  constructor(source: ReadingSource) {
    this.#source = source;
  }

  /** What all cameras of the shard did in a piece of the day. */
  async piece(piece: DayPiece): Promise<ShardActivity> {
    return piece.whole ? this.#day() : this.#partOfDay(piece);
  }

  /** What one camera, which is in the shard, did in a piece of the day. */
  async pieceOfCamera(piece: DayPiece, cameraId: string): Promise<ShardActivity> {
    return piece.whole ? this.#dayOfCamera(cameraId) : this.#partOfCamera(piece, cameraId);
  }

  async #day(): Promise<ShardActivity> {
    const stripes = await readShard(this.#source, [], 'cameras');
    return sumOfActivities(
      stripes.map(({ total }) => ({ tally: total?.tally ?? EMPTY_TALLY, cameras: total?.cameras?.ids ?? [] })),
    );
  }

  async #partOfDay({ hours, minutes, partialMinutes }: PartOfDay): Promise<ShardActivity> {
    const buckets: readonly RowRequest[] = [
      ...(hours.length === 0 ? [] : [{ key: HOURS_KEY, select: bucketProperties(hours) }]),
      ...Array.from(byHour(minutes), ([hour, wanted]) => ({ key: hourKey(hour), select: bucketProperties(wanted) })),
    ];
    const stripes = await readShard(this.#source, [...buckets, ...samplesRequests(partialMinutes)], 'cameras');
    const { samples, events } = await this.#samples(stripes, partialMinutes);
    return sumOfActivities([
      events,
      ...stripes.map((reading): ShardActivity => {
        const sum = new ShardSum();
        for (const { key } of buckets) addBuckets(sum, reading.rows.get(key));
        for (const sample of samples.get(reading.stripe) ?? []) sum.addSample(sample);
        const tally = sum.tally([...(reading.total?.tally?.categories.keys() ?? [])]);
        const cameras = sum.cameras(reading.total?.cameras?.ids ?? []);
        if (tally === undefined || cameras === undefined) throw listsTooShort(this.#source.partition, reading.stripe);
        return { tally, cameras };
      }),
    ]);
  }

  async #dayOfCamera(cameraId: string): Promise<ShardActivity> {
    const key = cameraKey(cameraId);
    const stripes = await readShard(this.#source, [{ key, select: CAMERA_DAY_PROPERTIES }], 'state');
    return sumOfActivities(
      stripes.map(({ rows }) => {
        const row = rows.get(key);
        return row === undefined ? NOTHING : { tally: cameraRowFrom(row).tally, cameras: [cameraId] };
      }),
    );
  }

  async #partOfCamera({ hours, minutes, partialMinutes }: PartOfDay, cameraId: string): Promise<ShardActivity> {
    const wanted = byHour(minutes);
    const request: RowRequest = { key: cameraKey(cameraId), select: cameraProperties(hours, wanted.keys()) };
    const sampled = samplesRequests(partialMinutes);
    const stripes = await readShard(this.#source, [request, ...sampled], sampled.length === 0 ? 'state' : 'tally');
    const cameras = await this.#camerasOf(stripes, request, sampled);
    const { samples, events } = await this.#samples(stripes, partialMinutes, cameraId);
    const tallies = stripes.map(({ stripe, total }): Tally => {
      const stored = cameras.get(stripe);
      if (stored === undefined) return EMPTY_TALLY;
      const row = cameraRowFrom(stored);
      const sum = new ShardSum();
      for (const sample of samples.get(stripe) ?? []) if (sample.cameraIndex === row.index) sum.addSample(sample);
      const tally = sum.tally([...(total?.tally?.categories.keys() ?? [])]);
      if (tally === undefined) throw listsTooShort(this.#source.partition, stripe);
      const whole = decodingRow(stored, () => [
        ...hours.map((hour) => row.hours.get(hour)?.tally ?? EMPTY_TALLY),
        ...[...wanted].flatMap(([hour, own]) => {
          const ofHour = minutesOf(row, hour);
          return own.map((minute) => ofHour.get(minute) ?? EMPTY_TALLY);
        }),
      ]);
      return sumOf([tally, ...whole]);
    });
    const tally = sumOf([...tallies, events.tally]);
    return { tally, cameras: tally.events > 0 ? [cameraId] : [] };
  }

  /**
   * The camera's row in each stripe. A row that was not there when it was read, beside the samples of its stripe, may have come
   * before these: without the camera's index its samples cannot be told. Then the rows are read again, after the samples.
   */
  async #camerasOf(
    stripes: readonly StripeReading[],
    request: RowRequest,
    sampled: readonly RowRequest[],
  ): Promise<ReadonlyMap<number, StoredRow>> {
    const found = (readings: readonly StripeReading[]): ReadonlyMap<number, StoredRow> =>
      new Map(
        readings.flatMap(({ stripe, rows }): [number, StoredRow][] => {
          const row = rows.get(request.key);
          return row === undefined ? [] : [[stripe, row]];
        }),
      );
    const isUncertain = stripes.some(({ rows }) => !rows.has(request.key) && sampled.some(({ key }) => rows.has(key)));
    if (!isUncertain || this.#source.striped.get(this.#source.partition) === 1) return found(stripes);
    return found(await readShard(this.#source, [request], 'state'));
  }

  /**
   * The samples of partial minutes, by stripe. A second that has overflowed in any stripe is read from its event rows, of all cameras
   * or one, for all stripes: only such seconds, because of a closed day no other event rows are left.
   */
  async #samples(
    stripes: readonly StripeReading[],
    partialMinutes: readonly PartialMinute[],
    cameraId?: string,
  ): Promise<{ samples: ReadonlyMap<number, readonly StoredSample[]>; events: ShardActivity }> {
    const samples = new Map<number, StoredSample[]>();
    const overflowed = new Map<PartialMinute, ReadonlySet<number>>();
    for (const partial of partialMinutes) {
      const minuteRows = stripes.flatMap(({ stripe, rows }) =>
        minuteRowsIn(rows, partial).map((minuteRow) => ({ stripe, minuteRow })),
      );
      const seconds = new Set(minuteRows.flatMap(({ minuteRow }) => overflowedSecondsOf(minuteRow.row)));
      if (seconds.size > 0) overflowed.set(partial, seconds);
      for (const { stripe, minuteRow } of minuteRows) {
        const own = decodingRow(minuteRow.stored, () => samplesBeside(seconds, minuteRow.row, partial));
        samples.set(stripe, [...(samples.get(stripe) ?? []), ...own]);
      }
    }
    const events = await Promise.all(
      Array.from(overflowed, async ([partial, seconds]) => this.#events(partial, seconds, cameraId)),
    );
    return { samples, events: sumOfActivities(events) };
  }

  /** The events in some seconds of a partial minute. */
  async #events(
    { minute, start, end }: PartialMinute,
    seconds: ReadonlySet<number>,
    cameraId: string | undefined,
  ): Promise<ShardActivity> {
    const { table, partition, read } = this.#source;
    const range = eventsOfMinute(minute, cameraId);
    // One query from the first of them to the last. A condition for each second would be more than a filter may have.
    const [first, last] = [Math.min(...seconds), Math.max(...seconds)];
    const startOfMinute = start - BigInt(microsecondOfMinute(start));
    const from = laterOf(start, instantFrom(startOfMinute + BigInt(first * SECOND)));
    const to = earlierOf(end, instantFrom(startOfMinute + BigInt((last + 1) * SECOND - 1)));
    const filter = `ts_utc ge '${sortableInstant(from)}' and ts_utc le '${sortableInstant(to)}'`;
    const select = [...INSTANT_PROPERTIES, ...CONTRIBUTION_PROPERTIES];
    const found = await read(async () => table.all(partition, range, { select, filter }));
    const rows = found.filter((row) => seconds.has(secondOf(microsecondOfMinute(instantOf(row)))));
    return {
      tally: sumOf(rows.map(contributionFrom)),
      cameras: rows.map((row) => decodingRow(row, () => parseEventKey(row.rowKey).cameraId)),
    };
  }
}

/** Adds the buckets that were read of a row to a sum. */
const addBuckets = (sum: ShardSum, row: StoredRow | undefined): void => {
  if (row === undefined) return;
  decodingRow(row, () => {
    for (const bucket of bucketsFrom(row).values()) sum.addBucket(bucket);
  });
};

const laterOf = (left: Instant, right: Instant): Instant => (left > right ? left : right);
const earlierOf = (left: Instant, right: Instant): Instant => (left < right ? left : right);

/** A `minute` row as it is stored, and what is in it. */
interface StoredMinuteRow {
  readonly stored: StoredRow;
  readonly row: MinuteRow;
}

/** The `minute` rows of a partial minute in one stripe. */
const minuteRowsIn = (rows: ReadonlyMap<string, StoredRow>, partial: PartialMinute): readonly StoredMinuteRow[] =>
  [...sampleRows(partial.minute, ...secondsOf(partial)).keys()].flatMap((key) => {
    const stored = rows.get(key);
    return stored === undefined ? [] : [{ stored, row: minuteRowFrom(stored) }];
  });

/** The samples of a partial minute in one of its rows, without those of some seconds. */
const samplesBeside = (
  seconds: ReadonlySet<number>,
  row: MinuteRow,
  partial: PartialMinute,
): readonly StoredSample[] => {
  const others = seconds.size === 0 ? row : new Map([...row].filter(([second]) => !seconds.has(second)));
  const samples = samplesOf(others, ...secondsOf(partial));
  if (samples === undefined) throw new RangeError('the seconds that have overflowed were left out');
  return samples;
};
