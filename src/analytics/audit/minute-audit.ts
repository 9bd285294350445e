import { hourOfMinute, microsecondOfMinute } from '../model/day.ts';
import { instantFrom, type Instant } from '../model/instant.ts';
import { addTo, EMPTY_TALLY, type Tally } from '../model/tally.ts';
import { ActivitySum, type StripeNames } from '../read/activity-sum.ts';
import {
  differencesOf,
  type BucketDifference,
  type Change,
  type SampleDifference,
} from '../record/counter-differences.ts';
import type { Bucket } from '../rows/hour-rows.ts';
import { twoDigits } from '../rows/keys.ts';
import { overflowedSecondsOf, samplesOf, SECOND, secondOf, type MinuteRow } from '../rows/minute-row.ts';
import { ByteReader, readTally } from '../rows/tally-bytes.ts';
import { listsTooShort } from '../rows/total-row.ts';
import { decodedOr, Findings, type DamagedRows } from './findings.ts';

/** What one row of a stripe holds. */
export interface OfStripe<Value> {
  readonly rowKey: string;
  readonly names: StripeNames;
  readonly value: Value;
}

/** What was read of one minute of a shard: none of its counters changed between the first and the last read. */
export interface MinuteReading {
  readonly partition: string;
  readonly shard: number;
  /** Minute of the day, 0 to 1439. */
  readonly minute: number;
  /** Its first microsecond. */
  readonly start: Instant;
  /** Its events; of a closed day those of the seconds that have overflowed. */
  readonly events: readonly Change[];
  /** Whether the day is closed: the samples stand for the event rows that are gone. */
  readonly closed: boolean;
  readonly samples: readonly OfStripe<MinuteRow>[];
  readonly buckets: readonly OfStripe<Bucket>[];
  /** By camera id. */
  readonly cameras: ReadonlyMap<string, Tally>;
}

/** What must be added to the counters of a minute, in the form of a commit. */
export interface MinuteDifference {
  readonly bucket: BucketDifference | undefined;
  readonly samples: readonly SampleDifference[];
  /** By camera id. */
  readonly cameras: ReadonlyMap<string, Tally>;
  /** The cameras that have events. */
  readonly withEvents: ReadonlySet<string>;
  readonly findings: Findings;
}

/** A minute of the day (0 to 1439) as reports have it: `08:15`. */
export const clockOf = (minute: number): string => `${twoDigits(hourOfMinute(minute))}:${twoDigits(minute % 60)}`;

/** Subtracts the counters of a minute from its events, folded as they are when they are recorded. */
export const auditMinute = (reading: MinuteReading): MinuteDifference => {
  const { minute, shard, closed } = reading;
  const findings = new Findings(shard);
  const stored = storedSamples(findings, reading);
  const events = closed ? [...changesOf(reading, stored), ...reading.events] : reading.events;
  const expected = differencesOf(events);
  const expectedBucket = expected.minutes.get(minute);
  const cameras = new Map<string, Tally>();
  for (const cameraId of new Set([...expected.cameras.keys(), ...reading.cameras.keys()])) {
    const left = findings.tally(
      `camera ${cameraId} minute ${clockOf(minute)}`,
      expected.cameras.get(cameraId)?.minutes.get(minute),
      reading.cameras.get(cameraId),
    );
    if (left !== undefined) cameras.set(cameraId, left);
  }
  const samples = closed ? [] : subtractSamples(findings, reading, expected.samples.get(minute) ?? [], stored);
  const bucket = subtractBucket(
    findings,
    `minute ${clockOf(minute)}`,
    expectedBucket,
    reading.buckets,
    reading.partition,
  );
  return { bucket, samples, cameras, withEvents: new Set(expected.cameras.keys()), findings };
};

/**
 * Subtracts a bucket, summed over the stripes, from what it should be.
 *
 * @returns what must be added to it; undefined: nothing
 */
export const subtractBucket = (
  findings: Findings,
  counter: string,
  expected: BucketDifference | undefined,
  rows: readonly OfStripe<Bucket>[],
  partition: string,
): BucketDifference | undefined => {
  const stored = sumOfBuckets(findings, rows, partition);
  const tally = findings.tally(counter, expected?.tally, stored.tally());
  const extraIn = (extra: ReadonlySet<string>): readonly DamagedRows[] =>
    rows
      .filter((row) => !sumOfBuckets(findings, [row], partition).cameras().isDisjointFrom(extra))
      .map(({ rowKey }) => ({ of: 'row', rowKey }));
  const missing = findings.names(`active cameras of ${counter}`, new Set(expected?.cameras), stored.cameras(), extraIn);
  if (tally === undefined && missing.length === 0) return undefined;
  return { tally: tally ?? EMPTY_TALLY, cameras: missing };
};

/** The sum of a bucket over the stripes; a row that cannot be decoded is left out and reported. */
export const sumOfBuckets = (findings: Findings, rows: readonly OfStripe<Bucket>[], partition: string): ActivitySum => {
  const add = (sum: ActivitySum, { names, value }: OfStripe<Bucket>): void => sum.addBucket(names.stripe, value);
  const whole = rows.filter((row) => {
    const alone = new ActivitySum(partition, [row.names]);
    const decode = (): true => {
      add(alone, row);
      alone.tally();
      alone.cameras();
      return true;
    };
    return decodedOr(decode, (damage) => findings.damaged(row.rowKey, damage));
  });
  const sum = new ActivitySum(
    partition,
    whole.map(({ names }) => names),
  );
  for (const row of whole) add(sum, row);
  return sum;
};

/** What is stored of the samples of a minute. */
interface StoredSamples {
  /** Seconds that have overflowed in any stripe: readers take their event rows. */
  readonly overflowed: ReadonlySet<number>;
  /** Summed over the stripes, without those seconds, by {@link nameOf}. */
  readonly sums: ReadonlyMap<string, SampleDifference>;
}

/** A camera at a microsecond of the minute, in words. */
const nameOf = ({ microsecond, cameraId }: Pick<SampleDifference, 'microsecond' | 'cameraId'>): string =>
  `${String(microsecond % SECOND).padStart(6, '0')} µs of second ${secondOf(microsecond)}, ${cameraId}`;

const storedSamples = (findings: Findings, { samples: rows, partition }: MinuteReading): StoredSamples => {
  const overflowed = new Set(rows.flatMap(({ value }) => overflowedSecondsOf(value)));
  const all: SampleDifference[] = [];
  for (const { rowKey, names, value } of rows) {
    const others = new Map([...value].filter(([second]) => !overflowed.has(second)));
    const own = decodedOr(
      () =>
        (samplesOf(others, 0, 60 * SECOND - 1) ?? []).map(({ microsecond, cameraIndex, tally: bytes }) => {
          const [cameraId, tally] = [names.ids[cameraIndex], readTally(new ByteReader(bytes), names.categories)];
          if (cameraId === undefined || tally === undefined) throw listsTooShort(partition, names.stripe);
          return { microsecond, cameraId, tally };
        }),
      (damage) => findings.damaged(rowKey, damage),
    );
    all.push(...(own ?? []));
  }
  return { overflowed, sums: summed(all) };
};

const summed = (samples: readonly SampleDifference[]): ReadonlyMap<string, SampleDifference> => {
  const tallies = new Map<string, Tally>();
  for (const sample of samples) addTo(tallies, nameOf(sample), sample.tally);
  return new Map(
    samples.map((sample) => [nameOf(sample), { ...sample, tally: tallies.get(nameOf(sample)) ?? sample.tally }]),
  );
};

/** Samples as the changes that their events made. */
const changesOf = ({ minute, start }: MinuteReading, { sums }: StoredSamples): readonly Change[] =>
  Array.from(sums.values(), ({ microsecond, cameraId, tally }) => ({
    keyed: {
      minute,
      hour: hourOfMinute(minute),
      message: { ts: instantFrom(start + BigInt(microsecond)), cameraId },
    },
    difference: tally,
  }));

/** The events of a closed day's minute that its samples do not stand for: those of overflowed seconds. */
export const withoutSamples = (events: readonly Change[], rows: readonly OfStripe<MinuteRow>[]): readonly Change[] => {
  const overflowed = new Set(rows.flatMap(({ value }) => overflowedSecondsOf(value)));
  return events.filter(({ keyed }) => overflowed.has(secondOf(microsecondOfMinute(keyed.message.ts))));
};

const subtractSamples = (
  findings: Findings,
  { minute, samples: rows }: MinuteReading,
  events: readonly SampleDifference[],
  { overflowed, sums: stored }: StoredSamples,
): readonly SampleDifference[] => {
  const expected = summed(events.filter(({ microsecond }) => !overflowed.has(secondOf(microsecond))));
  const left: SampleDifference[] = [];
  const bySecond = Map.groupBy(new Map([...stored, ...expected]), ([, { microsecond }]) => secondOf(microsecond));
  for (const [second, samples] of bySecond) {
    findings.compared += 1;
    const own = new Findings(0);
    for (const [name, sample] of samples) {
      const tally = own.tally(name, expected.get(name)?.tally, stored.get(name)?.tally);
      if (tally !== undefined) left.push({ ...sample, tally });
    }
    const [first] = own.differences;
    if (first === undefined) continue;
    const counter = `samples of second ${clockOf(minute)}:${twoDigits(second)}`;
    const text = (what: 'expected' | 'stored'): string =>
      own.differences.map((one) => `${one.counter}: ${one[what]}`).join('; ');
    // A sample stays a sample, whatever is added to it: its camera would be active.
    const isExtra = samples.some(([name]) => !expected.has(name));
    const holding = rows.filter(({ value }) => value.has(second));
    findings.add(
      counter,
      text('expected'),
      text('stored'),
      isExtra
        ? { kind: 'set aside', rows: holding.map(({ rowKey }): DamagedRows => ({ of: 'row', rowKey })) }
        : undefined,
    );
  }
  return left;
};
