import { hourOfMinute } from '../model/day.ts';
import { shardOf } from '../model/shard.ts';
import { EMPTY_TALLY, plus, sumOf, type Tally } from '../model/tally.ts';
import { minutesOf, type CameraRow } from '../rows/camera-row.ts';
import { cameraKey, twoDigits } from '../rows/keys.ts';
import { inStripe } from '../rows/stripe-keys.ts';
import type { StoredTotal } from '../rows/total-row.ts';
import { DAMAGED, decodedOr, type Findings, type Stored } from './findings.ts';
import type { MinuteFindings } from './minute-comparison.ts';
import type { DamagedRows } from './remedy.ts';
import { sumOfMinutes } from './stored-sums.ts';
import type { CameraRows } from './stored-cameras.ts';

const HOURS: readonly number[] = Array.from({ length: 24 }, (_, hour) => hour);

/** The rows of a camera, one a stripe; undefined where one of them is damaged. */
const wholeRows = (
  rows: ReadonlyMap<number, Stored<{ readonly value: CameraRow }>>,
): readonly CameraRow[] | undefined => {
  const whole: CameraRow[] = [];
  for (const row of rows.values()) {
    if (row === DAMAGED) return undefined;
    if (row !== undefined) whole.push(row.value);
  }
  return whole;
};

/** The minutes in camera rows, summed over the stripes. */
export class CameraMinutes {
  readonly strays: readonly string[];
  readonly #cameras: readonly (readonly [cameraId: string, rows: readonly CameraRow[] | undefined])[];

  constructor({ byCamera, strays }: CameraRows) {
    this.strays = strays;
    this.#cameras = Array.from(byCamera, ([cameraId, rows]) => [cameraId, wholeRows(rows)]);
  }

  /** The tallies of an hour (0 to 23): for a minute of the day, those by camera id; damaged where a row of the camera is. */
  ofHour(hour: number): (minute: number) => ReadonlyMap<string, Stored<Tally>> {
    const byMinute = new Map<number, Map<string, Stored<Tally>>>();
    const damaged = new Map<string, Stored<Tally>>();
    for (const [cameraId, rows] of this.#cameras) {
      const minutes = rows === undefined ? DAMAGED : sumOfMinutes(rows, hour);
      if (minutes === DAMAGED) damaged.set(cameraId, DAMAGED);
      else {
        for (const [minute, tally] of minutes) {
          const ofMinute = byMinute.get(minute) ?? new Map<string, Stored<Tally>>();
          byMinute.set(minute, ofMinute.set(cameraId, tally));
        }
      }
    }
    return (minute) => new Map([...(byMinute.get(minute) ?? []), ...damaged]);
  }
}

/** What the comparison of cameras needs. */
export interface CameraReading {
  readonly cameras: CameraRows;
  readonly minutes: ReadonlyMap<number, MinuteFindings>;
  /** The cameras that have events. */
  readonly withEvents: ReadonlySet<string>;
  /** By stripe, read after the camera rows. */
  readonly totals: ReadonlyMap<number, Stored<StoredTotal>>;
  readonly shard: number;
  /** How many the day has; undefined: unknown. */
  readonly shards: number | undefined;
}

/** Compares each camera's hours with its minutes, its day with its hours, and its index and shard with what they must be. */
export const compareCameras = (findings: Findings, reading: CameraReading): void => {
  const { cameras, withEvents, shard, shards } = reading;
  const toAdd = correctionsByCamera(reading.minutes);
  for (const cameraId of new Set([...withEvents, ...cameras.byCamera.keys()])) {
    const rows = cameras.byCamera.get(cameraId) ?? new Map<number, undefined>();
    const name = `camera ${cameraId}`;
    const setAside = (stripe: number): DamagedRows => ({ of: 'row', rowKey: inStripe(cameraKey(cameraId), stripe) });
    if (!withEvents.has(cameraId)) {
      findings.add(name, 'nothing', 'a row', { kind: 'set aside', rows: Array.from(rows.keys(), setAside) });
      continue;
    }
    if (compareRows(findings, name, rows, setAside)) compareSums(findings, name, cameraId, rows, toAdd.get(cameraId));
    compareIndexes(findings, cameraId, reading, setAside);
    const own = shards === undefined ? shard : shardOf(cameraId, shards);
    findings.text(`shard of ${name}`, twoDigits(own), twoDigits(shard), { kind: 'move', cameraId });
  }
};

type Rows = ReadonlyMap<number, Stored<{ readonly commit: number; readonly value: CameraRow }>>;

/** Reports rows that cannot be decoded. Returns whether all can. */
const compareRows = (
  findings: Findings,
  name: string,
  rows: Rows,
  setAside: (stripe: number) => DamagedRows,
): boolean => {
  let whole = true;
  const report = (counter: string, stripe: number): void => {
    findings.add(counter, 'counters', DAMAGED, { kind: 'set aside', rows: [setAside(stripe)] });
    whole = false;
  };
  for (const [stripe, row] of rows) {
    if (row === DAMAGED) report(name, stripe);
    else if (row !== undefined) {
      for (const hour of HOURS) {
        if (decodedOr(() => minutesOf(row.value, hour)) === DAMAGED) {
          report(`${name} minutes of hour ${twoDigits(hour)}`, stripe);
        }
      }
    }
  }
  return whole;
};

const compareSums = (
  findings: Findings,
  name: string,
  cameraId: string,
  stored: Rows,
  toMinutes: ReadonlyMap<number, Tally> = new Map(),
): void => {
  const rows = wholeRows(stored) ?? [];
  let day = sumOf(rows.flatMap(({ hours }) => Array.from(hours.values(), ({ tally }) => tally)));
  for (const hour of HOURS) {
    const minutes = sumOfMinutes(rows, hour);
    if (minutes === DAMAGED) continue;
    const expected = plus(sumOf(minutes.values()), toMinutes.get(hour) ?? EMPTY_TALLY);
    const ofHour = sumOf(rows.map((row) => row.hours.get(hour)?.tally ?? EMPTY_TALLY));
    const added = findings.tally(`${name} hour ${twoDigits(hour)}`, expected, ofHour, (tally) => ({
      of: 'camera hour',
      cameraId,
      hour,
      tally,
    }));
    if (added !== undefined) day = plus(day, added);
  }
  findings.tally(name, day, sumOf(rows.map(({ tally }) => tally)), (tally) => ({ of: 'camera', cameraId, tally }));
};

const compareIndexes = (
  findings: Findings,
  cameraId: string,
  { cameras, totals }: CameraReading,
  setAside: (stripe: number) => DamagedRows,
): void => {
  for (const [stripe, row] of cameras.byCamera.get(cameraId) ?? []) {
    const total = totals.get(stripe);
    if (row === undefined || row === DAMAGED || total === undefined || total === DAMAGED) continue;
    const index = String(total.cameras.indexes.get(cameraId));
    const counter = `index of camera ${cameraId}${stripe === 0 ? '' : ` in stripe ${twoDigits(stripe)}`}`;
    findings.text(counter, index, String(row.value.index), { kind: 'set aside', rows: [setAside(stripe)] });
  }
};

/** What must be added to the minutes of each camera: by camera id, the sum for each hour. */
const correctionsByCamera = (
  minutes: ReadonlyMap<number, MinuteFindings>,
): ReadonlyMap<string, ReadonlyMap<number, Tally>> => {
  const sums = new Map<string, Map<number, Tally>>();
  for (const [minute, { cameras }] of minutes) {
    for (const [cameraId, tally] of cameras) {
      const ofCamera = sums.get(cameraId) ?? new Map<number, Tally>();
      sums.set(cameraId, ofCamera);
      const hour = hourOfMinute(minute);
      ofCamera.set(hour, plus(ofCamera.get(hour) ?? EMPTY_TALLY, tally));
    }
  }
  return sums;
};
