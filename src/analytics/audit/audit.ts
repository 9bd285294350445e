import pLimit from 'p-limit';

import type { Table } from '../../storage/table.ts';
import { contributionOf } from '../model/camera-event.ts';
import { type Day, endOfDay, type Hour, HOURS, MICROSECONDS, startOfDay } from '../model/day.ts';
import { formatInstant, type Instant, instantFrom } from '../model/instant.ts';
import { type Period, startOfMinute } from '../model/period.ts';
import { type DayTally, growingDayTally, growingTally, sumOf, sumOfDays, type Tally } from '../model/tally.ts';
import { Reader } from '../read/reader.ts';
import type { Seal } from '../rows/day-row.ts';
import type { UnreadableRow } from '../rows/decoded-pages.ts';
import { dayPartitions, eventsOfHour } from '../rows/keys.ts';
import { readSeal, type ShardSeal } from '../rows/seal.ts';
import { Comparison, NO_NUMBERS, type Numbers, numbersOf } from './comparison.ts';
import { eventPages } from './stored-events.ts';

/** The result of an audit of a day. */
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
  const partitions = dayPartitions(day, shards);
  const readSeals = async () => Promise.all(partitions.map(async (partition) => readSeal(table, partition)));
  const before = await readSeals();
  const sealed = before.find((seal) => seal.sealed !== undefined)?.sealed;
  const audit = new DayAudit(new Reader(table, shards, { whileRebuilding: true }), day, sealed === 'closed');
  await audit.listCameras();
  for (const hour of HOURS) {
    if (sealed === 'closed') await audit.countMinutes(hour);
    else for (const partition of partitions) await audit.countEvents(table, partition, hour);
    await audit.compareHour(hour);
  }
  await audit.compareDay();
  const isStill = versionsOf(before) === versionsOf(await readSeals());
  const { events, compared, differing, differences, unreadable } = audit;
  return { day, sealed, isStill, events, compared, differing, differences, unreadable };
};

/** The versions that change with every commit to the shards of a day. */
const versionsOf = (seals: readonly ShardSeal[]): string =>
  seals.flatMap(({ rows }) => Array.from(rows.values(), ({ etag }) => etag)).join(' ');

type Sum = ReturnType<typeof growingTally>;

/** The count of a camera on the day. */
interface CameraDay {
  readonly tally: Sum;
  /** Counted from its events; on a closed day, the answer of the service. */
  readonly accuracy: ReturnType<typeof growingDayTally>;
  /** The start of its last minute with events; undefined: it sent no event. */
  last: Instant | undefined;
}

class DayAudit extends Comparison {
  readonly unreadable: UnreadableRow[] = [];
  readonly #reader: Reader;
  readonly #day: Day;
  readonly #isClosed: boolean;
  readonly #limit = pLimit(PARALLEL_QUESTIONS);
  /** The cameras as the service lists them; undefined: a damaged row prevents the answer. */
  #listed: ReadonlyMap<string, DayTally> | undefined;
  /** The cameras that sent events or are listed. */
  readonly #cameras = new Map<string, CameraDay>();
  /** The tallies of the current hour, by the start of the minute and the camera. */
  #minutes = new Map<Instant, Map<string, Sum>>();

  constructor(reader: Reader, day: Day, isClosed: boolean) {
    super();
    this.#reader = reader;
    this.#day = day;
    this.#isClosed = isClosed;
  }

  get events(): number {
    return sumOf(Array.from(this.#cameras.values(), ({ tally }) => tally)).events;
  }

  /** A camera with a row and without events is compared, too. */
  async listCameras(): Promise<void> {
    const cameras = await this.answered('list of cameras', this.#reader.cameras(this.#day, 1));
    this.#listed = cameras && new Map(cameras.map(({ cameraId, tally }) => [cameraId, tally]));
    for (const [id, tally] of this.#listed ?? []) {
      const { accuracy } = this.#camera(id);
      if (this.#isClosed) accuracy.add(tally);
    }
  }

  /** Counts the events of a shard in an hour. */
  async countEvents(table: Table, partition: string, hour: Hour): Promise<void> {
    for await (const page of eventPages(table, partition, this.#day, eventsOfHour(hour))) {
      this.unreadable.push(...page.unreadable);
      for (const { cameraId, ts, facets } of page.decoded) {
        const contribution = contributionOf(facets);
        this.#add(startOfMinute(ts), cameraId, contribution);
        this.#camera(cameraId).accuracy.add(contribution);
      }
    }
  }

  /** Counts the minutes that the service answers for each camera in an hour of a closed day. */
  async countMinutes(hour: Hour): Promise<void> {
    await this.#limit.map([...this.#cameras.keys()], async (id) => {
      for (const { period, tally, activeCameras } of await this.#answeredMinutes(id, hour, id)) {
        if (activeCameras > 0) this.#add(period.start, id, tally);
      }
    });
  }

  #camera(id: string): CameraDay {
    const camera = this.#cameras.get(id) ?? { tally: growingTally(), accuracy: growingDayTally(), last: undefined };
    this.#cameras.set(id, camera);
    return camera;
  }

  #add(minute: Instant, cameraId: string, tally: Tally): void {
    const ofMinute = this.#minutes.get(minute) ?? new Map<string, Sum>();
    const sum = ofMinute.get(cameraId) ?? growingTally();
    this.#minutes.set(minute, ofMinute.set(cameraId, sum.add(tally)));
  }

  /** Compares the answers about an hour with its counts, and forgets the counts. */
  async compareHour(hour: Hour): Promise<void> {
    const minutes = this.#minutes;
    this.#minutes = new Map();
    const active = new Map<string, CameraDay>();
    for (const [minute, tallies] of minutes) {
      for (const [id, tally] of tallies) {
        const camera = this.#camera(id);
        camera.tally.add(tally);
        if (camera.last === undefined || camera.last < minute) camera.last = minute;
        active.set(id, camera);
      }
    }
    const period = this.#periodOf(hour);
    const tally = sumOf([...minutes.values()].flatMap((tallies) => Array.from(tallies.values())));
    await this.#compareActivity(`hour ${clockOf(period.start)}`, period, numbersOf(tally, [...active.keys()]));
    await this.#compareMinutes('all cameras', hour, (minute) => [...(minutes.get(minute)?.values() ?? [])]);
    // The minutes of each camera of a closed day are the counts.
    if (this.#isClosed) return;
    await this.#limit.map([...this.#cameras.keys()], async (id) =>
      this.#compareMinutes(id, hour, (minute) => optional(minutes.get(minute)?.get(id)), id),
    );
  }

  /** Compares the answers about the day. */
  async compareDay(): Promise<void> {
    const [reader, day, counted] = [this.#reader, this.#day, [...this.#cameras]];
    const tally = sumOf(counted.map(([, camera]) => camera.tally));
    const last = counted.flatMap(([id, camera]) => (camera.last === undefined ? [] : [[id, camera.last] as const]));
    const whole = { start: startOfDay(day), end: endOfDay(day) };
    await this.#compareActivity(
      'day',
      whole,
      numbersOf(
        tally,
        last.map(([id]) => id),
      ),
    );
    const sum = sumOfDays(counted.map(([, camera]) => camera.accuracy));
    const accuracy = await this.answered('accuracy', reader.accuracy(day, 1));
    if (accuracy) this.compare('accuracy', numbersOf(tally, 0, sum), numbersOf(accuracy, 0, accuracy));
    const seen = await this.answered('last seen', reader.lastMinutes(day, 1));
    if (seen) this.compare('last seen', lastNumbers(last), lastNumbers(seen));
    for (const [id, camera] of this.#listed ? counted : []) {
      const answered = this.#listed?.get(id);
      const count = numbersOf(camera.tally, camera.last === undefined ? 0 : 1, camera.accuracy);
      this.compare(`${id}, day`, count, answered ? numbersOf(answered, 1, answered) : NO_NUMBERS);
    }
  }

  async #compareActivity(name: string, period: Period, counted: Numbers): Promise<void> {
    const counter = `all cameras, ${name}`;
    const answer = await this.answered(counter, this.#reader.activity(period));
    if (answer) this.compare(counter, counted, numbersOf(answer.tally, answer.activeCameras));
  }

  async #compareMinutes(name: string, hour: Hour, tallies: (minute: Instant) => readonly Tally[], cameraId?: string) {
    for (const { period, tally, activeCameras } of await this.#answeredMinutes(name, hour, cameraId)) {
      const counted = tallies(period.start);
      const counter = `${name}, minute ${clockOf(period.start)}`;
      this.compare(counter, numbersOf(sumOf(counted), counted.length), numbersOf(tally, activeCameras));
    }
  }

  async #answeredMinutes(name: string, hour: Hour, cameraId?: string) {
    const period = this.#periodOf(hour);
    const asking = this.#reader.series(period, 'minute', cameraId);
    return (await this.answered(`${name}, minutes of ${clockOf(period.start)}`, asking)) ?? [];
  }

  #periodOf(hour: Hour): Period {
    const start = instantFrom(startOfDay(this.#day) + BigInt(hour) * MICROSECONDS.hour);
    return { start, end: instantFrom(start + MICROSECONDS.hour - 1n) };
  }
}

/** When each camera was last seen, as numbers: `ridge-04 at 08:15:00` is 1. */
const lastNumbers = (last: Iterable<readonly [cameraId: string, minute: Instant]>): Numbers =>
  new Map(Array.from(last, ([id, minute]) => [`${id} at ${clockOf(minute)}`, 1]));

const optional = <Value>(value: Value | undefined): readonly Value[] => (value === undefined ? [] : [value]);

/** `08:15:00` */
const clockOf = (instant: Instant): string => formatInstant(instant).slice('2026-11-21T'.length, -'+00:00'.length);
