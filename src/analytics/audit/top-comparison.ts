import { EMPTY_TALLY, plus, sumOf, type Tally } from '../model/tally.ts';
import { cameraListFrom } from '../rows/camera-list.ts';
import { hourKey, twoDigits } from '../rows/keys.ts';
import { inStripe } from '../rows/stripe-keys.ts';
import type { StoredTotal } from '../rows/total-row.ts';
import { DAMAGED, type Findings, type Stored } from './findings.ts';
import type { MinuteFindings } from './minute-comparison.ts';
import type { DamagedRows } from './remedy.ts';
import { namesOf, stripesThatName, sumOfBuckets, type BucketRows } from './stored-sums.ts';
import type { CameraRows } from './stored-cameras.ts';
import type { ShardTop } from './stored-top.ts';

/** What the comparison of the hours and the total needs. */
export interface TopReading {
  readonly top: ShardTop;
  readonly minutes: ReadonlyMap<number, MinuteFindings>;
  /** The cameras that have events; events that came after `top` was read are among them. */
  readonly withEvents: ReadonlySet<string>;
  /** The same by hour of the day. */
  readonly camerasOfHour: ReadonlyMap<number, ReadonlySet<string>>;
  /** By stripe, read after all other rows. */
  readonly totals: ReadonlyMap<number, Stored<StoredTotal>>;
  /** The totals of {@link stripesWithLongerLists}, read once more. */
  readonly later: ReadonlyMap<number, Stored<StoredTotal>>;
  readonly cameras: CameraRows;
}

/** How many cameras the stored list has; it may have been read later than its total. */
const listedIn = ({ lists }: StoredTotal): number => cameraListFrom(lists.flatMap(({ texts }) => texts)).ids.length;

/** The stripes whose total says fewer active cameras than their list has. */
export const stripesWithLongerLists = (totals: ReadonlyMap<number, Stored<StoredTotal>>): readonly number[] =>
  [...totals].flatMap(([stripe, total]) =>
    total !== undefined && total !== DAMAGED && listedIn(total) > total.cameras.ids.length ? [stripe] : [],
  );

const inWords = (counter: string, stripe: number): string =>
  stripe === 0 ? counter : `${counter} in stripe ${twoDigits(stripe)}`;

/** Compares the hours with their minutes, the total with the hours, and what the rows of each stripe say of one another. */
export const compareTop = (findings: Findings, reading: TopReading): void => {
  const { top, withEvents, totals } = reading;
  const broken = brokenStripes(reading);
  for (const stripe of broken) {
    const total = top.stripes.find((one) => one.stripe === stripe)?.total;
    findings.add(inWords('total', stripe), 'a total', total === DAMAGED ? DAMAGED : 'nothing', {
      kind: 'set aside',
      rows: [{ of: 'stripe', stripe }],
    });
  }
  compareStripes(findings, reading, broken);
  if (broken.length > 0) return;

  const sums = compareHours(findings, reading);
  const stored = sumOf(
    top.stripes.flatMap(({ total }) => (total === undefined || total === DAMAGED ? [] : [total.tally])),
  );
  if (sums !== undefined) {
    findings.tally('total', sums, stored, (tally) => ({ of: 'total', tally, cameras: [] }));
  }
  const listedBefore = top.stripes.flatMap(({ total }) => namesOf(total).ids).filter((id) => !withEvents.has(id));
  const listedNow = [...totals.values()].flatMap((total) => namesOf(total).ids).filter((id) => withEvents.has(id));
  findings.names('active cameras of total', withEvents, new Set([...listedBefore, ...listedNow]), (missing, extra) => {
    if (extra.length === 0) {
      return { kind: 'add', corrections: [{ of: 'total', tally: EMPTY_TALLY, cameras: missing }] };
    }
    const naming = top.stripes.filter(({ total }) => namesOf(total).ids.some((id) => extra.includes(id)));
    return { kind: 'set aside', rows: naming.map(({ stripe }) => ({ of: 'stripe', stripe })) };
  });
};

/** The stripes whose total is missing or damaged: nothing names the indexes in their rows. */
const brokenStripes = ({ top, totals, cameras }: TopReading): readonly number[] => {
  const stripes = new Set(top.stripes.map(({ stripe }) => stripe));
  for (const [stripe, total] of totals) if (!isWhole(total)) stripes.add(stripe);
  for (const rows of cameras.byCamera.values()) {
    for (const stripe of rows.keys()) if (!stripes.has(stripe) && !isWhole(totals.get(stripe))) stripes.add(stripe);
  }
  // Readers find the other stripes by the total of stripe 0.
  if (stripes.size > 0) stripes.add(0);
  return [...stripes].filter((stripe) => !isWhole(top.stripes.find((one) => one.stripe === stripe)?.total));
};

const isWhole = (total: Stored<StoredTotal>): boolean => total !== undefined && total !== DAMAGED;

/** Compares the hours with their minutes. Returns what the total must be; undefined where rows are damaged. */
const compareHours = (findings: Findings, { top, minutes, camerasOfHour }: TopReading): Tally | undefined => {
  const namesIn: BucketRows['namesOf'] = (stripe) => namesOf(top.stripes.find((one) => one.stripe === stripe)?.total);
  const rows: BucketRows = {
    hourRows: new Map(top.stripes.map(({ stripe, hours }) => [stripe, hours])),
    namesOf: namesIn,
  };
  let known = reportDamage(findings, top);
  const numbers = top.stripes.flatMap(({ hours, hourRows }) => [
    ...(hours === undefined || hours === DAMAGED ? [] : hours.value.keys()),
    ...hourRows.keys(),
  ]);
  let total: Tally = EMPTY_TALLY;
  for (const hour of [...new Set([...numbers, ...camerasOfHour.keys()])].sort((left, right) => left - right)) {
    const ofHour: BucketRows = {
      hourRows: new Map(top.stripes.map(({ stripe, hourRows }) => [stripe, hourRows.get(hour)])),
      namesOf: namesIn,
    };
    const expected = expectedHour(ofHour, hour, minutes, camerasOfHour.get(hour) ?? new Set());
    const stored = sumOfBuckets(rows, hour);
    const name = `hour ${twoDigits(hour)}`;
    if (stored.damaged.length > 0) {
      const damaged = stored.damaged.map((stripe): DamagedRows => ({ of: 'hours', stripe }));
      findings.add(name, 'a tally', DAMAGED, { kind: 'set aside', rows: damaged });
    }
    if (expected === undefined || stored.damaged.length > 0) {
      known = false;
      continue;
    }
    const added = findings.tally(name, expected.tally, stored.tally, (tally) => ({
      of: 'hour',
      hour,
      tally,
      cameras: [],
    }));
    total = plus(plus(total, stored.tally ?? EMPTY_TALLY), added ?? EMPTY_TALLY);
    // Events that came after these rows were read make no difference.
    const ofEvents = camerasOfHour.get(hour) ?? new Set();
    const active = new Set([...stored.cameras].filter((id) => expected.cameras.has(id) || !ofEvents.has(id)));
    findings.names(`active cameras of ${name}`, expected.cameras, active, (missing, extra) =>
      extra.length === 0
        ? { kind: 'add', corrections: [{ of: 'hour', hour, tally: EMPTY_TALLY, cameras: missing }] }
        : {
            kind: 'set aside',
            rows: stripesThatName(rows, hour, extra).map((stripe) => ({ of: 'hours', stripe })),
          },
    );
  }
  return known ? total : undefined;
};

/** Reports hours and hour rows that are damaged, and hour rows that their hours do not know. Returns whether there are none. */
const reportDamage = (findings: Findings, top: ShardTop): boolean => {
  let none = true;
  for (const { stripe, hours, hourRows } of top.stripes) {
    if (hours === DAMAGED) {
      findings.add(inWords('hours', stripe), 'hours', DAMAGED, { kind: 'set aside', rows: [{ of: 'hours', stripe }] });
      none = false;
    }
    for (const [hour, row] of hourRows) {
      const rows: readonly DamagedRows[] = [{ of: 'hour', stripe, hour }];
      if (row === DAMAGED) {
        const name = inWords(`minutes of hour ${twoDigits(hour)}`, stripe);
        findings.add(name, 'minutes', DAMAGED, { kind: 'set aside', rows });
        none = false;
      } else if (hours !== DAMAGED && hours?.value.has(hour) !== true) {
        // A recorder takes it that this row does not exist, and fails to insert it.
        const name = `row ${inStripe(hourKey(hour), stripe)}`;
        findings.add(name, 'nothing', 'a row of an hour that hours lacks', { kind: 'set aside', rows });
      }
    }
  }
  return none;
};

/** What an hour must have: its minutes, and what must be added to them. undefined where one of them is damaged. */
const expectedHour = (
  rows: BucketRows,
  hour: number,
  minutes: ReadonlyMap<number, MinuteFindings>,
  withEvents: ReadonlySet<string>,
): { readonly tally: Tally; readonly cameras: ReadonlySet<string> } | undefined => {
  if ([...rows.hourRows.values()].includes(DAMAGED)) return undefined;
  let tally: Tally = EMPTY_TALLY;
  const cameras = new Set<string>();
  for (let minute = 0; minute < 60; minute += 1) {
    const stored = sumOfBuckets(rows, minute);
    const found = minutes.get(hour * 60 + minute);
    if (stored.damaged.length > 0) return undefined;
    tally = plus(plus(tally, stored.tally ?? EMPTY_TALLY), found?.tally ?? EMPTY_TALLY);
    for (const id of stored.cameras) if (withEvents.has(id)) cameras.add(id);
    for (const id of found?.missing ?? []) cameras.add(id);
  }
  return { tally, cameras };
};

/** Compares what the rows of a stripe say of one another, and how many stripes there are. */
const compareStripes = (
  findings: Findings,
  { top, totals, later, cameras }: TopReading,
  broken: readonly number[],
): void => {
  const newestCamera = new Map<number, number>();
  for (const rows of cameras.byCamera.values()) {
    for (const [stripe, row] of rows) {
      if (row === undefined || row === DAMAGED) continue;
      newestCamera.set(stripe, Math.max(newestCamera.get(stripe) ?? 0, row.commit));
    }
  }
  for (const { stripe, hours, hourRows } of top.stripes) {
    const total = totals.get(stripe);
    if (total === undefined || total === DAMAGED) continue;
    const stored = [hours, ...hourRows.values()].flatMap((row) =>
      row === undefined || row === DAMAGED ? [] : [row.commit],
    );
    const commit = Math.max(0, newestCamera.get(stripe) ?? 0, ...stored);
    if (commit > total.commit) {
      const remedy = { kind: 'number', stripe, commit } as const;
      findings.add(inWords('commit number of total', stripe), `at least ${commit}`, `${total.commit}`, remedy);
    }
    const active = later.get(stripe);
    if (active !== undefined && active !== DAMAGED && active.cameras.ids.length < listedIn(total)) {
      const name = inWords('number of active cameras of total', stripe);
      const rows: readonly DamagedRows[] = [{ of: 'stripe', stripe }];
      findings.add(name, `${listedIn(total)}`, `${active.cameras.ids.length}`, { kind: 'set aside', rows });
    }
  }
  const { fence, stripes } = top;
  if (stripes.length === 0) return;
  const first = stripes.find(({ stripe }) => stripe === 0)?.total;
  const announced = first === undefined || first === DAMAGED ? undefined : first.stripes;
  const fenced = fence === undefined || fence === DAMAGED ? undefined : fence.stripes;
  const count = Math.max(
    announced ?? 1,
    fenced ?? 1,
    ...stripes.map(({ stripe }) => stripe + 1),
    ...broken.map((stripe) => stripe + 1),
  );
  const remedy = { kind: 'stripes', stripes: count } as const;
  findings.text(
    'number of stripes',
    String(count),
    fenced === undefined ? (fence === DAMAGED ? DAMAGED : 'nothing') : String(fenced),
    remedy,
  );
  if (announced !== undefined) findings.text('number of stripes in total', String(count), String(announced), remedy);
};
