import { sumOf, type Tally } from '../model/tally.ts';
import type { Bucket } from '../rows/hour-rows.ts';
import { listsTooShort } from '../rows/total-row.ts';
import type { EventTally, PartialMinuteReading } from './samples.ts';
import type { StripeReading } from './shard-reading.ts';
import { ShardSum } from './shard-sum.ts';

/** What happened in a piece of a day, in one shard. */
export interface PieceActivity {
  readonly tally: Tally;
  /** The distinct cameras that sent events. Looks up their ids: ask only where they are needed. */
  readonly cameras: () => ReadonlySet<string>;
  /** How many cameras those are. */
  readonly countCameras: () => number;
}

/** Known cameras, for a {@link PieceActivity}. */
export const knownCameras = (
  ids: readonly string[],
): { readonly cameras: () => ReadonlySet<string>; readonly countCameras: () => number } => {
  const cameras = new Set(ids);
  return { cameras: () => cameras, countCameras: () => cameras.size };
};

interface StripeSum {
  readonly stripe: number;
  readonly sum: ShardSum;
  readonly categories: readonly string[];
  readonly ids: readonly string[];
}

/** Adds up what the rows of a shard say of one part of the day, each stripe by its own lists of cameras and categories. */
export class PartSum {
  readonly #partition: string;
  readonly #stripes: ReadonlyMap<number, StripeSum>;
  readonly #events: EventTally[] = [];

  constructor(partition: string, stripes: readonly StripeReading[]) {
    this.#partition = partition;
    this.#stripes = new Map(
      stripes.map(({ stripe, total }) => [
        stripe,
        {
          stripe,
          sum: new ShardSum(),
          categories: [...(total?.tally?.categories.keys() ?? [])],
          ids: total?.cameras?.ids ?? [],
        },
      ]),
    );
  }

  /** @throws {DecodeError} where the bucket cannot be decoded */
  addBucket(stripe: number, bucket: Bucket): void {
    this.#stripes.get(stripe)?.sum.addBucket(bucket);
  }

  /** @throws {DecodeError} where a sample cannot be decoded */
  addSamples({ samples, events }: PartialMinuteReading): void {
    for (const [stripe, own] of samples) for (const sample of own) this.#stripes.get(stripe)?.sum.addSample(sample);
    this.#events.push(...events);
  }

  /** The sum. @throws {DamagedRow} where the lists lack a category */
  tally(): Tally {
    return sumOf([
      ...Array.from(this.#stripes.values(), ({ stripe, sum, categories }) =>
        this.#listed(stripe, sum.tally(categories)),
      ),
      ...this.#events.map(({ tally }) => tally),
    ]);
  }

  /** The sum, with its cameras. @throws {DamagedRow} where the lists lack a camera or a category */
  activity(): PieceActivity {
    return { tally: this.tally(), cameras: () => this.#cameras(), countCameras: () => this.#countCameras() };
  }

  #cameras(): ReadonlySet<string> {
    const cameras = new Set(this.#events.map(({ cameraId }) => cameraId));
    for (const { stripe, sum, ids } of this.#stripes.values()) {
      for (const id of this.#listed(stripe, sum.cameras(ids))) cameras.add(id);
    }
    return cameras;
  }

  #countCameras(): number {
    const [only, ...others] = this.#stripes.values();
    // With one stripe the indexes are enough. A minute series of a network would look up more than a million ids.
    if (only !== undefined && others.length === 0 && this.#events.length === 0) {
      return this.#listed(only.stripe, only.sum.countCameras(only.ids.length));
    }
    return this.#cameras().size;
  }

  #listed<Result>(stripe: number, result: Result | undefined): Result {
    if (result === undefined) throw listsTooShort(this.#partition, stripe);
    return result;
  }
}
