import pLimit from 'p-limit';

import type { Table } from '../../storage/table.ts';
import { contributionOf } from '../model/camera-event.ts';
import { type Day, endOfDay, type Hour, HOURS, MICROSECONDS, startOfDay } from '../model/day.ts';
import { formatInstant, type Instant, instantFrom } from '../model/instant.ts';
import { type Period, startOfMinute } from '../model/period.ts';
import { EMPTY_TALLY, sumOf, type Tally } from '../model/tally.ts';
import { Reader } from '../read/reader.ts';
import type { Seal } from '../rows/day-row.ts';
import type { UnreadableRow } from '../rows/decoded-pages.ts';
import { eventsOfHour, shardPartition } from '../rows/keys.ts';
import { readSeal, type ShardSeal } from '../rows/seal.ts';
import { Comparison, Counts } from './comparison.ts';
import { eventPages } from './stored-events.ts';

/** What an audit of a day found. */
export interface AuditReport extends Pick<Comparison, 'compared' | 'differing' | 'differences'> {
  readonly day: Day;
  /** `closed`: its counters were compared with one another. `rebuilding`: a rebuild is running, or was stopped. */
  readonly sealed: Seal | undefined;
  /** False: the day was written meanwhile, so its events and its answers may be of different moments. */
  readonly isStill: boolean;
  readonly events: number;
  /** Event rows that cannot be decoded. */
  readonly unreadable: readonly UnreadableRow[];
}

const PARALLEL_QUESTIONS = 8;

/**
 * Compares what the service answers about a day with its event rows, hour by hour: it needs the memory of one hour. A closed day has no event
 * rows: its answers are compared with the minutes of each camera. Reads only.
 *
 * @param shards how many shards each day has
 * @throws {StorageTrouble | TableMissing | LaterFormat} there is no report of a part of a day
 * @example const { differing } = await auditDay(table, 1, day); // 0 if every answer is right
 */
export const auditDay = async (table: Table, shards: number, day: Day): Promise<AuditReport> => {
  const partitions = Array.from({ length: shards }, (_, shard) => shardPartition(day, shard));
  const readSeals = async () => Promise.all(partitions.map(async (partition) => readSeal(table, partition)));
  const before = await readSeals();
  const sealed = before.find((seal) => seal.sealed !== undefined)?.sealed;
  const unreadable: UnreadableRow[] = [];
  const audit = new DayAudit(new Reader(table, shards, { whileRebuilding: true }), day, sealed === 'closed');
  await audit.findCameras();
  for (const hour of HOURS) {
    if (sealed === 'closed') await audit.countMinutes(hour);
    else for (const partition of partitions) unreadable.push(...(await audit.countEvents(table, partition, hour)));
    await audit.compareHour(hour);
  }
  await audit.compareDay();
  const isStill = versionsOf(before) === versionsOf(await readSeals());
  const { events, compared, differing, differences } = audit;
  return { day, sealed, isStill, events, compared, differing, differences, unreadable };
};

/** What changes with every commit to the shards of a day. */
const versionsOf = (seals: readonly ShardSeal[]): string =>
  seals.flatMap(({ rows }) => Array.from(rows.values(), ({ etag }) => etag)).join(' ');

/** The name of a counter of all cameras or one: of the day, or of what begins at a time. */
const counterOf = (cameraId: string | undefined, part: 'day' | 'hour' | 'minute', start?: Instant): string =>
  `${cameraId ?? 'all cameras'}, ${part}${start === undefined ? '' : ` ${clockOf(start)}`}`;

const ACCURACY = 'accuracy';

class DayAudit extends Comparison {
  events = 0;
  readonly #reader: Reader;
  readonly #day: Day;
  readonly #isClosed: boolean;
  readonly #limit = pLimit(PARALLEL_QUESTIONS);
  /** The cameras that sent events or have a row, each with the start of its last minute. */
  readonly #cameras = new Map<string, Instant | undefined>();
  readonly #ofDay = new Counts();
  /** The counts of the current hour and its minutes. */
  #ofHour = new Counts();

  constructor(reader: Reader, day: Day, isClosed: boolean) {
    super();
    this.#reader = reader;
    this.#day = day;
    this.#isClosed = isClosed;
  }

  /** Finds the cameras that the service lists: the audit asks also for a camera that has a row and no event. */
  async findCameras(): Promise<void> {
    const cameras = await this.answered('list of cameras', this.#reader.cameras(this.#day, 1));
    for (const { cameraId, tally } of cameras ?? []) {
      this.#cameras.set(cameraId, undefined);
      // The minutes of a closed day do not tell the figures of accuracy.
      if (this.#isClosed) this.#ofDay.add(ACCURACY, cameraId, tally);
    }
  }

  /** Counts the events of a shard in an hour. @returns the rows that cannot be decoded */
  async countEvents(table: Table, partition: string, hour: Hour): Promise<readonly UnreadableRow[]> {
    const unreadable: UnreadableRow[] = [];
    const period = this.#periodOf(hour);
    for await (const page of eventPages(table, partition, this.#day, eventsOfHour(hour))) {
      unreadable.push(...page.unreadable);
      for (const { cameraId, ts, facets } of page.decoded) {
        const contribution = contributionOf(facets);
        this.#count(period, startOfMinute(ts), cameraId, sumOf([contribution]), contribution);
        this.#ofDay.add(ACCURACY, cameraId, contribution);
      }
    }
    return unreadable;
  }

  /** Counts the minutes that the service answers for each camera in an hour of a closed day. */
  async countMinutes(hour: Hour): Promise<void> {
    const period = this.#periodOf(hour);
    await this.#limit.map([...this.#cameras.keys()], async (cameraId) => {
      const asking = this.#reader.series(period, 'minute', cameraId);
      const steps = await this.answered(`${cameraId}, minutes of ${clockOf(period.start)}`, asking);
      for (const { period: minute, tally, activeCameras } of steps ?? []) {
        if (activeCameras > 0) this.#count(period, minute.start, cameraId, tally, tally);
      }
    });
  }

  /** @param ofDay the tally for the day of the camera; of a closed day it lacks the figures of accuracy */
  #count(hour: Period, minute: Instant, cameraId: string, tally: Tally, ofDay: Tally): void {
    const last = this.#cameras.get(cameraId);
    if (last === undefined || last < minute) this.#cameras.set(cameraId, minute);
    this.events += tally.events;
    for (const id of [undefined, cameraId]) this.#ofHour.add(counterOf(id, 'minute', minute), cameraId, tally);
    this.#ofHour.add(counterOf(undefined, 'hour', hour.start), cameraId, tally);
    this.#ofDay.add(counterOf(undefined, 'day'), cameraId, tally);
    this.#ofDay.add(counterOf(cameraId, 'day'), cameraId, ofDay);
  }

  #periodOf(hour: Hour): Period {
    const start = instantFrom(startOfDay(this.#day) + BigInt(hour) * MICROSECONDS.hour);
    return { start, end: instantFrom(start + MICROSECONDS.hour - 1n) };
  }

  /** Compares the answers about an hour with its counts, and forgets these. */
  async compareHour(hour: Hour): Promise<void> {
    const period = this.#periodOf(hour);
    const counts = this.#ofHour;
    await this.#compareActivity(counts, counterOf(undefined, 'hour', period.start), period);
    // The minutes of each camera of a closed day are the counts.
    const cameras = this.#isClosed ? [] : this.#cameras.keys();
    await this.#limit.map([undefined, ...cameras], async (cameraId) => {
      const question = `${cameraId ?? 'all cameras'}, minutes of ${clockOf(period.start)}`;
      const steps = await this.answered(question, this.#reader.series(period, 'minute', cameraId));
      for (const { period: minute, tally, activeCameras } of steps ?? []) {
        this.compare(counts, counterOf(cameraId, 'minute', minute.start), tally, activeCameras);
      }
    });
    this.#ofHour = new Counts();
  }

  async #compareActivity(counts: Counts, counter: string, period: Period): Promise<void> {
    const activity = await this.answered(counter, this.#reader.activity(period));
    if (activity !== undefined) this.compare(counts, counter, activity.tally, activity.activeCameras);
  }

  /** Compares the answers about the day. */
  async compareDay(): Promise<void> {
    const [reader, day, counts] = [this.#reader, this.#day, this.#ofDay];
    await this.#compareActivity(counts, counterOf(undefined, 'day'), { start: startOfDay(day), end: endOfDay(day) });
    const accuracy = await this.answered(ACCURACY, reader.accuracy(day, 1));
    if (accuracy !== undefined) this.compare(counts, ACCURACY, accuracy);
    for (const { cameraId, tally } of (await this.answered('list of cameras', reader.cameras(day, 1))) ?? []) {
      this.compare(counts, counterOf(cameraId, 'day'), this.#isClosed ? sumOf([tally]) : tally, 1);
    }
    // The service does not answer these.
    for (const counter of counts.names()) this.compare(counts, counter, EMPTY_TALLY, 0);
    const seen = await this.answered('last seen', reader.lastMinutes(day, 1));
    for (const [cameraId, last] of seen === undefined ? [] : this.#cameras) {
      const answered = seen?.get(cameraId);
      if (last !== undefined)
        this.compareNumber(`${cameraId}: last seen ${clockOf(last)}`, Number(answered === last), 1);
      else if (answered !== undefined) this.compareNumber(`${cameraId}: last seen ${clockOf(answered)}`, 1, 0);
    }
  }
}

/** `08:15:00` */
const clockOf = (instant: Instant): string => formatInstant(instant).slice('2026-11-21T'.length, -'+00:00'.length);
