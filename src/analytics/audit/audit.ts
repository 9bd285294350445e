import pLimit from 'p-limit';

import type { Table } from '../../storage/table.ts';
import { contributionOf } from '../model/camera-event.ts';
import { type Day, endOfDay, type Hour, HOURS, MICROSECONDS, minuteOfDay, startOfDay } from '../model/day.ts';
import { formatInstant, type Instant, instantFrom } from '../model/instant.ts';
import { type Period, startOfMinute } from '../model/period.ts';
import {
  type DayTally,
  EMPTY_TALLY,
  growingDayTally,
  growingTally,
  sumOf,
  sumOfDays,
  type Tally,
} from '../model/tally.ts';
import { Reader, type StepActivity } from '../read/reader.ts';
import type { Seal } from '../rows/day-row.ts';
import type { UnreadableRow } from '../rows/decoded-pages.ts';
import { dayPartitions, eventsOfHour } from '../rows/keys.ts';
import { readSeal, type ShardSeal } from '../rows/seal.ts';
import { ByteReader, ByteWriter, readTallyBytes, writeTally } from '../rows/tally-bytes.ts';
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
  readonly id: string;
  readonly tally: Sum;
  /** Of its events; of a closed day, as the service answers it. */
  readonly accuracy: ReturnType<typeof growingDayTally>;
  /** The start of its last minute with events; undefined: it sent no event. */
  last: Instant | undefined;
  /** Its minutes of the current hour. In bytes: a network has too many of them for objects. */
  minutes: ByteWriter;
}

/** The count of all cameras in a minute. */
interface MinuteCount {
  readonly tally: Sum;
  readonly activeCameras: string[];
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
  /** The counts of the current hour, by the start of the minute. */
  #minutes = new Map<Instant, MinuteCount>();
  /** The tallies of a minute whose events are being read, by camera. */
  #open = { minute: undefined as Instant | undefined, tallies: new Map<CameraDay, Sum>() };
  /** The categories that the bytes of minutes name by their indexes. */
  readonly #categories = new Map<string, number>();

  constructor(reader: Reader, day: Day, isClosed: boolean) {
    super();
    this.#reader = reader;
    this.#day = day;
    this.#isClosed = isClosed;
  }

  get events(): number {
    return sumOf(Array.from(this.#cameras.values(), ({ tally }) => tally)).events;
  }

  /** The audit asks also for a camera that has a row and no event. */
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
        const [camera, contribution] = [this.#camera(cameraId), contributionOf(facets)];
        this.#add(startOfMinute(ts), camera, contribution);
        camera.accuracy.add(contribution);
      }
    }
  }

  /** Counts the minutes that the service answers for each camera in an hour of a closed day. */
  async countMinutes(hour: Hour): Promise<void> {
    await this.#limit.map([...this.#cameras.values()], async (camera) => {
      for (const { period, tally, activeCameras } of await this.#answeredMinutes(camera.id, hour)) {
        if (activeCameras > 0) this.#add(period.start, camera, tally);
      }
    });
  }

  #camera(id: string): CameraDay {
    let camera = this.#cameras.get(id);
    if (camera === undefined) {
      camera = { id, tally: growingTally(), accuracy: growingDayTally(), last: undefined, minutes: new ByteWriter() };
      this.#cameras.set(id, camera);
    }
    return camera;
  }

  /** Event rows come minute by minute: only one minute is open. */
  #add(minute: Instant, camera: CameraDay, tally: Tally): void {
    if (this.#open.minute !== minute) this.#endMinute(minute);
    const { tallies } = this.#open;
    const sum = tallies.get(camera) ?? growingTally();
    tallies.set(camera, sum.add(tally));
  }

  #endMinute(next?: Instant): void {
    const { minute, tallies } = this.#open;
    this.#open = { minute: next, tallies: new Map() };
    if (minute === undefined) return;
    const { tally: ofAll, activeCameras } = this.#minutes.get(minute) ?? { tally: growingTally(), activeCameras: [] };
    this.#minutes.set(minute, { tally: ofAll, activeCameras });
    for (const [camera, tally] of tallies) {
      ofAll.add(tally);
      activeCameras.push(camera.id);
      camera.tally.add(tally);
      if (camera.last === undefined || camera.last < minute) camera.last = minute;
      for (const category of tally.categories.keys()) {
        if (!this.#categories.has(category)) this.#categories.set(category, this.#categories.size);
      }
      camera.minutes.count(minuteOfDay(minute));
      writeTally(camera.minutes, tally, this.#categories);
    }
  }

  /** Compares the answers about an hour with its counts, and forgets these. */
  async compareHour(hour: Hour): Promise<void> {
    this.#endMinute();
    const minutes = this.#minutes;
    this.#minutes = new Map();
    const period = this.#periodOf(hour);
    const counts = [...minutes.values()];
    const active = new Set(counts.flatMap(({ activeCameras }) => activeCameras));
    await this.#compareActivity(
      `hour ${clockOf(period.start)}`,
      period,
      numbersOf(sumOf(counts.map(({ tally }) => tally)), [...active]),
    );
    const answered = await this.answered(this.#minutesOf('all cameras', hour), this.#reader.minutes(period));
    for (const ofMinute of answered ?? []) {
      const { start } = ofMinute.period;
      const counted = minutes.get(start);
      const numbers = counted ? numbersOf(counted.tally, counted.activeCameras) : NO_NUMBERS;
      this.compare(`all cameras, minute ${clockOf(start)}`, numbers, numbersOf(ofMinute.tally, ofMinute.activeCameras));
    }
    await this.#limit.map([...this.#cameras.values()], async (camera) => {
      const bytes = camera.minutes.bytes();
      camera.minutes = new ByteWriter();
      // The minutes of each camera of a closed day are the counts.
      if (!this.#isClosed) await this.#compareMinutes(camera.id, hour, bytes);
    });
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

  /** @param bytes the minutes of the camera that were counted */
  async #compareMinutes(cameraId: string, hour: Hour, bytes: Uint8Array): Promise<void> {
    const counted = new Map<number, Sum>();
    const categories = [...this.#categories.keys()];
    for (const reader = new ByteReader(bytes); !reader.done;) {
      const minute = reader.count();
      const sum = counted.get(minute) ?? growingTally();
      counted.set(minute, sum.add(readTallyBytes(reader, categories) ?? EMPTY_TALLY));
    }
    for (const { period, tally, activeCameras } of await this.#answeredMinutes(cameraId, hour)) {
      const count = counted.get(minuteOfDay(period.start));
      const numbers = count ? numbersOf(count, 1) : NO_NUMBERS;
      this.compare(`${cameraId}, minute ${clockOf(period.start)}`, numbers, numbersOf(tally, activeCameras));
    }
  }

  async #answeredMinutes(cameraId: string, hour: Hour): Promise<readonly StepActivity[]> {
    const asking = this.#reader.series(this.#periodOf(hour), 'minute', cameraId);
    return (await this.answered(this.#minutesOf(cameraId, hour), asking)) ?? [];
  }

  #minutesOf(name: string, hour: Hour): string {
    return `${name}, minutes of ${clockOf(this.#periodOf(hour).start)}`;
  }

  #periodOf(hour: Hour): Period {
    const start = instantFrom(startOfDay(this.#day) + BigInt(hour) * MICROSECONDS.hour);
    return { start, end: instantFrom(start + MICROSECONDS.hour - 1n) };
  }
}

/** When each camera was last seen, as numbers: `ridge-04 at 08:15:00` is 1. */
const lastNumbers = (last: Iterable<readonly [cameraId: string, minute: Instant]>): Numbers =>
  new Map(Array.from(last, ([id, minute]) => [`${id} at ${clockOf(minute)}`, 1]));

/** `08:15:00` */
const clockOf = (instant: Instant): string => formatInstant(instant).slice('2026-11-21T'.length, -'+00:00'.length);
