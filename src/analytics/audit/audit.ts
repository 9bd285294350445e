import pLimit from 'p-limit';

import type { Table } from '../../storage/table.ts';
import { contributionOf } from '../model/camera-event.ts';
import { type Day, endOfDay, type Hour, HOURS, MICROSECONDS, startOfDay } from '../model/day.ts';
import { formatInstant, type Instant, instantFrom } from '../model/instant.ts';
import { type Period, startOfMinute } from '../model/period.ts';
import { type DayTally, growingDayTally, growingTally, sumOf, sumOfDays } from '../model/tally.ts';
import { Reader } from '../read/reader.ts';
import type { Seal } from '../rows/day-row.ts';
import type { UnreadableRow } from '../rows/decoded-pages.ts';
import { eventsOfHour, shardPartition } from '../rows/keys.ts';
import { readSeal, type ShardSeal } from '../rows/seal.ts';
import { type Activity, Comparison, NO_ACTIVITY } from './comparison.ts';
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

type Sum = ReturnType<typeof growingTally>;

/** The count of a camera on the day. */
interface CameraDay {
  readonly tally: Sum;
  /** With the figures of accuracy: of its events, or of a closed day as the service answers it. */
  readonly accuracy: ReturnType<typeof growingDayTally>;
  /** The start of its last minute with events; undefined: it sent no event. */
  last: Instant | undefined;
}

class DayAudit extends Comparison {
  readonly #reader: Reader;
  readonly #day: Day;
  readonly #isClosed: boolean;
  readonly #limit = pLimit(PARALLEL_QUESTIONS);
  /** The cameras that sent events or have a row. */
  readonly #cameras = new Map<string, CameraDay>();
  /** The tallies of the current hour: by camera and the start of the minute. */
  #minutes = new Map<string, Map<Instant, Sum>>();

  constructor(reader: Reader, day: Day, isClosed: boolean) {
    super();
    this.#reader = reader;
    this.#day = day;
    this.#isClosed = isClosed;
  }

  get events(): number {
    return sumOf(Array.from(this.#cameras.values(), ({ tally }) => tally)).events;
  }

  /** Finds the cameras that the service lists: the audit asks also for a camera that has a row and no event. */
  async findCameras(): Promise<void> {
    const cameras = await this.answered('list of cameras', this.#reader.cameras(this.#day, 1));
    for (const { cameraId, tally } of cameras ?? []) {
      const { accuracy } = this.#camera(cameraId);
      if (this.#isClosed) accuracy.add(tally);
    }
  }

  /** Counts the events of a shard in an hour. @returns the rows that cannot be decoded */
  async countEvents(table: Table, partition: string, hour: Hour): Promise<readonly UnreadableRow[]> {
    const unreadable: UnreadableRow[] = [];
    for await (const page of eventPages(table, partition, this.#day, eventsOfHour(hour))) {
      unreadable.push(...page.unreadable);
      for (const { cameraId, ts, facets } of page.decoded) {
        const contribution = contributionOf(facets);
        this.#minute(cameraId, startOfMinute(ts)).add(contribution);
        this.#camera(cameraId).accuracy.add(contribution);
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
        if (activeCameras > 0) this.#minute(cameraId, minute.start).add(tally);
      }
    });
  }

  #camera(cameraId: string): CameraDay {
    const known = this.#cameras.get(cameraId);
    if (known !== undefined) return known;
    const camera = { tally: growingTally(), accuracy: growingDayTally(), last: undefined };
    this.#cameras.set(cameraId, camera);
    return camera;
  }

  #minute(cameraId: string, start: Instant): Sum {
    const minutes = this.#minutes.get(cameraId) ?? new Map<Instant, Sum>();
    const sum = minutes.get(start) ?? growingTally();
    this.#minutes.set(cameraId, minutes.set(start, sum));
    return sum;
  }

  #periodOf(hour: Hour): Period {
    const start = instantFrom(startOfDay(this.#day) + BigInt(hour) * MICROSECONDS.hour);
    return { start, end: instantFrom(start + MICROSECONDS.hour - 1n) };
  }

  /** Compares the answers about an hour with its counts, and forgets these. */
  async compareHour(hour: Hour): Promise<void> {
    const period = this.#periodOf(hour);
    const counted = this.#minutes;
    this.#minutes = new Map();
    const ofAll = new Map<Instant, { readonly tally: Sum; activeCameras: number }>();
    for (const [cameraId, minutes] of counted) {
      const camera = this.#camera(cameraId);
      for (const [minute, tally] of minutes) {
        const all = ofAll.get(minute) ?? { tally: growingTally(), activeCameras: 0 };
        all.tally.add(tally);
        all.activeCameras += 1;
        ofAll.set(minute, all);
        camera.tally.add(tally);
        if (camera.last === undefined || camera.last < minute) camera.last = minute;
      }
    }
    const tally = sumOf(Array.from(ofAll.values(), (all) => all.tally));
    const activeCameras = [...counted.keys()];
    await this.#compareActivity(`all cameras, hour ${clockOf(period.start)}`, period, { tally, activeCameras });
    await this.#compareMinutes('all cameras', period, (minute) => ofAll.get(minute));
    // The minutes of each camera of a closed day are the counts.
    if (this.#isClosed) return;
    await this.#limit.map([...this.#cameras.keys()], async (cameraId) => {
      const countOf = (minute: Instant): Activity | undefined => {
        const sum = counted.get(cameraId)?.get(minute);
        return sum && { tally: sum, activeCameras: 1 };
      };
      await this.#compareMinutes(cameraId, period, countOf, cameraId);
    });
  }

  async #compareActivity(counter: string, period: Period, counted: Activity): Promise<void> {
    const activity = await this.answered(counter, this.#reader.activity(period));
    if (activity !== undefined) this.compare(counter, counted, activity);
  }

  async #compareMinutes(
    name: string,
    period: Period,
    countOf: (minute: Instant) => Activity | undefined,
    cameraId?: string,
  ): Promise<void> {
    const asking = this.#reader.series(period, 'minute', cameraId);
    for (const step of (await this.answered(`${name}, minutes of ${clockOf(period.start)}`, asking)) ?? []) {
      const { start } = step.period;
      this.compare(`${name}, minute ${clockOf(start)}`, countOf(start) ?? NO_ACTIVITY, step);
    }
  }

  /** Compares the answers about the day. */
  async compareDay(): Promise<void> {
    const [reader, day, counted] = [this.#reader, this.#day, [...this.#cameras]];
    const tally = sumOf(counted.map(([, camera]) => camera.tally));
    const activeCameras = counted.flatMap(([id, { last }]) => (last === undefined ? [] : [id]));
    const whole = { start: startOfDay(day), end: endOfDay(day) };
    await this.#compareActivity('all cameras, day', whole, { tally, activeCameras });
    const accuracy = await this.answered('accuracy', reader.accuracy(day, 1));
    const sum = sumOfDays(counted.map(([, camera]) => camera.accuracy));
    if (accuracy !== undefined) this.compareAccuracy('accuracy', sum, accuracy);
    const listed = await this.answered('list of cameras', reader.cameras(day, 1));
    const tallies = new Map(listed?.map((camera): [string, DayTally] => [camera.cameraId, camera.tally]));
    const seen = await this.answered('last seen', reader.lastMinutes(day, 1));
    for (const [id, camera] of counted) {
      const [counter, answered] = [`${id}, day`, tallies.get(id)];
      const count = { tally: camera.tally, activeCameras: camera.last === undefined ? 0 : 1 };
      if (listed) this.compare(counter, count, answered ? { tally: answered, activeCameras: 1 } : NO_ACTIVITY);
      if (answered) this.compareAccuracy(counter, camera.accuracy, answered);
      const last = seen?.get(id);
      if (seen && last !== camera.last) {
        const at = [last, camera.last].map((minute) => (minute === undefined ? 'never' : clockOf(minute)));
        this.compareNumber(`${id}: last seen ${at.join(', not ')}`, 1, 0);
      }
    }
  }
}

/** `08:15:00` */
const clockOf = (instant: Instant): string => formatInstant(instant).slice('2026-11-21T'.length, -'+00:00'.length);
