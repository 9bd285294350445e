import pLimit from 'p-limit';

import type { Table } from '../../storage/table.ts';
import { contributionOf } from '../model/camera-event.ts';
import { type Day, endOfDay, type Hour, HOURS, MICROSECONDS, offsetIn, startOfDay } from '../model/day.ts';
import { formatInstant, type Instant, instantFrom } from '../model/instant.ts';
import type { Period } from '../model/period.ts';
import { growingDayTally, growingTally, sumOf, sumOfDays, type Tally } from '../model/tally.ts';
import { Reader } from '../read/reader.ts';
import type { Seal } from '../rows/day-row.ts';
import type { UnreadableRow } from '../rows/decoded-pages.ts';
import { eventsOfHour, shardPartition } from '../rows/keys.ts';
import { readSeal, type ShardSeal } from '../rows/seal.ts';
import { accuracyFactsOf, type Answers, Comparison, type Difference, type Facts, factsOf } from './comparison.ts';
import { eventPages } from './stored-events.ts';

/** What an audit of a day found. */
export interface AuditReport {
  readonly day: Day;
  /** `closed`: its counters were compared with one another. `rebuilding`: a rebuild is running, or was stopped. */
  readonly sealed: Seal | undefined;
  /** False: the day was written meanwhile, so its events and its answers may be of different moments. */
  readonly isStill: boolean;
  readonly events: number;
  /** How many answers were compared. */
  readonly answers: number;
  /** How many of them differ, and the first of these. */
  readonly differing: number;
  readonly differences: readonly Difference[];
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
  const { events, answers, differing, differences } = audit;
  return { day, sealed, isStill, events, answers, differing, differences, unreadable };
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
  /** The start of its last minute with events. */
  last: Instant | undefined;
}

/** The tallies of some minutes, by their starts. */
type Minutes = Map<Instant, ReturnType<typeof growingTally>>;

class DayAudit extends Comparison {
  readonly #reader: Reader;
  readonly #day: Day;
  readonly #isClosed: boolean;
  readonly #limit = pLimit(PARALLEL_QUESTIONS);
  readonly #cameras = new Map<string, CameraDay>();
  /** What was counted in the current hour, by camera. */
  #hour = new Map<string, Minutes>();

  constructor(reader: Reader, day: Day, isClosed: boolean) {
    super();
    this.#reader = reader;
    this.#day = day;
    this.#isClosed = isClosed;
  }

  get events(): number {
    return this.#total.events;
  }

  get #total(): Tally {
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
        this.#count(cameraId, instantFrom(ts - offsetIn(ts, MICROSECONDS.minute)), contribution);
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

  #count(cameraId: string, minute: Instant, tally: Tally): void {
    const camera = this.#camera(cameraId);
    camera.minutes.add(tally);
    if (camera.last === undefined || camera.last < minute) camera.last = minute;
    const minutes: Minutes = this.#hour.get(cameraId) ?? new Map();
    minutes.set(minute, (minutes.get(minute) ?? growingTally()).add(tally));
    this.#hour.set(cameraId, minutes);
  }

  #camera(cameraId: string): CameraDay {
    const known = this.#cameras.get(cameraId);
    if (known !== undefined) return known;
    const camera = { tally: growingDayTally(), minutes: growingTally(), last: undefined };
    this.#cameras.set(cameraId, camera);
    return camera;
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
    const ofAll = new Map<Instant, Tally[]>();
    for (const minutes of counted.values()) {
      for (const [minute, tally] of minutes) ofAll.set(minute, [...(ofAll.get(minute) ?? []), tally]);
    }
    await this.#compareMinutes(
      period,
      new Map(Array.from(ofAll, ([minute, some]) => [minute, factsOf(sumOf(some), some.length)])),
    );
    await this.#compareOne(
      `all cameras, hour ${clockOf(period.start)}`,
      factsOf(sumOf([...ofAll.values()].flat()), counted.keys()),
      async () => {
        const { tally, activeCameras } = await this.#reader.activity(period);
        return factsOf(tally, activeCameras);
      },
    );
    // The minutes of each camera of a closed day are what was counted.
    if (this.#isClosed) return;
    await this.#limit.map([...this.#cameras.keys()], async (cameraId) => {
      const minutes = counted.get(cameraId) ?? new Map();
      await this.#compareMinutes(
        period,
        new Map(Array.from(minutes, ([minute, tally]) => [minute, factsOf(tally, 1)])),
        cameraId,
      );
    });
  }

  async #compareMinutes(period: Period, counted: ReadonlyMap<Instant, Facts>, cameraId?: string): Promise<void> {
    const who = cameraId ?? 'all cameras';
    const nameOf = (minute: Instant): string => `${who}, minute ${clockOf(minute)}`;
    const asking = this.#reader
      .series(period, 'minute', cameraId)
      .then(
        (steps) => new Map(steps.map((step) => [nameOf(step.period.start), factsOf(step.tally, step.activeCameras)])),
      );
    await this.compare(
      `${who}, minutes of ${clockOf(period.start)}`,
      new Map(Array.from(counted, ([minute, facts]) => [nameOf(minute), facts])),
      asking,
    );
  }

  async #compareOne(counter: string, counted: Facts, ask: () => Promise<Facts>): Promise<void> {
    await this.compare(
      counter,
      new Map([[counter, counted]]),
      ask().then((answered) => new Map([[counter, answered]])),
    );
  }

  /** Compares the answers about the whole day. */
  async compareDay(): Promise<void> {
    const reader = this.#reader;
    const [day, cameras] = [this.#day, [...this.#cameras]];
    const active = cameras.filter(([, { last }]) => last !== undefined);
    await this.#compareOne(
      'all cameras, day',
      factsOf(
        this.#total,
        active.map(([id]) => id),
      ),
      async () => {
        const { tally, activeCameras } = await reader.activity({ start: startOfDay(day), end: endOfDay(day) });
        return factsOf(tally, activeCameras);
      },
    );
    await this.#compareOne('accuracy', accuracyFactsOf(sumOfDays(cameras.map(([, { tally }]) => tally))), async () =>
      accuracyFactsOf(await reader.accuracy(day, 1)),
    );
    const ofCamera = (id: string) => `${id}, day`;
    await this.compare(
      'list of cameras',
      new Map(
        active.map(([id, { minutes, tally }]) => [
          ofCamera(id),
          new Map([...factsOf(minutes, 1), ...accuracyFactsOf(tally)]),
        ]),
      ),
      reader
        .cameras(day, 1)
        .then(
          (all) =>
            new Map(
              all.map(({ cameraId, tally }) => [
                ofCamera(cameraId),
                new Map([...factsOf(tally, 1), ...accuracyFactsOf(tally)]),
              ]),
            ),
        ),
    );
    const seen = (times: Iterable<readonly [string, Instant]>): Answers =>
      new Map(Array.from(times, ([id, minute]) => [`${id}, last seen`, new Map([[clockOf(minute), 1]])]));
    const lastMinutes = cameras.flatMap(([id, { last }]) => (last === undefined ? [] : [[id, last] as const]));
    await this.compare('last seen', seen(lastMinutes), reader.lastMinutes(day, 1).then(seen));
  }
}

const clockOf = (instant: Instant): string => formatInstant(instant).slice('2026-11-21T'.length, -'+00:00'.length);
