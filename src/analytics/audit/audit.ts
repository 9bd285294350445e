import pLimit from 'p-limit';

import { isDamage } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { contributionOf, type EventMessage } from '../model/camera-event.ts';
import { type Day, endOfDay, type Hour, HOURS, MICROSECONDS, minuteOfDay, startOfDay } from '../model/day.ts';
import { formatInstant, type Instant, instantFrom } from '../model/instant.ts';
import { type Period, startOfMinute } from '../model/period.ts';
import { type DayTally, EMPTY_TALLY, growingDayTally, growingTally, sumOf, type Tally } from '../model/tally.ts';
import { Reader } from '../read/reader.ts';
import type { Seal } from '../rows/day-row.ts';
import { eventPages, type UnreadableRow } from '../rows/event-row.ts';
import { dayPartitions, eventsOfHour } from '../rows/keys.ts';
import { readSeal, type ShardSeal } from '../rows/seal.ts';
import { ByteReader, readTallyBytes, writeCount, writeTally } from '../rows/properties.ts';

/** A number of an answer that differs from the count, or an answer that a damaged row prevents. */
export type Difference =
  | { readonly name: string; readonly answered: number; readonly counted: number }
  | { readonly name: string; readonly damage: string };

/** The result of an audit of a day. */
export interface AuditReport {
  readonly day: Day;
  /** `closed`: its counters were compared with one another. `rebuilding`: a rebuild is running, or was stopped. */
  readonly sealed: Seal | undefined;
  /** False: the day was written meanwhile, so its events and its answers may be of different moments. */
  readonly isStill: boolean;
  readonly events: number;
  /** How many event rows cannot be decoded. */
  readonly unreadable: number;
  /** The first of them: each with its key and its damage. */
  readonly unreadableRows: readonly string[];
  /** How many numbers were compared, and how many of them differ. */
  readonly compared: number;
  readonly differing: number;
  /** The first differences. */
  readonly differences: readonly Difference[];
}

/** More differences or unreadable rows are only counted: a damaged day may have millions. */
const MOST_LISTED = 1_000;

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
    for (const partition of sealed === 'closed' ? [] : partitions) {
      for await (const page of eventPages(table, partition, eventsOfHour(hour))) {
        for (const row of page.unreadable) audit.noteUnreadable(row);
        for (const event of page.events) audit.count(event);
      }
    }
    await audit.compareHour(hour);
  }
  await audit.compareDay();
  const isStill = versionsOf(before) === versionsOf(await readSeals());
  const { events, unreadable, unreadableRows, compared, differing, differences } = audit;
  return { day, sealed, isStill, events, unreadable, unreadableRows, compared, differing, differences };
};

/** The versions that change with every commit to the shards of a day. */
const versionsOf = (seals: readonly ShardSeal[]): string =>
  seals.flatMap(({ rows }) => Array.from(rows.values(), ({ etag }) => etag)).join(' ');

type Sum = ReturnType<typeof growingTally>;

/** The count of a camera on the day. */
interface CameraDay {
  readonly id: string;
  readonly tally: Sum;
  /** Counted from its events; on a closed day, the answer of the service. */
  readonly accuracy: ReturnType<typeof growingDayTally>;
  /** The start of its last minute with events; undefined: it sent no event. */
  last: Instant | undefined;
  /** Its minutes of the current hour, each number one byte of their stored form: a network has too many of them for objects. */
  minutes: number[];
}

/** The count of all cameras in a minute. */
interface MinuteCount {
  readonly tally: Sum;
  readonly activeCameras: string[];
}

/** Counts events, asks the service, and compares. */
class DayAudit {
  events = 0;
  unreadable = 0;
  readonly unreadableRows: string[] = [];
  compared = 0;
  differing = 0;
  readonly differences: Difference[] = [];
  readonly #reader: Reader;
  readonly #day: Day;
  readonly #isClosed: boolean;
  readonly #limit = pLimit(PARALLEL_QUESTIONS);
  /** The cameras as the service lists them; undefined: a damaged row prevents the answer. */
  #listed: ReadonlyMap<string, DayTally> | undefined;
  /** The cameras that sent events or are listed. */
  readonly #cameras = new Map<string, CameraDay>();
  /** The counts of the current hour, by the start of the minute. */
  readonly #minutes = new Map<Instant, MinuteCount>();
  /** The tallies of a minute whose events are being read, by camera. */
  #open = { minute: undefined as Instant | undefined, tallies: new Map<CameraDay, Sum>() };
  /** The categories that the bytes of minutes name by their indexes. */
  readonly #categories = new Map<string, number>();

  constructor(reader: Reader, day: Day, isClosed: boolean) {
    this.#reader = reader;
    this.#day = day;
    this.#isClosed = isClosed;
  }

  /** A camera with a row and without events is compared, too. */
  async listCameras(): Promise<void> {
    await this.#ask('list of cameras', this.#reader.cameras(this.#day, 1), (cameras) => {
      this.#listed = new Map(cameras.map(({ cameraId, tally }) => [cameraId, tally]));
      for (const [id, tally] of this.#listed) this.#camera(id).accuracy.add(this.#isClosed ? tally : EMPTY_TALLY);
    });
  }

  /** Keeps no whole row: it may have hundreds of kilobytes. */
  noteUnreadable({ row: { partitionKey, rowKey }, damage }: UnreadableRow): void {
    this.unreadable += 1;
    if (this.unreadableRows.length < MOST_LISTED) this.unreadableRows.push(`${partitionKey} ${rowKey}: ${damage}`);
  }

  count({ ts, cameraId, facets }: EventMessage): void {
    const [camera, contribution] = [this.#camera(cameraId), contributionOf(facets)];
    this.#add(startOfMinute(ts), camera, contribution);
    camera.accuracy.add(contribution);
  }

  /** Compares the answers about an hour with its counts, and forgets the counts of its minutes. */
  async compareHour(hour: Hour): Promise<void> {
    const start = instantFrom(startOfDay(this.#day) + BigInt(hour) * MICROSECONDS.hour);
    const period = { start, end: instantFrom(start + MICROSECONDS.hour - 1n) };
    this.#endMinute();
    await this.#limit.map([...this.#cameras.values()], async (camera) => this.#compareMinutesOf(camera, period));
    this.#endMinute();
    await this.#ask(`all cameras, minutes of ${clockOf(start)}`, this.#reader.series(period, 'minute'), (answered) => {
      for (const minute of answered) {
        const { start: at } = minute.period;
        const counted = this.#minutes.get(at);
        const numbers = counted ? numbersOf(counted.tally, counted.activeCameras) : NO_NUMBERS;
        this.#compare(`all cameras, minute ${clockOf(at)}`, numbers, numbersOf(minute.tally, minute.cameras()));
      }
    });
    const counts = [...this.#minutes.values()];
    this.#minutes.clear();
    const active = new Set(counts.flatMap(({ activeCameras }) => activeCameras));
    const sum = sumOf(counts.map(({ tally }) => tally));
    await this.#compareActivity(`hour ${clockOf(start)}`, period, numbersOf(sum, active));
  }

  /** Compares the answers about the day. */
  async compareDay(): Promise<void> {
    const [reader, day, counted] = [this.#reader, this.#day, [...this.#cameras]];
    const tally = sumOf(counted.map(([, camera]) => camera.tally));
    this.events = tally.events;
    const last = new Map(counted.flatMap(([id, camera]) => (camera.last === undefined ? [] : [[id, camera.last]])));
    const whole = { start: startOfDay(day), end: endOfDay(day) };
    await this.#compareActivity('day', whole, numbersOf(tally, last.keys()));
    const accuracy = sumOf(counted.map(([, camera]) => camera.accuracy));
    await this.#ask('accuracy', reader.accuracy(day, 1), (answered) =>
      this.#compare('accuracy', numbersOf(tally, 0, accuracy), numbersOf(answered, 0, answered)),
    );
    await this.#ask('last seen', reader.lastMinutes(day, 1), (seen) =>
      this.#compare('last seen', lastNumbers(last), lastNumbers(seen)),
    );
    for (const [id, camera] of this.#listed ? counted : []) {
      const answered = this.#listed?.get(id);
      const count = numbersOf(camera.tally, last.has(id) ? 1 : 0, camera.accuracy);
      this.#compare(`${id}, day`, count, answered ? numbersOf(answered, 1, answered) : NO_NUMBERS);
    }
  }

  async #compareActivity(name: string, period: Period, counted: Numbers): Promise<void> {
    await this.#ask(`all cameras, ${name}`, this.#reader.activity(period), (answered) =>
      this.#compare(`all cameras, ${name}`, counted, numbersOf(answered.tally, answered.cameras())),
    );
  }

  /** Compares the minutes of a camera in an hour. On a closed day they are the counts. */
  async #compareMinutesOf(camera: CameraDay, hour: Period): Promise<void> {
    const counted = this.#takeMinutes(camera);
    const asking = this.#reader.series(hour, 'minute', camera.id);
    await this.#ask(`${camera.id}, minutes of ${clockOf(hour.start)}`, asking, (steps) => {
      for (const step of steps) {
        const {
          period: { start },
          tally,
        } = step;
        const activeCameras = step.cameras().size;
        if (this.#isClosed) {
          if (activeCameras > 0) this.#add(start, camera, tally);
          continue;
        }
        const count = counted.get(minuteOfDay(start));
        const numbers = count ? numbersOf(count, 1) : NO_NUMBERS;
        this.#compare(`${camera.id}, minute ${clockOf(start)}`, numbers, numbersOf(tally, activeCameras));
      }
    });
  }

  #camera(id: string): CameraDay {
    let camera = this.#cameras.get(id);
    if (camera === undefined) {
      camera = { id, tally: growingTally(), accuracy: growingDayTally(), last: undefined, minutes: [] };
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
      writeCount(camera.minutes, minuteOfDay(minute));
      writeTally(camera.minutes, tally, this.#categories);
    }
  }

  /** The tallies of the current hour of a camera, by minute of the day; they are forgotten. */
  #takeMinutes(camera: CameraDay): ReadonlyMap<number, Tally> {
    const reader = new ByteReader(Uint8Array.from(camera.minutes));
    camera.minutes = [];
    const counted = new Map<number, Sum>();
    const categories = [...this.#categories.keys()];
    while (!reader.done) {
      const minute = reader.count();
      const sum = counted.get(minute) ?? growingTally();
      counted.set(minute, sum.add(readTallyBytes(reader, categories) ?? EMPTY_TALLY));
    }
    return counted;
  }

  /** Passes the answer of the service on. If a damaged row prevents it, this is a difference. */
  async #ask<Answer>(question: string, asking: Promise<Answer>, take: (answer: Answer) => void): Promise<void> {
    try {
      take(await asking);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#note({ name: question, damage: error.message });
    }
  }

  /** @param counter its name, such as `ridge-04, minute 08:15:00` */
  #compare(counter: string, counted: Numbers, answered: Numbers): void {
    for (const name of new Set([...counted.keys(), ...answered.keys()])) {
      const [is, should] = [answered.get(name) ?? 0, counted.get(name) ?? 0];
      this.compared += 1;
      if (is !== should) this.#note({ name: `${counter}: ${name}`, answered: is, counted: should });
    }
  }

  #note(difference: Difference): void {
    this.differing += 1;
    if (this.differences.length < MOST_LISTED) this.differences.push(difference);
  }
}

/** Numbers by their names, as answers name them. A missing number is 0. */
type Numbers = ReadonlyMap<string, number>;

const NO_NUMBERS: Numbers = new Map();

/** When each camera was last seen, as numbers: `ridge-04 at 08:15:00` is 1. */
const lastNumbers = (last: Iterable<readonly [cameraId: string, minute: Instant]>): Numbers =>
  new Map(Array.from(last, ([id, minute]) => [`${id} at ${clockOf(minute)}`, 1]));

/**
 * The numbers of an answer that are not 0.
 *
 * @param activeCameras their ids, or the number of cameras
 * @param accuracy a tally with the figures of accuracy, if the answer has them
 */
const numbersOf = (
  tally: Tally,
  activeCameras: Iterable<string> | number,
  accuracy: DayTally = EMPTY_TALLY,
): Numbers => {
  const numbers: [name: string, value: number][] = [
    ['total_events', tally.events],
    ['reviewed_total_events', tally.reviewed],
    ['annotated_total_events', tally.annotated],
  ];
  if (typeof activeCameras === 'number') numbers.push(['active_cameras', activeCameras]);
  else for (const id of activeCameras) numbers.push([`active camera ${id}`, 1]);
  for (const [category, { detections, reviewed, annotations }] of tally.categories) {
    numbers.push(
      [`counts_per_category.${category}`, detections],
      [`reviewed_counts_per_category.${category}`, reviewed],
      [`annotated_counts_per_category.${category}`, annotations],
    );
  }
  for (const [category, { flagged, confirmed }] of accuracy.categories) {
    numbers.push([`flagged.${category}`, flagged], [`confirmed.${category}`, confirmed]);
  }
  return new Map(numbers.filter(([, value]) => value !== 0));
};

/** `08:15:00` */
const clockOf = (instant: Instant): string => formatInstant(instant).slice('2026-11-21T'.length, -'+00:00'.length);
