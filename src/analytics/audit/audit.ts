import pLimit from 'p-limit';

import type { Table } from '../../storage/table.ts';
import { contributionOf } from '../model/camera-event.ts';
import { type Day, endOfDay, type Hour, HOURS, MICROSECONDS, startOfDay } from '../model/day.ts';
import { formatInstant, type Instant, instantFrom } from '../model/instant.ts';
import { type Period, startOfMinute } from '../model/period.ts';
import { growingDayTally, growingTally, sumOf, sumOfDays, type Tally } from '../model/tally.ts';
import { Reader } from '../read/reader.ts';
import type { Seal } from '../rows/day-row.ts';
import type { UnreadableRow } from '../rows/decoded-pages.ts';
import { eventsOfHour, shardPartition } from '../rows/keys.ts';
import { readSeal, type ShardSeal } from '../rows/seal.ts';
import { Comparison, type Numbers, numbersOf, numbersOfAll } from './comparison.ts';
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

/** What was counted of a camera on the day. */
interface CameraDay {
  /** What its events say, with the figures of accuracy; of a closed day, what its day says. */
  readonly tally: ReturnType<typeof growingDayTally>;
  /** The sum of its minutes. */
  readonly minutes: ReturnType<typeof growingTally>;
  /** The start of its last minute with events; undefined: it has none. */
  last: Instant | undefined;
}

class DayAudit extends Comparison {
  readonly #reader: Reader;
  readonly #day: Day;
  readonly #isClosed: boolean;
  readonly #limit = pLimit(PARALLEL_QUESTIONS);
  readonly #cameras = new Map<string, CameraDay>();
  /** What was counted in the current hour: by camera, the tallies of its minutes by their starts. */
  #hour = new Map<string, Map<Instant, ReturnType<typeof growingTally>>>();

  constructor(reader: Reader, day: Day, isClosed: boolean) {
    super();
    this.#reader = reader;
    this.#day = day;
    this.#isClosed = isClosed;
  }

  get events(): number {
    return this.#total().events;
  }

  #total(): Tally {
    return sumOf(Array.from(this.#cameras.values(), ({ minutes }) => minutes));
  }

  /** Finds the cameras that the service knows: a camera with a row and no event is asked about as well. */
  async findCameras(): Promise<void> {
    const cameras = await this.answered('list of cameras', this.#reader.cameras(this.#day, 1));
    for (const { cameraId, tally } of cameras ?? []) {
      const camera = this.#camera(cameraId);
      if (this.#isClosed) camera.tally.add(tally);
    }
  }

  /** Counts the events of a shard in an hour. @returns the rows that cannot be decoded */
  async countEvents(table: Table, partition: string, hour: Hour): Promise<readonly UnreadableRow[]> {
    const unreadable: UnreadableRow[] = [];
    for await (const page of eventPages(table, partition, this.#day, eventsOfHour(hour))) {
      unreadable.push(...page.unreadable);
      for (const { cameraId, ts, facets } of page.decoded) {
        const contribution = contributionOf(facets);
        this.#camera(cameraId).tally.add(contribution);
        this.#count(cameraId, startOfMinute(ts), contribution);
      }
    }
    return unreadable;
  }

  /** Counts what the service answers about the minutes of each camera in an hour of a closed day. */
  async countMinutes(hour: Hour): Promise<void> {
    const period = this.#periodOf(hour);
    await this.#limit.map([...this.#cameras.keys()], async (cameraId) => {
      const asking = this.#reader.series(period, 'minute', cameraId);
      const steps = await this.answered(`${cameraId}, minutes of ${clockOf(period.start)}`, asking);
      for (const step of steps ?? []) {
        if (step.activeCameras > 0) this.#count(cameraId, step.period.start, step.tally);
      }
    });
  }

  #camera(cameraId: string): CameraDay {
    const known = this.#cameras.get(cameraId);
    if (known !== undefined) return known;
    const camera = { tally: growingDayTally(), minutes: growingTally(), last: undefined };
    this.#cameras.set(cameraId, camera);
    return camera;
  }

  #count(cameraId: string, minute: Instant, tally: Tally): void {
    const camera = this.#camera(cameraId);
    camera.minutes.add(tally);
    if (camera.last === undefined || camera.last < minute) camera.last = minute;
    const minutes = this.#hour.get(cameraId) ?? new Map<Instant, ReturnType<typeof growingTally>>();
    minutes.set(minute, (minutes.get(minute) ?? growingTally()).add(tally));
    this.#hour.set(cameraId, minutes);
  }

  #periodOf(hour: Hour): Period {
    const start = instantFrom(startOfDay(this.#day) + BigInt(hour) * MICROSECONDS.hour);
    return { start, end: instantFrom(start + MICROSECONDS.hour - 1n) };
  }

  /** Compares the answers about an hour with what was counted in it, and forgets that. */
  async compareHour(hour: Hour): Promise<void> {
    const period = this.#periodOf(hour);
    const counted = this.#hour;
    this.#hour = new Map();
    const ofAll = Map.groupBy(
      [...counted.values()].flatMap((minutes) => [...minutes]),
      ([minute]) => minute,
    );
    const minutes = Array.from(ofAll, ([minute, tallies]) => [minute, tallies.map(([, tally]) => tally)] as const);
    await this.#compareMinutes('all cameras', period, minutes);
    const name = `all cameras, hour ${clockOf(period.start)}`;
    const sum = sumOf(minutes.flatMap(([, tallies]) => tallies));
    await this.#compareActivity(name, period, numbersOf(name, sum, counted.keys()));
    // The minutes of each camera of a closed day are what was counted.
    if (this.#isClosed) return;
    await this.#limit.map([...this.#cameras.keys()], async (cameraId) => {
      const ofCamera = Array.from(counted.get(cameraId) ?? [], ([minute, tally]) => [minute, [tally]] as const);
      await this.#compareMinutes(cameraId, period, ofCamera, cameraId);
    });
  }

  async #compareMinutes(
    who: string,
    period: Period,
    counted: readonly (readonly [minute: Instant, tallies: readonly Tally[]])[],
    cameraId?: string,
  ): Promise<void> {
    const nameOf = (minute: Instant): string => `${who}, minute ${clockOf(minute)}`;
    const asking = this.#reader.series(period, 'minute', cameraId);
    await this.compare(
      `${who}, minutes of ${clockOf(period.start)}`,
      numbersOfAll(counted.map(([minute, tallies]) => numbersOf(nameOf(minute), sumOf(tallies), tallies.length))),
      asking.then((steps) =>
        numbersOfAll(steps.map((step) => numbersOf(nameOf(step.period.start), step.tally, step.activeCameras))),
      ),
    );
  }

  async #compareActivity(name: string, period: Period, counted: Numbers): Promise<void> {
    const asking = this.#reader.activity(period);
    await this.compare(
      name,
      counted,
      asking.then(({ tally, activeCameras }) => numbersOf(name, tally, activeCameras)),
    );
  }

  /** Compares the answers about the day. */
  async compareDay(): Promise<void> {
    const [reader, day] = [this.#reader, this.#day];
    const active = [...this.#cameras].filter(([, { last }]) => last !== undefined);
    const ids = active.map(([id]) => id);
    const whole = { start: startOfDay(day), end: endOfDay(day) };
    await this.#compareActivity('all cameras, day', whole, numbersOf('all cameras, day', this.#total(), ids));
    // The minutes of a closed day have no figures of accuracy: those of the day are compared with those of the cameras.
    const accuracy = sumOfDays(Array.from(this.#cameras.values(), ({ tally }) => tally));
    await this.compare(
      'accuracy',
      numbersOf('accuracy', accuracy, 0),
      reader.accuracy(day, 1).then((tally) => numbersOf('accuracy', tally, 0)),
    );
    const ofCamera = (id: string, tally: Tally): Numbers => numbersOf(`${id}, day`, tally, 1);
    await this.compare(
      'list of cameras',
      numbersOfAll(active.map(([id, { tally, minutes }]) => ofCamera(id, this.#isClosed ? minutes : tally))),
      reader
        .cameras(day, 1)
        .then((all) =>
          numbersOfAll(all.map(({ cameraId, tally }) => ofCamera(cameraId, this.#isClosed ? sumOf([tally]) : tally))),
        ),
    );
    const seen = (times: Iterable<readonly [string, Instant | undefined]>): Numbers =>
      new Map(Array.from(times, ([id, last]) => [`${id}: last seen ${last && clockOf(last)}`, 1]));
    await this.compare(
      'last seen',
      seen(active.map(([id, { last }]) => [id, last])),
      reader.lastMinutes(day, 1).then(seen),
    );
  }
}

/** `08:15:00` */
const clockOf = (instant: Instant): string => formatInstant(instant).slice('2026-11-21T'.length, -'+00:00'.length);
