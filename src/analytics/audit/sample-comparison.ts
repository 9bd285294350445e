import { addTo, sumOf, type Tally } from '../model/tally.ts';
import { ByteReader } from '../rows/bytes.ts';
import { twoDigits } from '../rows/keys.ts';
import { DecodeError } from '../../storage/errors.ts';
import { overflowedSecondsOf, samplesOf, SECOND, secondOf, type MinuteRow } from '../rows/minute-row.ts';
import { readTally } from '../rows/tally-bytes.ts';
import { correctionOf, DAMAGED, decodedOr, tallyText, type Findings } from './findings.ts';
import type { MinuteReading } from './minute-reading.ts';
import type { Remedy, SampleCorrection } from './remedy.ts';
import { nameIn, type Names } from './stored-sums.ts';
import type { CountedEvent } from './stored-events.ts';

/** Tallies by camera id and microsecond of the minute. */
type Samples = Map<string, Tally>;

/** A camera at a microsecond of the minute, in words. */
const nameOf = (microsecond: number, cameraId: string): string =>
  `${String(microsecond % SECOND).padStart(6, '0')} µs ${cameraId}`;

const inWords = (samples: Samples): ReadonlySet<string> =>
  new Set(Array.from(samples, ([name, tally]) => `${name} (${tallyText(tally)})`));

/** Stored samples; one that is right is as expected in words as well. */
const asExpected = (stored: Samples, expected: Samples): Samples =>
  new Map(
    Array.from(stored, ([name, tally]) => {
      const own = expected.get(name);
      return [name, own !== undefined && correctionOf(own, tally) === undefined ? own : tally];
    }),
  );

/** The samples that the events of a second make, and where each is. */
const expectedOf = (events: readonly CountedEvent[]): { samples: Samples; at: ReadonlyMap<string, CountedEvent> } => {
  const samples: Samples = new Map();
  const at = new Map<string, CountedEvent>();
  for (const [name, own] of Map.groupBy(events, ({ microsecond, cameraId }) => nameOf(microsecond, cameraId))) {
    samples.set(name, sumOf(own.map(({ contribution }) => contribution)));
    if (own[0] !== undefined) at.set(name, own[0]);
  }
  return { samples, at };
};

/** The stored samples of a second, summed over the stripes; undefined where it has overflowed in one: readers use its event rows. */
const storedOf = ({ rows, namesOf }: MinuteReading, second: number): Samples | undefined => {
  const sums: Samples = new Map();
  for (const { stripe, row } of rows) {
    if (row === undefined || row === DAMAGED) continue;
    const names = namesOf(stripe);
    const samples = samplesOf(row.value, second * SECOND, (second + 1) * SECOND - 1);
    if (samples === undefined) return undefined;
    for (const { microsecond, cameraIndex, tally } of samples) {
      const named = readTally(new ByteReader(tally), names.categories);
      if (named === undefined) throw new DecodeError('a sample has a category that the total lacks');
      addTo(sums, nameOf(microsecond, nameIn(names, cameraIndex)), named);
    }
  }
  return sums;
};

/**
 * Compares the samples of a minute with its events, second by second.
 *
 * @param clock the minute, `08:15`
 */
export const compareSamples = (findings: Findings, clock: string, reading: MinuteReading): void => {
  const { minute, events, rows } = reading;
  for (const { row, rowKey } of rows) {
    const remedy: Remedy = { kind: 'set aside', rows: [{ of: 'row', rowKey }] };
    if (row === DAMAGED) findings.add(`samples of minute ${clock}`, 'samples', DAMAGED, remedy);
  }
  if (rows.some(({ row }) => row === DAMAGED)) return;
  const bySecond = Map.groupBy(events, ({ microsecond }) => secondOf(microsecond));
  const stored = rows.flatMap(({ row }) => (row === undefined || row === DAMAGED ? [] : [...row.value.keys()]));
  const seconds = new Set([...bySecond.keys(), ...stored]);
  for (const second of [...seconds].sort((left, right) => left - right)) {
    const counter = `samples of second ${clock}:${twoDigits(second)}`;
    const { samples, at } = expectedOf(bySecond.get(second) ?? []);
    const setAside = (): Remedy => ({
      kind: 'set aside',
      rows: rows.flatMap(({ rowKey, row }) =>
        row !== undefined && row !== DAMAGED && row.value.has(second) ? [{ of: 'row', rowKey }] : [],
      ),
    });
    const found = decodedOr(() => storedOf(reading, second));
    if (found === DAMAGED) findings.add(counter, `${samples.size}`, DAMAGED, setAside());
    else if (found !== undefined) {
      findings.names(counter, inWords(samples), inWords(asExpected(found, samples)), () => {
        if ([...found.keys()].some((name) => !samples.has(name))) return setAside();
        const corrections = Array.from(samples, ([name, tally]): SampleCorrection[] => {
          const [added, event] = [correctionOf(tally, found.get(name)), at.get(name)];
          if (added === undefined || event === undefined) return [];
          return [{ microsecond: event.microsecond, cameraId: event.cameraId, tally: added }];
        });
        return { kind: 'add', corrections: [{ of: 'samples', minute, samples: corrections.flat() }] };
      });
    }
  }
};

/**
 * The events of a minute of a closed day as its samples say: a sample stands for its events. Those of the seconds that have
 * overflowed in any stripe are taken from the event rows that are left.
 *
 * @param clock the minute, `08:15`
 */
export const eventsOfSamples = (
  findings: Findings,
  clock: string,
  { minute, events: left, rows, namesOf }: MinuteReading,
): readonly CountedEvent[] => {
  const overflowed = new Set(
    rows.flatMap(({ row }) => (row === undefined || row === DAMAGED ? [] : overflowedSecondsOf(row.value))),
  );
  const events = left.filter(({ microsecond }) => overflowed.has(secondOf(microsecond)));
  for (const { stripe, row } of rows) {
    if (row === undefined) continue;
    const own = row === DAMAGED ? DAMAGED : decodedOr(() => eventsIn(minute, namesOf(stripe), row.value, overflowed));
    // A closed day is not repaired.
    if (own === DAMAGED) findings.addOnce(`samples of minute ${clock}`, 'samples', DAMAGED, { kind: 'none' });
    else events.push(...own);
  }
  return events;
};

/** The events that the samples of a row stand for, without those of some seconds. @throws {DecodeError} */
const eventsIn = (
  minute: number,
  names: Names,
  row: MinuteRow,
  overflowed: ReadonlySet<number>,
): readonly CountedEvent[] => {
  const others = new Map([...row].filter(([second]) => !overflowed.has(second)));
  const samples = samplesOf(others, 0, 60 * SECOND - 1) ?? [];
  return samples.map(({ microsecond, cameraIndex, tally }) => {
    const contribution = readTally(new ByteReader(tally), names.categories);
    if (contribution === undefined) throw new DecodeError('a sample has a category that the total lacks');
    return { cameraId: nameIn(names, cameraIndex), minute, microsecond, contribution };
  });
};
