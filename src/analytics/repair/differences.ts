import type { Correction } from '../audit/remedy.ts';
import { hourOfMinute } from '../model/day.ts';
import { addTo, EMPTY_TALLY, minus, plus, sumOf, type Tally } from '../model/tally.ts';
import { secondOf } from '../rows/minute-row.ts';
import type { BucketDifference, CounterDifferences, SampleDifference } from '../record/counter-differences.ts';

/** Most counters of one transaction, so that it stays below 90 rows and 4 MiB: a second of samples takes up to 16 KB. */
const CORRECTIONS_A_TRANSACTION = 60;

/** Most seconds of samples of one transaction. */
const SECONDS_A_TRANSACTION = 100;

const secondsIn = (correction: Correction): number =>
  correction.of === 'samples' ? new Set(correction.samples.map(({ microsecond }) => secondOf(microsecond))).size : 0;

/** Corrections in groups that each fit into one transaction. */
export const inTransactions = (corrections: readonly Correction[]): readonly (readonly Correction[])[] => {
  const groups: Correction[][] = [];
  let seconds = Infinity;
  for (const correction of corrections) {
    const last = groups.at(-1);
    seconds += secondsIn(correction);
    if (last === undefined || last.length === CORRECTIONS_A_TRANSACTION || seconds > SECONDS_A_TRANSACTION) {
      groups.push([correction]);
      seconds = secondsIn(correction);
    } else last.push(correction);
  }
  return groups;
};

/** No counts, and the categories of a tally. */
const zerosOf = (tally: Tally): Tally => minus(tally, tally);

const addBucket = (
  buckets: Map<number, BucketDifference>,
  number: number,
  tally: Tally,
  ids: readonly string[],
): void => {
  const before = buckets.get(number) ?? { tally: EMPTY_TALLY, cameras: [] };
  buckets.set(number, { tally: plus(before.tally, tally), cameras: [...before.cameras, ...ids] });
};

/**
 * Corrections as differences that the recorder's commits can make. Where a counter of a stripe has a category, an hour or a minute,
 * the counters above it must have it as well, with zeros.
 */
export const differencesFor = (corrections: readonly Correction[]): CounterDifferences => {
  let day: Tally = EMPTY_TALLY;
  const listed: string[] = [];
  const hours = new Map<number, BucketDifference>();
  const minutes = new Map<number, BucketDifference>();
  const samples = new Map<number, SampleDifference[]>();
  const cameras = new Map<string, { day: Tally; hours: Map<number, Tally>; minutes: Map<number, Tally> }>();
  const ofCamera = (cameraId: string) => {
    const camera = cameras.get(cameraId) ?? { day: EMPTY_TALLY, hours: new Map(), minutes: new Map() };
    cameras.set(cameraId, camera);
    return camera;
  };
  for (const correction of corrections) {
    const tally =
      correction.of === 'samples' ? sumOf(correction.samples.map((sample) => sample.tally)) : correction.tally;
    day = plus(day, zerosOf(tally));
    switch (correction.of) {
      case 'total':
        day = plus(day, tally);
        listed.push(...correction.cameras);
        break;
      case 'hour':
        addBucket(hours, correction.hour, tally, correction.cameras);
        break;
      case 'minute':
        addBucket(hours, hourOfMinute(correction.minute), EMPTY_TALLY, []);
        addBucket(minutes, correction.minute, tally, correction.cameras);
        break;
      case 'samples':
        addBucket(hours, hourOfMinute(correction.minute), EMPTY_TALLY, []);
        addBucket(minutes, correction.minute, EMPTY_TALLY, []);
        samples.set(correction.minute, [...(samples.get(correction.minute) ?? []), ...correction.samples]);
        break;
      case 'camera':
      case 'camera hour':
      case 'camera minute': {
        const camera = ofCamera(correction.cameraId);
        camera.day = plus(camera.day, correction.of === 'camera' ? tally : zerosOf(tally));
        if (correction.of === 'camera hour') addTo(camera.hours, correction.hour, tally);
        if (correction.of === 'camera minute') addTo(camera.minutes, correction.minute, tally);
        break;
      }
    }
  }
  return { day, hours, minutes, samples, cameras, listed };
};
