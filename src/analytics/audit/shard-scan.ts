import { hourOfMinute, type Day } from '../model/day.ts';
import { cameraProperties } from '../rows/camera-row.ts';
import type { Fence } from '../rows/fence-row.ts';
import { bucketsFrom } from '../rows/hour-rows.ts';
import {
  ALL_EVENTS,
  ALL_MINUTES,
  eventsOfMinute,
  hourKey,
  minutesOfHour,
  rowsOfMinute,
  shardPartition,
} from '../rows/keys.ts';
import { readStripes } from '../rows/stripe-reads.ts';
import type { Table } from '../../storage/table.ts';
import type { StoredTotal } from '../rows/total-row.ts';
import { audited } from './audited-row.ts';
import { CameraMinutes } from './camera-comparison.ts';
import { DAMAGED, Findings, type Stored } from './findings.ts';
import { compareMinute, type MinuteFindings } from './minute-comparison.ts';
import type { MinuteReading } from './minute-reading.ts';
import { pause } from './random-pause.ts';
import { readCameras } from './stored-cameras.ts';
import { readEvents, type CountedEvent } from './stored-events.ts';
import {
  readMinuteRows,
  readMinuteVersions,
  versionsByMinute,
  type MinuteRows,
  type MinuteVersions,
} from './stored-minutes.ts';
import { namesOf, type Names } from './stored-sums.ts';
import { readTotals, type ShardTop } from './stored-top.ts';

const MINUTES_OF_DAY = 1_440;
const MINUTE_TRIES = 40;

/**
 * Whether the day of a shard is closed. All of its totals are marked in one transaction, so any of them tells; where none can be read,
 * the fence does, which is closed before them.
 */
export const isClosed = (totals: Iterable<Stored<StoredTotal>>, fence: Stored<Fence>): boolean => {
  const whole = [...totals].filter((total) => total !== undefined && total !== DAMAGED);
  if (whole.length > 0) return whole.some(({ closed }) => closed);
  return fence !== undefined && fence !== DAMAGED && fence.closed;
};

/** The comparison of the minutes of a shard with their events. */
export class ShardScan {
  readonly findings: Findings;
  readonly minutes = new Map<number, MinuteFindings>();
  /** The cameras that have events. */
  readonly withEvents = new Set<string>();
  /** By hour of the day. */
  readonly camerasOfHour = new Map<number, Set<string>>();
  events = 0;
  readonly closed: boolean;
  readonly #table: Table;
  readonly #day: Day;
  readonly #shard: number;
  readonly #partition: string;
  readonly #top: ShardTop;
  readonly #names = new Map<number, { readonly commit: number; readonly names: Names }>();
  /** The stripes of the minute rows. */
  readonly #ofMinutes = new Set<number>();

  constructor(table: Table, day: Day, shard: number, top: ShardTop) {
    this.findings = new Findings(shard);
    this.#table = table;
    this.#day = day;
    this.#shard = shard;
    this.#partition = shardPartition(day, shard);
    this.#top = top;
    this.closed = isClosed(
      top.stripes.map(({ total }) => total),
      top.fence,
    );
    for (const { stripe, total } of top.stripes) {
      if (total === undefined || total === DAMAGED) continue;
      this.#names.set(stripe, { commit: total.commit, names: namesOf(total) });
    }
    this.#strays(top.strays);
  }

  /** The stripes that the scan met. */
  get stripes(): Iterable<number> {
    return new Set([...this.#top.stripes.map(({ stripe }) => stripe), ...this.#names.keys(), ...this.#ofMinutes]);
  }

  /**
   * Compares all minutes.
   *
   * @param before the versions of the minute rows before anything else was read
   * @returns the minutes that were changed meanwhile
   */
  async all({ versions: before, strays: stray }: MinuteVersions, cameras: CameraMinutes): Promise<ReadonlySet<number>> {
    this.#strays(cameras.strays);
    const changed = new Set<number>();
    // Most days of a small network have hours without events: their rows need not be looked for. One that comes is seen in the end.
    const hours = new Set(stray.length > 0 ? ALL_DAY : Array.from(before.keys(), hourOfMinute));
    const stream = readEvents(this.#table, this.#partition, this.#day, ALL_EVENTS);
    let next = await stream.next();
    for (let hour = 0; hour < 24; hour += 1) {
      const { byMinute, strays } = hours.has(hour)
        ? await readMinuteRows(this.#table, this.#partition, minutesOfHour(hour))
        : NO_ROWS;
      this.#strays(strays);
      const ofHour = cameras.ofHour(hour);
      const hourRows = new Map(this.#top.stripes.map(({ stripe, hourRows: rows }) => [stripe, rows.get(hour)]));
      for (let minute = hour * 60; minute < (hour + 1) * 60; minute += 1) {
        const events: CountedEvent[] = [];
        for (; next.done !== true; next = await stream.next()) {
          const { value } = next;
          if ('damaged' in value) this.#damagedEvent(value.rowKey, value.damaged);
          else if (value.minute === minute) events.push(value);
          else break;
          this.events += 1;
        }
        const rows = byMinute.get(minute) ?? [];
        if ((versionsByMinute(rows).get(minute) ?? '') !== (before.get(minute) ?? '')) changed.add(minute);
        this.#compare(minute, { events, rows, hourRows, cameras: ofHour(minute) });
      }
    }
    if (next.done !== true) throw new RangeError('event rows did not come in the order of their keys');
    const { versions: after } = await readMinuteVersions(this.#table, this.#partition, ALL_MINUTES);
    for (let minute = 0; minute < MINUTES_OF_DAY; minute += 1) {
      if ((before.get(minute) ?? '') !== (after.get(minute) ?? '')) changed.add(minute);
    }
    return changed;
  }

  /** Compares a minute anew. Returns false where it was changed during every try. */
  async again(minute: number): Promise<boolean> {
    const hour = hourOfMinute(minute);
    for (let tries = 1; tries <= MINUTE_TRIES; tries += 1) {
      const read = await readMinuteRows(this.#table, this.#partition, rowsOfMinute(minute));
      const rows = read.byMinute.get(minute) ?? [];
      const events: CountedEvent[] = [];
      for await (const event of readEvents(this.#table, this.#partition, this.#day, eventsOfMinute(minute))) {
        if ('damaged' in event) this.#damagedEvent(event.rowKey, event.damaged);
        else events.push(event);
      }
      const stored = await readStripes(this.#table, this.#partition, hourKey(hour));
      const hourRows = new Map(Array.from(stored, ([stripe, row]) => [stripe, audited(row, bucketsFrom)]));
      const cameras = new CameraMinutes(await readCameras(this.#table, this.#partition, cameraProperties([], [hour])));
      const { versions: after } = await readMinuteVersions(this.#table, this.#partition, rowsOfMinute(minute));
      if ((versionsByMinute(rows).get(minute) ?? '') === (after.get(minute) ?? '')) {
        const newest = [...hourRows, ...rows.map(({ stripe, row }) => [stripe, row] as const)];
        for (const [stripe, row] of newest) {
          if (row !== undefined && row !== DAMAGED) await this.#nameAsOf(stripe, row.commit);
        }
        this.#compare(minute, { events, rows, hourRows, cameras: cameras.ofHour(hour)(minute) });
        return true;
      }
      await pause();
    }
    return false;
  }

  #compare(minute: number, read: Omit<MinuteReading, 'minute' | 'closed' | 'namesOf'>): void {
    const hour = hourOfMinute(minute);
    const ofHour = this.camerasOfHour.get(hour) ?? new Set();
    this.camerasOfHour.set(hour, ofHour);
    const hasEvents = (cameraId: string): void => {
      ofHour.add(cameraId);
      this.withEvents.add(cameraId);
    };
    for (const { stripe } of read.rows) this.#ofMinutes.add(stripe);
    // Without the lists of a stripe its indexes have no names. Its total is reported.
    const isNamed = (stripe: number): boolean => this.#names.has(stripe);
    const named = [...read.hourRows.keys(), ...read.rows.map(({ stripe }) => stripe)].every(isNamed);
    if (this.closed && !named) {
      // Only the camera rows tell then which cameras had events.
      for (const cameraId of read.cameras.keys()) hasEvents(cameraId);
      return;
    }
    const reading = {
      minute,
      ...read,
      closed: this.closed,
      namesOf: (stripe: number) => this.#names.get(stripe)?.names ?? NO_NAMES,
    };
    const result = compareMinute(this.#shard, reading);
    for (const cameraId of result.withEvents) hasEvents(cameraId);
    if (named) this.minutes.set(minute, result);
    else this.minutes.set(minute, { ...result, findings: new Findings(this.#shard) });
  }

  /** Reads the names of a stripe again where they are older than a commit. */
  async #nameAsOf(stripe: number, commit: number): Promise<void> {
    if ((this.#names.get(stripe)?.commit ?? 0) >= commit) return;
    const total = (await readTotals(this.#table, this.#partition, [stripe])).get(stripe);
    if (total === undefined || total === DAMAGED) this.#names.delete(stripe);
    else this.#names.set(stripe, { commit: total.commit, names: namesOf(total) });
  }

  #damagedEvent(rowKey: string, damage: string): void {
    this.findings.addOnce(`row ${rowKey}`, 'an event', damage, {
      kind: 'set aside',
      rows: [{ of: 'row', rowKey }],
    });
  }

  #strays(rowKeys: readonly string[]): void {
    for (const rowKey of rowKeys) {
      const rows = [{ of: 'row', rowKey }] as const;
      this.findings.addOnce(`row ${rowKey}`, 'nothing', DAMAGED, { kind: 'set aside', rows });
    }
  }
}

const ALL_DAY: readonly number[] = Array.from({ length: 24 }, (_, hour) => hour);
const NO_ROWS: MinuteRows = { byMinute: new Map(), strays: [] };
const NO_NAMES: Names = { categories: [], ids: [] };
