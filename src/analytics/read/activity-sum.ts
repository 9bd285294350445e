import { decodingRow } from '../../storage/errors.ts';
import { EMPTY_TALLY, plus, sumOf, type Tally } from '../model/tally.ts';
import { indexesIn, unionOf } from '../rows/bitset.ts';
import type { Bucket } from '../rows/buckets.ts';
import type { StoredSample } from '../rows/minute-row.ts';
import { listsTooShort } from '../rows/stripe-row.ts';
import { inStripe } from '../rows/stripes.ts';
import { ByteReader, TallySum } from '../rows/tally-bytes.ts';

/** The names for the indexes in the rows of a stripe. */
export interface StripeNames {
  readonly stripe: number;
  readonly categories: readonly string[];
  readonly ids: readonly string[];
}

/** The sum of one stripe, by index. */
interface StripeSum extends StripeNames {
  readonly tally: TallySum;
  readonly cameras: Set<number>;
  active: Uint8Array;
}

/**
 * Adds up what the rows of a shard say of one piece of a day: of each stripe by the indexes of cameras and categories, which are named
 * last. Lists are only appended to, so lists that were read later than the rows do as well.
 */
export class ActivitySum {
  readonly #partition: string;
  readonly #stripes: ReadonlyMap<number, StripeSum>;
  /** The sum by name. */
  #named: Tally = EMPTY_TALLY;
  readonly #cameras = new Set<string>();

  constructor(partition: string, stripes: readonly StripeNames[]) {
    this.#partition = partition;
    this.#stripes = new Map(
      stripes.map((names) => [
        names.stripe,
        { ...names, tally: new TallySum(), cameras: new Set(), active: new Uint8Array() },
      ]),
    );
  }

  /** Adds a bucket of the row with a key; undefined: nothing happened in it. */
  addBucket(stripe: number, key: string, bucket: Bucket | undefined): void {
    const own = bucket && this.#add(stripe, key, bucket.tally);
    if (own !== undefined) own.active = unionOf(own.active, bucket?.active ?? own.active);
  }

  /** Adds a sample of the row with a key. */
  addSample(stripe: number, key: string, { tally, cameraIndex }: StoredSample): void {
    this.#add(stripe, key, tally)?.cameras.add(cameraIndex);
  }

  #add(stripe: number, key: string, tally: Uint8Array): StripeSum | undefined {
    const own = this.#stripes.get(stripe);
    const row = { partitionKey: this.#partition, rowKey: inStripe(key, stripe) };
    decodingRow(row, () => own?.tally.add(new ByteReader(tally)));
    return own;
  }

  /** Adds a tally, and the cameras that sent its events. */
  addTally(tally: Tally, cameras: Iterable<string>): void {
    this.#named = plus(this.#named, tally);
    for (const cameraId of cameras) this.#cameras.add(cameraId);
  }

  /** The sum. */
  tally(): Tally {
    const ofStripes = Array.from(this.#stripes.values(), ({ stripe, tally, categories }) => {
      const named = tally.named(categories);
      if (named === undefined) throw listsTooShort(this.#partition, stripe);
      return named;
    });
    return sumOf([...ofStripes, this.#named]);
  }

  /** The distinct cameras. Looks up their ids: ask only if they are needed. */
  cameras(): ReadonlySet<string> {
    const cameras = new Set(this.#cameras);
    for (const own of this.#stripes.values()) {
      for (const index of this.#indexesOf(own)) cameras.add(own.ids[index] ?? '');
    }
    return cameras;
  }

  /** How many cameras those are. */
  countCameras(): number {
    const [only, ...others] = this.#stripes.values();
    // With one stripe the indexes are enough. A minute series of a network would look up more than a million ids.
    if (only === undefined || others.length > 0 || this.#cameras.size > 0) return this.cameras().size;
    return this.#indexesOf(only).size;
  }

  /** The indexes of the cameras of a stripe, each of which its list has. */
  #indexesOf({ stripe, cameras, active, ids }: StripeSum): ReadonlySet<number> {
    const indexes = new Set([...indexesIn(active), ...cameras]);
    for (const index of indexes) if (index >= ids.length) throw listsTooShort(this.#partition, stripe);
    return indexes;
  }
}
