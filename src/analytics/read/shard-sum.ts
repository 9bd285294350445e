import type { Tally } from '../model/tally.ts';
import { indexesIn, unionOf } from '../rows/bitset.ts';
import { ByteReader } from '../rows/bytes.ts';
import type { Bucket } from '../rows/hour-rows.ts';
import type { StoredSample } from '../rows/minute-row.ts';
import { TallySum } from '../rows/tally-bytes.ts';

/**
 * Adds up rows of a shard by the indexes of cameras and categories in the shard's lists. The names are looked up last: the lists
 * are only appended to, so lists that are read later do as well.
 */
export class ShardSum {
  readonly #tally = new TallySum();
  readonly #cameras = new Set<number>();
  #active: Uint8Array = new Uint8Array();

  /** @throws {DecodeError} where the bucket cannot be decoded */
  addBucket({ tally, active }: Bucket): void {
    this.#tally.add(new ByteReader(tally));
    this.#active = unionOf(this.#active, active);
  }

  /** @throws {DecodeError} where the sample cannot be decoded */
  addSample({ tally, cameraIndex }: StoredSample): void {
    this.#tally.add(new ByteReader(tally));
    this.#cameras.add(cameraIndex);
  }

  /** The sum; undefined where the shard's list of categories is older than what was added: read it again. */
  tally(categories: readonly string[]): Tally | undefined {
    return this.#tally.named(categories);
  }

  /** How many cameras sent it; undefined where the shard's list of so many cameras is older than what was added. */
  countCameras(listed: number): number | undefined {
    const indexes = this.#indexes();
    for (const index of indexes) if (index >= listed) return undefined;
    return indexes.size;
  }

  /** The cameras that sent it; undefined where the shard's list of cameras is older than what was added: read it again. */
  cameras(ids: readonly string[]): readonly string[] | undefined {
    const cameras: string[] = [];
    for (const index of this.#indexes()) {
      const id = ids[index];
      if (id === undefined) return undefined;
      cameras.push(id);
    }
    return cameras;
  }

  #indexes(): ReadonlySet<number> {
    return new Set([...indexesIn(this.#active), ...this.#cameras]);
  }
}
