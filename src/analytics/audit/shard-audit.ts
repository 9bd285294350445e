import { setTimeout } from 'node:timers/promises';

import { DamagedRow } from '../../storage/errors.ts';
import type { KeyRange, StoredRow } from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { contributionOf } from '../model/camera-event.ts';
import { dayOf, hourOfMinute, MICROSECONDS, minuteOfDay, startOfDay, type Day } from '../model/day.ts';
import { instantFrom } from '../model/instant.ts';
import { shardOf } from '../model/shard.ts';
import { addTo, EMPTY_TALLY, plus, sumOf, type Tally } from '../model/tally.ts';
import type { StripeNames } from '../read/activity-sum.ts';
import type { BucketDifference, Change, CounterDifferences, SampleDifference } from '../record/counter-differences.ts';
import {
  cameraProperties,
  cameraRowFrom,
  minutesOf,
  type CameraDifference,
  type CameraRow,
} from '../rows/camera-row.ts';
import { eventRowFrom } from '../rows/event-row.ts';
import { bucketsFrom, type Bucket, type HoursRow } from '../rows/hour-rows.ts';
import {
  ALL_CAMERA_LISTS,
  ALL_CAMERAS,
  camerasKey,
  eventsOfHour,
  eventsOfMinute,
  FENCE_KEY,
  hourKey,
  HOURS_AND_HOUR_ROWS,
  HOURS_KEY,
  minutesOfHour,
  parseCameraKey,
  parseEventKey,
  parseHourKey,
  parseMinuteKey,
  REPAIR_KEY,
  rowsOfMinute,
  SECONDS_A_ROW,
  shardPartition,
  TOTAL_KEY,
  twoDigits,
} from '../rows/keys.ts';
import { minuteRowFrom, type MinuteRow } from '../rows/minute-row.ts';
import { COMMIT_NUMBER, commitNumberOf, fenceFrom, inStripe, parseStripe, stripesOf } from '../rows/stripes.ts';
import { cameraListFrom, totalFrom, type StoredTotal } from '../rows/total-row.ts';
import { damageIn, decodedOr, Findings, type DamagedRows, type Difference } from './findings.ts';
import {
  auditMinute,
  subtractBucket,
  sumOfBuckets,
  withoutSamples,
  type MinuteDifference,
  type OfStripe,
} from './minute-audit.ts';

/** What an audit of one shard of a day found. */
export interface ShardReport {
  readonly shard: number;
  /** Event rows read. */
  readonly events: number;
  /** Counters compared. */
  readonly counters: number;
  readonly differences: readonly Difference[];
  /** What must be added to the counters, in the form of a commit. */
  readonly left: CounterDifferences;
  /** The version of the shard's `repair` row before anything else was read; undefined: there was none. */
  readonly guard: string | undefined;
  /** The cameras that have events. */
  readonly cameras: ReadonlySet<string>;
}

/** The shard was written to during every try to read the same rows together. */
export class ShardUnsettled extends Error {
  override readonly name = 'ShardUnsettled';
}

const TRIES = 40;
const MOST_PAUSE_MS = 40;
const HOURS: readonly number[] = Array.from({ length: 24 }, (_, hour) => hour);
const EVERY_HOUR = cameraProperties(HOURS, HOURS);

/** Pauses for a random time, so that the tries of a reader do not keep step with a writer. */
const pause = async (): Promise<void> => setTimeout(Math.random() * MOST_PAUSE_MS);

/** The rows of the stripes that name what is in the others, and the hours, as of one moment. */
interface Top {
  readonly totals: ReadonlyMap<number, StoredTotal>;
  /** How many stripes the fence says; undefined: it is missing or damaged. */
  readonly fence: number | undefined;
  readonly hours: readonly OfStripe<HoursRow>[];
  /** By hour of the day. */
  readonly hourRows: ReadonlyMap<number, readonly OfStripe<HoursRow>[]>;
}

/** A camera's row in one stripe. */
interface CameraPart {
  readonly cameraId: string;
  readonly stripe: number;
  readonly row: StoredRow;
}

/**
 * Audits one shard of a day: what its event rows say, folded as they are when they are recorded, less what its counters say, decoded as
 * readers do and summed over the stripes. Of a closed day the samples stand for the event rows. Reads only.
 *
 * The shard may be written to meanwhile. How much a counter differs from the events does not change by a commit, which changes both. So each
 * counter may be compared at a moment of its own, if what it is compared with is read at the same moment:
 *
 * - a minute with its events: a change of an event changes a minute row of its minute. A minute whose rows changed is read again.
 * - the hours with their minutes, and the total with the hours: every commit changes a total.
 * - a camera's day and hours with its minutes: its rows in all stripes are in one page.
 *
 * @param shards how many the day has; undefined: unknown
 * @throws {ShardUnsettled | StorageTrouble | LaterFormat}
 */
export const auditShard = async (
  table: Table,
  day: Day,
  shard: number,
  shards: number | undefined,
  closed: boolean,
): Promise<ShardReport> => new ShardAudit(table, day, shard, shards, closed).run();

class ShardAudit {
  readonly #table: Table;
  readonly #day: Day;
  readonly #shard: number;
  readonly #shards: number | undefined;
  readonly #closed: boolean;
  readonly #partition: string;
  readonly #findings: Findings;
  readonly #minutes = new Map<number, MinuteDifference>();
  /** The names in each stripe, and the commit that they are of. */
  readonly #names = new Map<number, StripeNames & { readonly commit: number }>();
  /** The newest commit of any row but the total, by stripe. */
  readonly #newest = new Map<number, number>();
  /** The stripes of all rows that were met. */
  readonly #stripes = new Set<number>();
  /** How many event rows were read of each minute. */
  readonly #events = new Map<number, number>();

  constructor(table: Table, day: Day, shard: number, shards: number | undefined, closed: boolean) {
    this.#table = table;
    this.#day = day;
    this.#shard = shard;
    this.#shards = shards;
    this.#closed = closed;
    this.#partition = shardPartition(day, shard);
    this.#findings = new Findings(shard);
  }

  async run(): Promise<ShardReport> {
    const guard = (await this.#table.get(this.#partition, REPAIR_KEY, { select: [] }))?.etag;
    const before = await this.#readTop();
    const changed: number[] = [];
    for (const hour of HOURS) {
      const minutes = Array.from({ length: 60 }, (_, minute) => hour * 60 + minute);
      changed.push(...(await this.#scan(minutes, minutesOfHour(hour), eventsOfHour(hour))));
    }
    for (const minute of changed) await this.#scanAgain(minute);
    const cameras = await this.#auditCameras();
    const after = await this.#readTop();
    for (const minute of [...this.#minutes.keys()].sort((left, right) => left - right)) {
      const own = this.#minutes.get(minute);
      if (own !== undefined) this.#findings.takeOver(own.findings);
    }
    const broken = this.#auditStripes(after);
    const hours = broken ? new Map() : this.#auditHours(before, after);
    const { day, listed } = broken ? { day: EMPTY_TALLY, listed: [] } : this.#auditTotal(before, after, hours);
    const minutes = [...this.#minutes].flatMap(([minute, { bucket }]): [number, BucketDifference][] =>
      bucket === undefined ? [] : [[minute, bucket]],
    );
    const samples = [...this.#minutes].flatMap(([minute, own]): [number, readonly SampleDifference[]][] =>
      own.samples.length === 0 ? [] : [[minute, own.samples]],
    );
    const withEvents = this.#camerasWithEvents();
    for (const cameraId of withEvents) this.#auditShardOf(cameraId);
    const { differences, compared } = this.#findings;
    return {
      shard: this.#shard,
      events: [...this.#events.values()].reduce((sum, count) => sum + count, 0),
      counters: compared,
      // Without its names nothing of a stripe can be decoded: what is left is known once the stripe is set aside.
      differences: broken ? differences.filter(({ remedy }) => remedy !== undefined) : differences,
      left: { day, hours, minutes: new Map(minutes), samples: new Map(samples), cameras, listed },
      guard,
      cameras: withEvents,
    };
  }

  #camerasWithEvents(hour?: number): ReadonlySet<string> {
    const cameras = new Set<string>();
    for (const [minute, { withEvents }] of this.#minutes) {
      if (hour !== undefined && hourOfMinute(minute) !== hour) continue;
      for (const cameraId of withEvents) cameras.add(cameraId);
    }
    return cameras;
  }

  /** Reads rows that name each other until no commit came between. Every commit changes a total. */
  async #readTop(): Promise<Top> {
    const versions = async (select?: readonly string[]): Promise<readonly StoredRow[]> =>
      this.#table.all(this.#partition, stripesOf(TOTAL_KEY), { select });
    for (let tries = 1; tries <= TRIES; tries += 1) {
      const findings = new Findings(this.#shard);
      const rows = await versions();
      const [fence, buckets] = await Promise.all([
        this.#table.get(this.#partition, FENCE_KEY),
        this.#table.all(this.#partition, HOURS_AND_HOUR_ROWS),
      ]);
      const lists = await this.#table.all(this.#partition, ALL_CAMERA_LISTS, { select: [] });
      const totals = new Map<number, StoredTotal>();
      for (const row of rows) {
        const total = await this.#readTotal(findings, row);
        if (total === undefined) continue;
        const listed = cameraListFrom(total.lists.flatMap(({ texts }) => texts)).ids.length;
        // They were written together.
        const damage = `it says ${total.cameras.ids.length} active cameras, and its list has ${listed}`;
        if (listed === total.cameras.ids.length) totals.set(total.stripe, total);
        else findings.damaged(row.rowKey, damage, { of: 'stripe', stripe: total.stripe });
      }
      if (versionsIn(rows) === versionsIn(await versions([]))) {
        for (const { rowKey } of lists) {
          const stripe = decodedOr(
            () => parseStripe(rowKey).stripe,
            (damage) => findings.damaged(rowKey, damage),
          );
          if (stripe !== undefined) this.#stripes.add(stripe);
        }
        this.#findings.takeOver(findings);
        for (const [stripe, total] of totals) this.#names.set(stripe, namesOf(stripe, total));
        return {
          totals,
          fence: fence && decodedOr(() => fenceFrom(fence).stripes, ignored),
          ...(await this.#bucketRows(buckets)),
        };
      }
      await pause();
    }
    throw new ShardUnsettled('the totals changed during every try to read them');
  }

  /** The total of a row, with its camera list; undefined if they are damaged. */
  async #readTotal(
    findings: Findings,
    row: StoredRow,
  ): Promise<(StoredTotal & { readonly stripe: number }) | undefined> {
    const stripe = decodedOr(
      () => parseStripe(row.rowKey).stripe,
      (damage) => findings.damaged(row.rowKey, damage),
    );
    if (stripe === undefined) return undefined;
    this.#stripes.add(stripe);
    const first = await this.#table.get(this.#partition, inStripe(camerasKey(1), stripe));
    try {
      return { stripe, ...(await totalFrom(this.#table, row, stripe, first)) };
    } catch (error) {
      findings.damaged(row.rowKey, damageIn(error), { of: 'stripe', stripe });
      return undefined;
    }
  }

  async #bucketRows(stored: readonly StoredRow[]): Promise<Pick<Top, 'hours' | 'hourRows'>> {
    const hours: OfStripe<HoursRow>[] = [];
    const hourRows = new Map<number, OfStripe<HoursRow>[]>();
    const rows = await this.#decoded(stored, (key) => (key === HOURS_KEY ? HOURS_KEY : parseHourKey(key)), hoursFrom);
    for (const { key, ...row } of rows) {
      if (key === HOURS_KEY) hours.push(row);
      else hourRows.set(key, [...(hourRows.get(key) ?? []), row]);
    }
    return { hours, hourRows };
  }

  /** Decodes counter rows, with the names of their stripes. Those that cannot be decoded, or that no total names, are left out. */
  async #decoded<Key, Value>(
    stored: readonly StoredRow[],
    keyFrom: (key: string) => Key,
    valueFrom: (row: StoredRow) => Value,
  ): Promise<readonly (OfStripe<Value> & { readonly key: Key })[]> {
    const rows: (OfStripe<Value> & { readonly key: Key })[] = [];
    for (const row of stored) {
      const { rowKey } = row;
      const decoded = decodedOr(
        () => {
          const { key, stripe } = parseStripe(rowKey);
          return { key: keyFrom(key), stripe, commit: commitNumberOf(row), value: valueFrom(row) };
        },
        (damage) => this.#findings.damaged(rowKey, damage),
      );
      if (decoded === undefined) continue;
      const { key, stripe, commit, value } = decoded;
      this.#stripes.add(stripe);
      this.#newest.set(stripe, Math.max(this.#newest.get(stripe) ?? 0, commit));
      const names = await this.#namesAsOf(stripe, commit);
      if (names !== undefined) rows.push({ key, rowKey, names, value });
    }
    return rows;
  }

  /** The names of a stripe, which are read again if they are older than a commit; undefined: its total does not name them. */
  async #namesAsOf(stripe: number, commit: number): Promise<StripeNames | undefined> {
    if ((this.#names.get(stripe)?.commit ?? 0) < commit) {
      const row = await this.#table.get(this.#partition, inStripe(TOTAL_KEY, stripe));
      const total = row && (await this.#readTotal(new Findings(this.#shard), row));
      if (total !== undefined) this.#names.set(stripe, namesOf(stripe, total));
    }
    const names = this.#names.get(stripe);
    return names === undefined || names.commit < commit ? undefined : names;
  }

  /**
   * Audits minutes of one hour.
   *
   * @returns the minutes that were changed meanwhile
   */
  async #scan(minutes: readonly number[], samplesIn: KeyRange, eventsIn: KeyRange): Promise<readonly number[]> {
    const hour = hourOfMinute(minutes[0] ?? 0);
    const minuteRows = await this.#table.all(this.#partition, samplesIn);
    const samples = Map.groupBy(
      await this.#decoded(minuteRows, parseMinuteKey, halfMinuteFrom),
      ({ key }) => key.minute,
    );
    const hourRows = await this.#decoded(
      await this.#table.all(this.#partition, stripesOf(hourKey(hour))),
      parseHourKey,
      bucketsFrom,
    );
    const cameras = await this.#cameraMinutes(hour);
    const stream = this.#changes(eventsIn);
    let next = await stream.next();
    for (const minute of minutes) {
      const events: Change[] = [];
      for (; next.done !== true && next.value.keyed.minute === minute; next = await stream.next())
        events.push(next.value);
      const rows: readonly OfStripe<MinuteRow>[] = samples.get(minute) ?? [];
      this.#events.set(minute, events.length);
      this.#minutes.set(
        minute,
        auditMinute({
          partition: this.#partition,
          shard: this.#shard,
          minute,
          start: instantFrom(startOfDay(this.#day) + BigInt(minute) * MICROSECONDS.minute),
          events: this.#closed ? withoutSamples(events, rows) : events,
          closed: this.#closed,
          samples: rows,
          buckets: bucketsNumbered(hourRows, minute % 60),
          cameras: cameras.get(minute) ?? new Map(),
        }),
      );
    }
    if (next.done !== true) throw new RangeError('event rows did not come in the order of their keys');
    const [before, after] = [minuteRows, await this.#table.all(this.#partition, samplesIn, { select: [] })].map(
      versionsByMinute,
    );
    return minutes.filter((minute) => before?.get(minute) !== after?.get(minute));
  }

  async #scanAgain(minute: number): Promise<void> {
    for (let tries = 1; tries <= TRIES; tries += 1) {
      const changed = await this.#scan([minute], rowsOfMinute(minute), eventsOfMinute(minute));
      if (changed.length === 0) return;
      await pause();
    }
    throw new ShardUnsettled('a minute changed during every try to read it');
  }

  /** What the event rows of a key range say, in the order of their minutes. */
  async *#changes(range: KeyRange): AsyncGenerator<Change, void> {
    for await (const page of this.#table.pages(this.#partition, range)) {
      for (const row of page) {
        const { rowKey } = row;
        const damaged = (damage: string): void => this.#findings.damaged(rowKey, damage);
        const change = decodedOr((): Change | undefined => {
          const { cameraId, minute } = parseEventKey(rowKey);
          const { ts, facets } = eventRowFrom(row);
          if (dayOf(ts) !== this.#day || minuteOfDay(ts) !== minute) return undefined;
          const keyed = { minute, hour: hourOfMinute(minute), message: { ts, cameraId } };
          return { keyed, difference: contributionOf(facets) };
        }, damaged);
        if (change === undefined) damaged('its ts_utc is not in the minute of its key');
        else yield change;
      }
    }
  }

  /** The camera rows of the shard, those of one camera in all stripes together as of one moment. */
  async *#cameraRows(select: readonly string[]): AsyncGenerator<readonly CameraPart[], void> {
    let last: readonly CameraPart[] = [];
    for await (const page of this.#table.pages(this.#partition, ALL_CAMERAS, { select: [...select, COMMIT_NUMBER] })) {
      const parts = this.#cameraParts(page);
      for (const own of Map.groupBy(parts, ({ cameraId }) => cameraId).values()) {
        const [before, first] = [last[0]?.cameraId, own[0]?.cameraId];
        // A page ended between two rows of one camera: they are read together.
        if (first !== undefined && before === first) last = await this.#cameraTogether(own, select);
        else {
          if (last.length > 0) yield last;
          last = own;
        }
      }
    }
    if (last.length > 0) yield last;
  }

  async #cameraTogether(parts: readonly CameraPart[], select: readonly string[]): Promise<readonly CameraPart[]> {
    const [part] = parts;
    if (part === undefined) return parts;
    const range = stripesOf(parseStripe(part.row.rowKey).key);
    for (let tries = 1; tries <= TRIES; tries += 1) {
      const page = await this.#table.page(this.#partition, range, { select: [...select, COMMIT_NUMBER] });
      if (page.continuation === undefined) return this.#cameraParts(page.rows);
      await pause();
    }
    throw new ShardUnsettled('the rows of a camera did not come in one page');
  }

  #cameraParts(rows: readonly StoredRow[]): readonly CameraPart[] {
    return rows.flatMap((row) => {
      const damaged = (damage: string): void => this.#findings.damaged(row.rowKey, damage);
      const part = decodedOr(() => {
        const { key, stripe } = parseStripe(row.rowKey);
        return { cameraId: parseCameraKey(key), stripe, row };
      }, damaged);
      return part === undefined ? [] : [part];
    });
  }

  /** What the camera rows say of the minutes of an hour: by minute of the day and camera id, summed over the stripes. */
  async #cameraMinutes(hour: number): Promise<ReadonlyMap<number, ReadonlyMap<string, Tally>>> {
    const sums = new Map<number, Map<string, Tally>>();
    for await (const parts of this.#cameraRows(cameraProperties([], [hour]))) {
      for (const { cameraId, row } of parts) {
        const minutes = decodedOr(
          () => minutesOf(cameraRowFrom(row), hour),
          (damage) => this.#findings.damaged(row.rowKey, damage),
        );
        for (const [minute, tally] of minutes ?? []) {
          const ofMinute = sums.get(hour * 60 + minute) ?? new Map<string, Tally>();
          sums.set(hour * 60 + minute, ofMinute);
          addTo(ofMinute, cameraId, tally);
        }
      }
    }
    return sums;
  }

  /** Subtracts each camera's hours from its minutes, and its day from its hours. */
  async #auditCameras(): Promise<ReadonlyMap<string, CameraDifference>> {
    const toMinutes = new Map<string, Map<number, Tally>>();
    for (const [minute, { cameras }] of this.#minutes) {
      for (const [cameraId, tally] of cameras) {
        const own = toMinutes.get(cameraId) ?? new Map<number, Tally>();
        toMinutes.set(cameraId, own.set(minute, tally));
      }
    }
    const left = new Map<string, CameraDifference>();
    const audit = (cameraId: string, rows: readonly CameraRow[]): void => {
      const minutes = toMinutes.get(cameraId) ?? new Map<number, Tally>();
      const difference = subtractCamera(this.#findings, cameraId, rows, minutes);
      if (difference !== undefined) left.set(cameraId, difference);
    };
    const seen = new Set<string>();
    for await (const parts of this.#cameraRows(EVERY_HOUR)) {
      const rows = [];
      for (const { cameraId, stripe, row } of parts) {
        seen.add(cameraId);
        rows.push(await this.#wholeCamera(cameraId, stripe, row));
      }
      const whole = rows.filter((row) => row !== undefined);
      // What the others say is known once a row that cannot be decoded is set aside.
      const [part] = parts;
      if (part !== undefined && whole.length === parts.length) audit(part.cameraId, whole);
    }
    for (const cameraId of toMinutes.keys()) if (!seen.has(cameraId)) audit(cameraId, []);
    return left;
  }

  async #wholeCamera(cameraId: string, stripe: number, row: StoredRow): Promise<CameraRow | undefined> {
    const damaged = (damage: string): void => this.#findings.damaged(row.rowKey, damage);
    const decoded = decodedOr(() => {
      const camera = cameraRowFrom(row);
      for (const hour of HOURS) minutesOf(camera, hour);
      return { camera, commit: commitNumberOf(row) };
    }, damaged);
    if (decoded === undefined) return undefined;
    const { camera, commit } = decoded;
    this.#stripes.add(stripe);
    this.#newest.set(stripe, Math.max(this.#newest.get(stripe) ?? 0, commit));
    const names = await this.#namesAsOf(stripe, commit);
    if (names === undefined || names.ids[camera.index] === cameraId) return camera;
    damaged('its place is not that of its camera in the camera list');
    return undefined;
  }

  /** Subtracts the hours from their minutes. Both are as of one moment, and so is what their minutes lack. */
  #auditHours(before: Top, after: Top): ReadonlyMap<number, BucketDifference> {
    const left = new Map<number, BucketDifference>();
    for (const hour of HOURS) {
      const withEvents = this.#camerasWithEvents(hour);
      let tally: Tally = EMPTY_TALLY;
      for (let minute = hour * 60; minute < (hour + 1) * 60; minute += 1) {
        const stored = sumOfBuckets(
          this.#findings,
          bucketsNumbered(after.hourRows.get(hour) ?? [], minute % 60),
          this.#partition,
        );
        tally = plus(plus(tally, stored.tally()), this.#minutes.get(minute)?.bucket?.tally ?? EMPTY_TALLY);
      }
      // A camera whose first event of the hour came after its minute was read is in the hours now, and was not before.
      const early = sumOfBuckets(this.#findings, bucketsNumbered(before.hours, hour), this.#partition).cameras();
      const stored = bucketsNumbered(after.hours, hour);
      const now = sumOfBuckets(this.#findings, stored, this.#partition).cameras();
      const late = [...now].filter((id) => !early.has(id));
      const expected = { tally, cameras: [...withEvents.union(new Set(late))] };
      const difference = subtractBucket(this.#findings, `hour ${twoDigits(hour)}`, expected, stored, this.#partition);
      if (difference !== undefined) left.set(hour, difference);
    }
    return left;
  }

  /** Subtracts the total from the hours. */
  #auditTotal(
    before: Top,
    after: Top,
    hours: ReadonlyMap<number, BucketDifference>,
  ): Pick<CounterDifferences, 'day'> & { readonly listed: readonly string[] } {
    const stored = HOURS.map((hour) =>
      sumOfBuckets(this.#findings, bucketsNumbered(after.hours, hour), this.#partition).tally(),
    );
    const expected = sumOf([...stored, ...Array.from(hours.values(), ({ tally }) => tally)]);
    const total = sumOf(Array.from(after.totals.values(), ({ tally }) => tally));
    const day = this.#findings.tally('total', expected, total) ?? EMPTY_TALLY;
    const early = listedIn(before);
    const now = listedIn(after);
    const late = [...now].filter((id) => !early.has(id));
    const listed = this.#findings.names(
      'active cameras of total',
      this.#camerasWithEvents().union(new Set(late)),
      now,
      (extra) =>
        [...after.totals].flatMap(([stripe, { cameras }]): DamagedRows[] =>
          extra.isDisjointFrom(new Set(cameras.ids)) ? [] : [{ of: 'stripe', stripe }],
        ),
    );
    return { day, listed };
  }

  /**
   * What the rows of the stripes say of one another: each stripe has a total that names what is in its rows, and readers find it by its
   * number.
   *
   * @returns whether a stripe is broken
   */
  #auditStripes({ totals, fence }: Top): boolean {
    const stripes = this.#stripes;
    const isEmpty = stripes.size === 0 && fence === undefined && this.#findings.differences.length === 0;
    if (isEmpty && this.#camerasWithEvents().size === 0) return false;
    // Readers find the other stripes by the total of stripe 0.
    for (const stripe of stripes.add(0)) {
      const total = totals.get(stripe);
      const newest = this.#newest.get(stripe) ?? 0;
      if (total !== undefined && total.commit >= newest) continue;
      const damage =
        total === undefined ? 'it is missing' : `its commit number is ${total.commit}, that of another row ${newest}`;
      this.#findings.damaged(inStripe(TOTAL_KEY, stripe), damage, { of: 'stripe', stripe });
    }
    const announced = totals.get(0)?.stripes;
    const count = Math.max(announced ?? 1, fence ?? 1, ...Array.from(stripes, (stripe) => stripe + 1));
    this.#findings.compared += 1;
    if (fence !== count || (announced !== undefined && announced !== count)) {
      const stored = `${fence ?? 'nothing'}, and ${announced ?? 'nothing'} in total`;
      this.#findings.add('number of stripes', `${count}`, stored, { kind: 'stripes', stripes: count });
    }
    return this.#findings.differences.some(
      ({ remedy }) => remedy?.kind === 'set aside' && remedy.rows.some(({ of }) => of === 'stripe'),
    );
  }

  #auditShardOf(cameraId: string): void {
    const own = this.#shards === undefined ? this.#shard : shardOf(cameraId, this.#shards);
    this.#findings.compared += 1;
    if (own === this.#shard) return;
    const counter = `shard of camera ${cameraId}`;
    this.#findings.add(counter, twoDigits(own), twoDigits(this.#shard), { kind: 'move', cameraId });
  }
}

/** What must be added to a camera's hours and day, and to its minutes. */
const subtractCamera = (
  findings: Findings,
  cameraId: string,
  rows: readonly CameraRow[],
  toMinutes: ReadonlyMap<number, Tally>,
): CameraDifference | undefined => {
  const hours = new Map<number, Tally>();
  let expectedDay: Tally = EMPTY_TALLY;
  for (const hour of HOURS) {
    const lacking = [...toMinutes].flatMap(([minute, tally]) => (hourOfMinute(minute) === hour ? [tally] : []));
    const minutes = sumOf([...rows.flatMap((row) => [...minutesOf(row, hour).values()]), ...lacking]);
    const stored = sumOf(rows.map((row) => row.hours.get(hour)?.tally ?? EMPTY_TALLY));
    const left = findings.tally(`camera ${cameraId} hour ${twoDigits(hour)}`, minutes, stored);
    if (left !== undefined) hours.set(hour, left);
    expectedDay = plus(plus(expectedDay, stored), left ?? EMPTY_TALLY);
  }
  const day = findings.tally(`camera ${cameraId}`, expectedDay, sumOf(rows.map(({ tally }) => tally)));
  if (day === undefined && hours.size === 0 && toMinutes.size === 0) return undefined;
  return { day: day ?? EMPTY_TALLY, hours, minutes: toMinutes };
};

const ignored = (): void => undefined;

/** The samples of a minute row, none of which is in the other half of the minute. @throws {DamagedRow | DecodeError} */
const halfMinuteFrom = (row: StoredRow): MinuteRow => {
  const { second } = parseMinuteKey(parseStripe(row.rowKey).key);
  const samples = minuteRowFrom(row);
  if ([...samples.keys()].every((own) => own >= second && own < second + SECONDS_A_ROW)) return samples;
  throw new DamagedRow(row.partitionKey, row.rowKey, 'it has seconds of another row');
};

/** The buckets of a `hours` row or an hour's row, none of which is beyond the day. @throws {DamagedRow} */
const hoursFrom = (row: StoredRow): HoursRow => {
  const buckets = bucketsFrom(row);
  if (!row.rowKey.startsWith(HOURS_KEY) || [...buckets.keys()].every((hour) => hour < HOURS.length)) return buckets;
  throw new DamagedRow(row.partitionKey, row.rowKey, 'it has more than 24 hours');
};

const namesOf = (
  stripe: number,
  { tally, cameras, commit }: StoredTotal,
): StripeNames & { readonly commit: number } => ({
  stripe,
  commit,
  categories: [...tally.categories.keys()],
  ids: cameras.ids,
});

const listedIn = ({ totals }: Top): ReadonlySet<string> =>
  new Set(Array.from(totals.values(), ({ cameras }) => cameras.ids).flat());

const bucketsNumbered = (rows: readonly OfStripe<HoursRow>[], number: number): readonly OfStripe<Bucket>[] =>
  rows.flatMap(({ value, ...row }) => {
    const bucket = value.get(number);
    return bucket === undefined ? [] : [{ ...row, value: bucket }];
  });

const versionsIn = (rows: readonly StoredRow[]): string =>
  rows.map(({ rowKey, etag }) => `${rowKey} ${etag}`).join('\n');

const versionsByMinute = (rows: readonly StoredRow[]): ReadonlyMap<number, string> => {
  const byMinute = Map.groupBy(rows, ({ rowKey }) =>
    decodedOr(
      () => parseMinuteKey(parseStripe(rowKey).key).minute,
      () => undefined,
    ),
  );
  return new Map(Array.from(byMinute, ([minute, own]): [number, string] => [minute ?? -1, versionsIn(own)]));
};
