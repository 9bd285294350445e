import { accuracyOf } from '../../src/analytics/model/accuracy.ts';
import type { Counts, EventMessage, Facet } from '../../src/analytics/model/camera-event.ts';
import type { Day } from '../../src/analytics/model/day.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import type { Tally } from '../../src/analytics/model/tally.ts';
import { Reader } from '../../src/analytics/read/reader.ts';
import type { Outcome } from '../../src/analytics/record/batch.ts';
import { Recorder, type RecorderOptions } from '../../src/analytics/record/recorder.ts';
import { Days } from '../../src/analytics/rows/days.ts';
import type { Log } from '../../src/log.ts';
import type { Table } from '../../src/storage/table.ts';
import type { Counted } from '../worlds/counting/counts.ts';
import type { PlainMessage, Question } from './oracle.ts';

const facet = <Value>(value: Value, time: bigint): Facet<Value> => ({ value, time: instantFrom(time) });
const counts = (categories: Readonly<Record<string, number>>): Counts => new Map(Object.entries(categories));

/** The message as the recorder takes it. */
export const toEventMessage = ({
  eventId,
  cameraId,
  ts,
  time,
  detections,
  reviewed,
  annotations,
}: PlainMessage): EventMessage => ({
  eventId,
  cameraId,
  ts: instantFrom(ts),
  facets: {
    ...(detections && { detections: facet(counts(detections), time) }),
    ...(reviewed !== undefined && { reviewed: facet(reviewed, time) }),
    ...(annotations && { annotations: facet(counts(annotations), time) }),
  },
});

/** What counts in one process of the app: its recorder and its readers, with memory of their own. */
export class CountingService {
  readonly table: Table;
  readonly days: Days;
  readonly recorder: Recorder;
  readonly reader: Reader;

  constructor(table: Table, counterShards: number, log: Log, options: RecorderOptions) {
    this.table = table;
    this.days = new Days(table, counterShards, log);
    this.recorder = new Recorder(table, this.days, log, options);
    this.reader = new Reader(table, this.days);
  }

  /** Records messages; returns the outcome of each. */
  async record(messages: readonly PlainMessage[]): Promise<readonly Outcome[]> {
    return this.recorder.record(messages.map(toEventMessage));
  }

  /** What happened in a period, as `GET /api/analytics` says it. */
  async range({ start, end, cameraId }: Question): Promise<Counted> {
    const period = { start: instantFrom(start), end: instantFrom(end) };
    const { tally, activeCameras } = await this.reader.activity(period, cameraId);
    return { counts: countsIn(tally), cameras: new Set(activeCameras) };
  }

  /** How often the AI was right on a day, as `GET /api/analytics/accuracy` counts it. */
  async accuracy(day: Day, cameraId?: string): Promise<ReadonlyMap<string, number>> {
    const { tally } = await this.reader.accuracy(day, 1, cameraId);
    const figures: (readonly [string, number])[] = [
      ['events', tally.events],
      ['reviewed', tally.reviewed],
    ];
    for (const [category, own] of tally.categories) {
      const { flagged, confirmed, missed } = accuracyOf(own);
      figures.push(
        [`flagged ${category}`, flagged],
        [`confirmed ${category}`, confirmed],
        [`missed ${category}`, missed],
      );
    }
    return new Map(figures.filter(([, count]) => count !== 0));
  }
}

/** What a tally of the service counts. */
export const countsIn = ({ events, reviewed, annotated, categories }: Tally): ReadonlyMap<string, number> => {
  const all: (readonly [string, number])[] = [
    ['events', events],
    ['reviewed', reviewed],
    ['annotated', annotated],
    ...[...categories].flatMap(([category, own]): (readonly [string, number])[] => [
      [`detected ${category}`, own.detections],
      [`reviewed ${category}`, own.reviewed],
      [`annotated ${category}`, own.annotations],
    ]),
  ];
  return new Map(all.filter(([, count]) => count !== 0));
};
