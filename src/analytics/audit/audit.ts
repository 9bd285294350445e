import pLimit from 'p-limit';

import { DamagedRow } from '../../storage/errors.ts';
import type { Table } from '../../storage/table.ts';
import { contributionOf, type EventMessage } from '../model/camera-event.ts';
import { type Day, endOfDay, type Hour, HOURS, MICROSECONDS, startOfDay } from '../model/day.ts';
import { formatInstant, type Instant, instantFrom } from '../model/instant.ts';
import { type Period, startOfMinute, type Step } from '../model/period.ts';
import type { DayTally, Tally } from '../model/tally.ts';
import type { Activity } from '../read/range-reader.ts';
import { Reader } from '../read/reader.ts';
import type { Seal } from '../rows/day-row.ts';
import { eventPages } from '../rows/event-row.ts';
import { dayPartitions, eventsOfHour } from '../rows/keys.ts';
import { readSeal, type ShardSeal } from '../rows/seal.ts';

/** A number of an answer that differs from the count, or an answer that a damaged row prevents. */
export type Difference =
  | { readonly name: string; readonly answered: number; readonly counted: number }
  | { readonly name: string; readonly damage: string };

/** How many items there are, and the first of them: a damaged day may have millions. */
interface FirstOf<Item> {
  count: number;
  readonly first: Item[];
}

/** The result of an audit of a day. */
export interface AuditReport {
  readonly day: Day;
  /** `closed`: its counters were compared with one another. `rebuilding`: a rebuild is running, or was stopped. */
  readonly sealed: Seal | undefined;
  /** False: the day was written meanwhile, so its events and its answers may be of different moments. */
  readonly isStill: boolean;
  readonly events: number;
  /** The event rows that cannot be decoded: the key and the damage of each. */
  readonly unreadable: FirstOf<string>;
  /** How many numbers were compared, without zeros that agree. */
  readonly compared: number;
  readonly differences: FirstOf<Difference>;
}

const MOST_LISTED = 1_000;

const PARALLEL_QUESTIONS = 8;

/**
 * Compares what the service answers about a day with its event rows, hour by hour: it needs the memory of one hour. A closed day has no event
 * rows: its answers are compared with the minutes of each camera. Reads only.
 *
 * @param shards how many shards each day has
 * @throws {StorageTrouble | TableMissing | LaterFormat} there is no report of a part of a day
 * @example const { differences } = await auditDay(table, 1, day); // differences.count is 0 if every answer is right
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
        // Only the key: a whole row may have hundreds of kilobytes.
        for (const { row, damage } of page.unreadable) note(audit.unreadable, `${partition} ${row.rowKey}: ${damage}`);
        for (const event of page.events) audit.countEvent(event);
      }
    }
    await audit.compareHour(hour);
  }
  await audit.compareDay();
  const isStill = versionsOf(before) === versionsOf(await readSeals());
  const { events, unreadable, compared, differences } = audit;
  return { day, sealed, isStill, events, unreadable, compared, differences };
};

/** The versions that change with every commit to the shards of a day. */
const versionsOf = (seals: readonly ShardSeal[]): string => seals.flatMap(({ etags }) => [...etags.values()]).join(' ');

const note = <Item>(list: FirstOf<Item>, item: Item): void => {
  list.count += 1;
  if (list.first.length < MOST_LISTED) list.first.push(item);
};

/** Numbers by their names, as answers name them. A missing number is 0. */
type Numbers = Iterable<readonly [name: string, value: number]>;

/** Counts events, asks the service, and compares. */
class DayAudit {
  events = 0;
  readonly unreadable: FirstOf<string> = { count: 0, first: [] };
  compared = 0;
  readonly differences: FirstOf<Difference> = { count: 0, first: [] };
  readonly #reader: Reader;
  readonly #day: Day;
  readonly #isClosed: boolean;
  readonly #limit = pLimit(PARALLEL_QUESTIONS);
  /** The cameras as the service lists them; undefined: a damaged row prevents the answer. */
  #listed: ReadonlyMap<string, DayTally> | undefined;
  /** The count of the day. */
  readonly #sum = new Map<string, number>();
  /** The count of each camera that sent events or is listed, with the figures of accuracy. */
  readonly #cameras = new Map<string, Map<string, number>>();
  /** The start of the last minute in which each camera sent an event. */
  readonly #last = new Map<string, Instant>();
  /** The counts of the cameras in the current hour, by the start of the minute. */
  readonly #minutes = new Map<Instant, Map<string, Numbers>>();
  /** These counts by their texts. Most of them are equal, and a network has too many for an object each. */
  readonly #known = new Map<string, Numbers>();

  constructor(reader: Reader, day: Day, isClosed: boolean) {
    this.#reader = reader;
    this.#day = day;
    this.#isClosed = isClosed;
  }

  /** A camera with a row and without events is compared, too. */
  async listCameras(): Promise<void> {
    const cameras = await this.#ask('list of cameras', this.#reader.cameras(this.#day, 1));
    this.#listed = cameras && new Map(cameras.map(({ cameraId, tally }) => [cameraId, tally]));
    // The minutes of a closed day do not say how often the AI was right.
    for (const [id, tally] of this.#listed ?? []) add(this.#camera(id), this.#isClosed ? accuracyOf(tally) : []);
  }

  countEvent({ ts, cameraId, facets }: EventMessage): void {
    const contribution = contributionOf(facets);
    this.#count(startOfMinute(ts), cameraId, contribution);
    add(this.#camera(cameraId), accuracyOf(contribution));
  }

  /** Compares the answers about an hour with its counts, and forgets them. On a closed day the answered minutes of each camera are the counts. */
  async compareHour(hour: Hour): Promise<void> {
    const start = instantFrom(startOfDay(this.#day) + BigInt(hour) * MICROSECONDS.hour);
    const period = { start, end: instantFrom(start + MICROSECONDS.hour - 1n) };
    await this.#limit.map([...this.#cameras.keys()], async (id) => {
      for (const answered of await this.#series(period, 'minute', id)) {
        const minute = answered.period.start;
        const counted = this.#minutes.get(minute)?.get(id);
        const numbers = counted ? [...counted, ...activeOf([id])] : [];
        if (!this.#isClosed) this.#compare(`${id}, minute ${clockOf(minute)}`, numbers, activityOf(answered));
        else if (answered.cameras().size > 0) this.#count(minute, id, answered.tally);
      }
    });
    for (const answered of await this.#series(period, 'minute')) {
      const minute = answered.period.start;
      const counted = countIn([this.#minutes.get(minute)]);
      this.#compare(`all cameras, minute ${clockOf(minute)}`, counted, activityOf(answered));
    }
    for (const answered of await this.#series(period, 'hour')) {
      this.#compare(`all cameras, hour ${clockOf(start)}`, countIn(this.#minutes.values()), activityOf(answered));
    }
    this.#minutes.clear();
    this.#known.clear();
  }

  /** Compares the answers about the day. */
  async compareDay(): Promise<void> {
    const [reader, day] = [this.#reader, this.#day];
    const period = { start: startOfDay(day), end: endOfDay(day) };
    for (const answered of await this.#series(period, 'day')) {
      this.#compare('all cameras, day', [...this.#sum, ...activeOf(this.#last.keys())], activityOf(answered));
    }
    const seen = await this.#ask('last seen', reader.lastMinutes(day, 1));
    if (seen) this.#compare('last seen', lastOf(this.#last), lastOf(seen));
    const accuracy = await this.#ask('accuracy', reader.accuracy(day, 1));
    const sum = new Map<string, number>();
    for (const counted of this.#cameras.values()) add(sum, counted);
    if (accuracy) this.#compare('accuracy', sum, [...numbersOf(accuracy), ...accuracyOf(accuracy)]);
    for (const [id, counted] of this.#listed ? this.#cameras : []) {
      const tally = this.#listed?.get(id);
      const answered = tally ? [...numbersOf(tally), ...activeOf([id]), ...accuracyOf(tally)] : [];
      this.#compare(`${id}, day`, [...counted, ...activeOf(this.#last.has(id) ? [id] : [])], answered);
    }
  }

  #camera(id: string): Map<string, number> {
    const sum = this.#cameras.get(id) ?? new Map<string, number>();
    this.#cameras.set(id, sum);
    return sum;
  }

  #count(minute: Instant, id: string, tally: Tally): void {
    const numbers = [...numbersOf(tally)];
    this.events += tally.events;
    add(this.#sum, numbers);
    add(this.#camera(id), numbers);
    if (minute >= (this.#last.get(id) ?? minute)) this.#last.set(id, minute);
    const cameras = this.#minutes.get(minute) ?? new Map<string, Numbers>();
    this.#minutes.set(minute, cameras);
    const sum = [...add(new Map(cameras.get(id)), numbers)];
    const text = JSON.stringify(sum);
    const equal = this.#known.get(text) ?? sum;
    this.#known.set(text, equal);
    cameras.set(id, equal);
  }

  async #series(period: Period, step: Step, id?: string): Promise<readonly Activity[]> {
    const question = `${id ?? 'all cameras'}, by ${step} from ${clockOf(period.start)}`;
    return (await this.#ask(question, this.#reader.series(period, step, id))) ?? [];
  }

  /** The answer of the service. If a damaged row prevents it, this is a difference. */
  async #ask<Answer>(question: string, asking: Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await asking;
    } catch (error) {
      if (!(error instanceof DamagedRow)) throw error;
      note(this.differences, { name: question, damage: error.message });
      return undefined;
    }
  }

  /** @param counter its name, such as `ridge-04, minute 08:15:00` */
  #compare(counter: string, counted: Numbers, answered: Numbers): void {
    const [should, is] = [new Map(counted), new Map(answered)];
    for (const name of new Set([...should.keys(), ...is.keys()])) {
      const numbers = { answered: is.get(name) ?? 0, counted: should.get(name) ?? 0 };
      if (numbers.answered !== 0 || numbers.counted !== 0) this.compared += 1;
      if (numbers.answered !== numbers.counted) note(this.differences, { name: `${counter}: ${name}`, ...numbers });
    }
  }
}

const add = (sum: Map<string, number>, numbers: Numbers): Map<string, number> => {
  for (const [name, value] of numbers) sum.set(name, (sum.get(name) ?? 0) + value);
  return sum;
};

/** The count of all cameras in some minutes. */
const countIn = (minutes: Iterable<ReadonlyMap<string, Numbers> | undefined>): Numbers => {
  const [sum, active] = [new Map<string, number>(), new Set<string>()];
  for (const minute of minutes) {
    for (const [id, numbers] of minute ?? []) {
      add(sum, numbers);
      active.add(id);
    }
  }
  return [...sum, ...activeOf(active)];
};

const activityOf = ({ tally, cameras }: Activity): Numbers => [...numbersOf(tally), ...activeOf(cameras())];

function* numbersOf(tally: Tally): Numbers {
  yield ['total_events', tally.events];
  yield ['reviewed_total_events', tally.reviewed];
  yield ['annotated_total_events', tally.annotated];
  for (const [category, { detections, reviewed, annotations }] of tally.categories) {
    yield [`counts_per_category.${category}`, detections];
    yield [`reviewed_counts_per_category.${category}`, reviewed];
    yield [`annotated_counts_per_category.${category}`, annotations];
  }
}

const activeOf = (cameraIds: Iterable<string>): Numbers => Array.from(cameraIds, (id) => [`active camera ${id}`, 1]);

/** How often the AI was right. */
function* accuracyOf({ categories }: DayTally): Numbers {
  for (const [category, { flagged, confirmed }] of categories) {
    yield [`flagged.${category}`, flagged];
    yield [`confirmed.${category}`, confirmed];
  }
}

/** When each camera was last seen. */
const lastOf = (last: Iterable<readonly [cameraId: string, minute: Instant]>): Numbers =>
  Array.from(last, ([id, minute]) => [`${id} at ${clockOf(minute)}`, 1]);

/** `08:15:00` */
const clockOf = (instant: Instant): string => formatInstant(instant).slice('2026-11-21T'.length, -'+00:00'.length);
