import { accuracyOf } from '../../src/analytics/model/accuracy.ts';
import type { Counts, EventMessage, Facet } from '../../src/analytics/model/camera-event.ts';
import { type Day, dayOf } from '../../src/analytics/model/day.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import type { Tally } from '../../src/analytics/model/tally.ts';
import { Reader } from '../../src/analytics/read/reader.ts';
import type { Outcome } from '../../src/analytics/record/commit-plan.ts';
import { Recorder, type RecorderOptions } from '../../src/analytics/record/recorder.ts';
import { FORMAT } from '../../src/analytics/rows/properties.ts';
import { shardPartition } from '../../src/analytics/rows/keys.ts';
import type { Log } from '../../src/log.ts';
import type { TableConnection } from '../../src/storage/connection.ts';
import { ANY_VERSION, type NewProperties } from '../../src/storage/row.ts';
import { Table } from '../../src/storage/table.ts';
import { InterposedTable } from '../storage/interposed-table.ts';
import { MemoryTable } from '../storage/memory-table.ts';
import { type Counted, DAY, type PlainMessage, type Question } from './oracle.ts';

/** The day of the tests of this folder: its first microsecond, its name, and the partition of its first shard. */
export const START = 20_778n * DAY;
export const DATE = dayOf(instantFrom(START));
export const SHARD = shardPartition(DATE, 0);
export const WHOLE_DAY: Question = { start: START, end: START + DAY - 1n };
export const [SECOND, MINUTE, HOUR] = [1_000_000n, 60_000_000n, 3_600_000_000n];

/** A frame with smoke, or with other facets. */
export const frame = (
  cameraId: string,
  eventId: string,
  ts = START,
  more: Partial<PlainMessage> = {},
): PlainMessage => ({ cameraId, eventId, ts, time: ts, detections: { smoke: 1 }, ...more });

/** The numbers from 0 to less than a count. */
export const all = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

export const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);

export const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

const facet = <Value>(value: Value, time: bigint): Facet<Value> => ({ value, time: instantFrom(time) });
const counts = (categories: Readonly<Record<string, number>>): Counts => new Map(Object.entries(categories));

/** The message as the recorder takes it. */
export const toEventMessage = (message: PlainMessage): EventMessage => {
  const { eventId, cameraId, ts, time, detections, reviewed, annotations, removed } = message;
  return {
    eventId,
    cameraId,
    ts: instantFrom(ts),
    facets: {
      ...(detections && { detections: facet(counts(detections), time) }),
      ...(reviewed !== undefined && { reviewed: facet(reviewed, time) }),
      ...(annotations && { annotations: facet(counts(annotations), time) }),
      ...(removed !== undefined && { removed: facet(removed, time) }),
    },
  };
};

/** How a process of a test works. */
export interface ProcessOptions extends RecorderOptions {
  readonly log?: Log;
}

/** The parts of one process of the app that count: its recorder and its readers. */
export class CountingProcess {
  readonly table: Table;
  readonly recorder: Recorder;
  readonly reader: Reader;

  constructor(connection: TableConnection | Table, shards = 1, { log = SILENT, ...options }: ProcessOptions = {}) {
    // A busy machine may hold a request up for longer than the service would wait.
    this.table =
      connection instanceof Table ? connection : new Table(connection, { format: FORMAT, deadlineMs: 60_000 });
    this.recorder = new Recorder(this.table, shards, log, options);
    this.reader = new Reader(this.table, shards);
  }

  /** Records messages; returns the outcome of each. */
  async record(messages: readonly PlainMessage[]): Promise<readonly Outcome[]> {
    return this.recorder.record(messages.map(toEventMessage));
  }

  /** As `GET /api/analytics`: the counts, and the period that they are of. */
  async activity({ start, end, cameraId }: Question): Promise<readonly [answered: Question, answer: Counted]> {
    const asked = { start: instantFrom(start), end: instantFrom(end) };
    const activity = await this.reader.activity(asked, cameraId);
    return [
      { ...activity.period, cameraId },
      { counts: countsIn(activity.tally), cameras: activity.cameras() },
    ];
  }

  /** The counts of a period. */
  async answer(question: Question): Promise<Counted> {
    const [, answer] = await this.activity(question);
    return answer;
  }

  /** How often the AI was right on a day, as `GET /api/analytics/accuracy` counts it. */
  async accuracy(day: Day, cameraId?: string): Promise<ReadonlyMap<string, number>> {
    const tally = await this.reader.accuracy(day, 1, cameraId);
    const ofCategories = Array.from(tally.categories, ([category, own]) => {
      const { flagged, confirmed, missed } = accuracyOf(own);
      return Object.entries({ flagged, confirmed, missed }).map(
        ([name, count]) => [`${name} ${category}`, count] as const,
      );
    });
    return without0([['events', tally.events], ['reviewed', tally.reviewed], ...ofCategories.flat()]);
  }
}

const without0 = (counted: readonly (readonly [string, number])[]): ReadonlyMap<string, number> =>
  new Map(counted.filter(([, count]) => count !== 0));

/** The counts in a tally of the service. */
export const countsIn = ({ events, reviewed, annotated, categories }: Tally): ReadonlyMap<string, number> =>
  without0([
    ...Object.entries({ events, reviewed, annotated }),
    ...[...categories].flatMap(([category, own]): (readonly [string, number])[] => [
      [`detected ${category}`, own.detections],
      [`reviewed ${category}`, own.reviewed],
      [`annotated ${category}`, own.annotations],
    ]),
  ]);

/** A table in memory that belongs to one test. */
export class MemoryStorage {
  /** The clock of storage, in milliseconds since 1970. */
  now = (): number => Date.now();
  readonly memory = new MemoryTable(() => this.now());
  /** The table as {@link process} reaches it. */
  readonly connection = new InterposedTable(undefined, this.memory);

  /** A process with empty memory. */
  process(shards = 1, options: ProcessOptions = {}): CountingProcess {
    return new CountingProcess(this.connection, shards, options);
  }

  /** Changes properties of a row at any version, or deletes it, as a damage or another process does. */
  async change(rowKey: string, properties: NewProperties | 'deleted', partition = SHARD): Promise<void> {
    await this.memory.transact(
      partition,
      properties === 'deleted'
        ? [{ kind: 'delete', rowKey }]
        : [{ kind: 'merge', rowKey, etag: ANY_VERSION, properties }],
    );
  }

  /** The keys of the rows of a partition. */
  keys(partition = SHARD): readonly string[] {
    return this.memory.rows(partition).map(({ rowKey }) => rowKey);
  }
}

/** A table that holds these messages. */
export const recorded = async (messages: readonly PlainMessage[], shards = 1): Promise<MemoryStorage> => {
  const storage = new MemoryStorage();
  await storage.process(shards).record(messages);
  return storage;
};
