import type { Bucket } from '../rows/bucket-row.ts';
import { ByteReader } from '../rows/byte-stream.ts';
import type { StoredMoment } from '../rows/minute-row.ts';
import { placesIn, unionOfPlaces } from '../rows/bitset.ts';
import { TallySum } from '../rows/tally-bytes.ts';
import type { Tally } from '../model/tally.ts';

/**
 * Adds up what rows of a shard keep by the places of cameras and categories in the shard's lists. The names come last: the
 * lists only grow, so those of a later moment do.
 */
export class ShardSum {
  readonly #tally = new TallySum();
  readonly #cameras = new Set<number>();
  #active: Uint8Array = new Uint8Array();

  /** Adds an hour or a minute. */
  addBucket({ tally, active }: Bucket): void {
    this.#tally.add(new ByteReader(tally));
    this.#active = unionOfPlaces(this.#active, active);
  }

  /** Adds what a camera sent at a microsecond. */
  addMoment({ tally, place }: StoredMoment): void {
    this.#tally.add(new ByteReader(tally));
    this.#cameras.add(place);
  }

  /**
   * The sum's tally.
   *
   * @param categories the shard's list
   * @returns undefined where the list is older than what was added: read it again
   */
  tally(categories: readonly string[]): Tally | undefined {
    return this.#tally.named(categories);
  }

  /**
   * The cameras that sent what was added.
   *
   * @param ids the shard's list
   * @returns undefined where the list is older than what was added: read it again
   */
  cameras(ids: readonly string[]): readonly string[] | undefined {
    const cameras: string[] = [];
    for (const place of new Set([...placesIn(this.#active), ...this.#cameras])) {
      const id = ids[place];
      if (id === undefined) return undefined;
      cameras.push(id);
    }
    return cameras;
  }
}
