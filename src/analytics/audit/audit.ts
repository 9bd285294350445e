import pLimit from 'p-limit';

import { isDamage } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { contributionOf, type EventMessage } from '../model/camera-event.ts';
import { type Day, endOfDay, type Hour, HOURS, MICROSECONDS, startOfDay } from '../model/day.ts';
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
import { Reader } from '../read/reader.ts';
import type { Seal } from '../rows/day-row.ts';
import { eventPages, type UnreadableRow } from '../rows/event-row.ts';
import { dayPartitions, eventsOfHour } from '../rows/keys.ts';
import { readSeal, type ShardSeal } from '../rows/seal.ts';

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
  /** Event rows that cannot be decoded. */
  readonly unreadable: readonly UnreadableRow[];
  /** How many numbers were compared, and how many of them differ. */
  readonly compared: number;
  readonly differing: number;
  /** The first differences. */
  readonly differences: readonly Difference[];
}

/** More differences are only counted: a damaged day may have millions. */
const MOST_DIFFERENCES = 1_000;

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
        audit.unreadable.push(...page.unreadable);
        for (const event of page.events) audit.count(event);
      }
    }
    await audit.compareHour(hour);
  }
  await audit.compareDay();
  const isStill = versionsOf(before) === versionsOf(await readSeals());
  const { events, unreadable, compared, differing, differences } = audit;
  return { day, sealed, isStill, events, unreadable, compared, differing, differences };
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

/** Counts events, asks the service, and compares. */
class DayAudit {
  events = 0;
  readonly unreadable: UnreadableRow[] = [];
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
  /** The tallies of the current hour, by the start of the minute and the camera. */
  readonly #minutes = new Map<Instant, Map<string, Sum>>();

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

  count({ ts, cameraId, facets }: EventMessage): void {
    const contribution = contributionOf(facets);
    this.#add(startOfMinute(ts), cameraId, contribution);
    this.#camera(cameraId).accuracy.add(contribution);
  }

  /** Compares the answers about an hour with its counts, and forgets the counts of its minutes. */
  async compareHour(hour: Hour): Promise<void> {
    const start = instantFrom(startOfDay(this.#day) + BigInt(hour) * MICROSECONDS.hour);
    const period = { start, end: instantFrom(start + MICROSECONDS.hour - 1n) };
    await this.#limit.map([...this.#cameras.keys()], async (id) => this.#compareMinutes(period, id));
    await this.#compareMinutes(period);
    const active = new Set<string>();
    const sum = growingTally();
    for (const [minute, tallies] of this.#minutes) {
      for (const [id, tally] of tallies) {
        const camera = this.#camera(id);
        camera.tally.add(tally);
        if (camera.last === undefined || camera.last < minute) camera.last = minute;
        active.add(id);
        sum.add(tally);
      }
    }
    this.#minutes.clear();
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
    const accuracy = sumOfDays(counted.map(([, camera]) => camera.accuracy));
    await this.#ask('accuracy', reader.accuracy(day, 1), (answered) =>
      this.#compare('accuracy', numbersOf(tally, 0, accuracy), numbersOf(answered, 0, answered)),
    );
    await this.#ask('last seen', reader.lastMinutes(day, 1), (seen) =>
      this.#compare('last seen', lastNumbers(last), lastNumbers(seen)),
    );
    for (const [id, camera] of this.#listed ? counted : []) {
      const answered = this.#listed?.get(id);
      const count = numbersOf(camera.tally, last.has(id) ? 1 : 0, camera.accuracy);
      this.#compare(`${id}, day`, count, answered ? numbersOf(answered, 1, answered) : new Map());
    }
  }

  async #compareActivity(name: string, period: Period, counted: Numbers): Promise<void> {
    await this.#ask(`all cameras, ${name}`, this.#reader.activity(period), ({ tally, activeCameras }) =>
      this.#compare(`all cameras, ${name}`, counted, numbersOf(tally, activeCameras)),
    );
  }

  /** Compares the minutes of an hour, of all cameras or one. The minutes of each camera of a closed day are the counts. */
  async #compareMinutes(period: Period, cameraId?: string): Promise<void> {
    const name = cameraId ?? 'all cameras';
    const asking = this.#reader.series(period, 'minute', cameraId);
    await this.#ask(`${name}, minutes of ${clockOf(period.start)}`, asking, (steps) => {
      for (const {
        period: { start },
        tally,
        activeCameras,
      } of steps) {
        if (this.#isClosed && cameraId !== undefined) {
          if (activeCameras > 0) this.#add(start, cameraId, tally);
          continue;
        }
        const counted = [...(this.#minutes.get(start) ?? [])].filter(([id]) => (cameraId ?? id) === id);
        const numbers = numbersOf(sumOf(counted.map(([, each]) => each)), counted.length);
        this.#compare(`${name}, minute ${clockOf(start)}`, numbers, numbersOf(tally, activeCameras));
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
    if (this.differences.length < MOST_DIFFERENCES) this.differences.push(difference);
  }
}

/** Numbers by their names, as answers name them. A missing number is 0. */
type Numbers = ReadonlyMap<string, number>;

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
