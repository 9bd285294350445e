import { hourOfMinute } from '../model/day.ts';
import { EMPTY_TALLY, sumOf, type Tally } from '../model/tally.ts';
import { twoDigits } from '../rows/keys.ts';
import { DAMAGED, Findings } from './findings.ts';
import type { MinuteReading } from './minute-reading.ts';
import type { DamagedRows } from './remedy.ts';
import { compareSamples, eventsOfSamples } from './sample-comparison.ts';
import { stripesThatName, sumOfBuckets } from './stored-sums.ts';

/** What differs in one minute. */
export interface MinuteFindings {
  readonly findings: Findings;
  /** The cameras that have events. */
  readonly withEvents: ReadonlySet<string>;
  /** What must be added to its bucket. */
  readonly tally: Tally;
  /** The cameras that must become active in its bucket. */
  readonly missing: readonly string[];
  /** What must be added to the minute of each camera. */
  readonly cameras: ReadonlyMap<string, Tally>;
}

/** A minute of the day (0 to 1439) as reports have it: `08:15`. */
export const clockOf = (minute: number): string => `${twoDigits(hourOfMinute(minute))}:${twoDigits(minute % 60)}`;

/** Compares the counters of one minute with its events; of a closed day with the events that its samples stand for. */
export const compareMinute = (shard: number, reading: MinuteReading): MinuteFindings => {
  const { minute, rows, hourRows } = reading;
  const [clock, hour] = [clockOf(minute), hourOfMinute(minute)];
  const findings = new Findings(shard);
  const events = reading.closed ? eventsOfSamples(findings, clock, reading) : reading.events;
  const ofCameras = new Map(
    Array.from(
      Map.groupBy(events, ({ cameraId }) => cameraId),
      ([cameraId, own]) => [cameraId, sumOf(own.map(({ contribution }) => contribution))],
    ),
  );
  const cameras = new Map<string, Tally>();
  for (const cameraId of new Set([...ofCameras.keys(), ...reading.cameras.keys()])) {
    const stored = reading.cameras.get(cameraId);
    if (stored === DAMAGED) continue;
    const name = `camera ${cameraId} minute ${clock}`;
    const toAdd = findings.tally(name, ofCameras.get(cameraId), stored, (tally) => ({
      of: 'camera minute',
      cameraId,
      minute,
      tally,
    }));
    if (toAdd !== undefined) cameras.set(cameraId, toAdd);
  }

  for (const { rowKey, stripe } of rows) {
    const row = hourRows.get(stripe);
    if (row === DAMAGED || row?.value.has(minute % 60) === true) continue;
    // A recorder takes it that this row does not exist, and fails to insert it.
    const setAside: DamagedRows = { of: 'row', rowKey };
    findings.add(`row ${rowKey}`, 'nothing', 'a row of a minute that its hour lacks', {
      kind: 'set aside',
      rows: [setAside],
    });
  }
  if (!reading.closed) compareSamples(findings, clock, reading);

  let tally: Tally = EMPTY_TALLY;
  let missing: readonly string[] = [];
  const expected = events.length === 0 ? undefined : sumOf(ofCameras.values());
  const stored = sumOfBuckets(reading, minute % 60);
  const damaged = stored.damaged.map((stripe): DamagedRows => ({ of: 'hour', stripe, hour }));
  if (damaged.length > 0) {
    findings.add(`minute ${clock}`, 'a tally', DAMAGED, { kind: 'set aside', rows: damaged });
  } else {
    tally =
      findings.tally(`minute ${clock}`, expected, stored.tally, (added) => ({
        of: 'minute',
        minute,
        tally: added,
        cameras: [],
      })) ?? EMPTY_TALLY;
  }
  findings.names(`active cameras of minute ${clock}`, new Set(ofCameras.keys()), stored.cameras, (lacking, extra) => {
    missing = lacking;
    return extra.length > 0
      ? {
          kind: 'set aside',
          rows: stripesThatName(reading, minute % 60, extra).map((stripe) => ({ of: 'hour', stripe, hour })),
        }
      : { kind: 'add', corrections: [{ of: 'minute', minute, tally: EMPTY_TALLY, cameras: lacking }] };
  });
  return { findings, withEvents: new Set(ofCameras.keys()), tally, missing, cameras };
};
