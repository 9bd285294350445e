import type { Table } from '../../storage/table.ts';
import type { Day } from '../model/day.ts';
import type { DayShards, Manifest } from '../rows/day-shards.ts';
import { TOTAL_KEY } from '../rows/keys.ts';
import { readFence, type Fence, inStripe, MAX_STRIPES } from '../rows/stripes.ts';
import type { KnownRowsOfShard } from './known-rows.ts';

/** A stripe whose latest commit is so much older than the newest of its shard is idle: its instance left, or hardly writes. */
const IDLE_MS = 15_000;

/**
 * The stripe for a writer that met another one in its own: an idle stripe, one of several at random so that two writers who move
 * at the same time rarely meet again; else a new one; else, if there can be no more, any other.
 *
 * @param written when each stripe was last written, in milliseconds since 1970 by the clock of storage
 * @param random from 0 to less than 1
 */
export const chooseStripe = (
  written: readonly (number | undefined)[],
  current: number,
  random: number = Math.random(),
): number => {
  const newest = Math.max(...written.map((time = 0) => time));
  const others = [...written.keys()].filter((stripe) => stripe !== current && written[stripe] !== undefined);
  const idle = others.filter((stripe) => newest - (written[stripe] ?? newest) >= IDLE_MS);
  if (idle.length === 0 && written.length < MAX_STRIPES) return written.length;
  const choice = idle.length > 0 ? idle : others;
  return choice[Math.floor(random * choice.length)] ?? current;
};

/** A shard of a day that is written to, and what is known of it. */
export interface WrittenShard {
  readonly table: Table;
  readonly day: Day;
  /** As it was before anything of the shard was read. */
  readonly manifest: Manifest;
  readonly manifests: DayShards;
  readonly partition: string;
  readonly known: KnownRowsOfShard;
  /** The categories that always find room. */
  readonly knownCategories: ReadonlySet<string>;
}

/** For so long after none was idle the stripes are not looked at again: where many writers meet, each moves several times in a row. */
const NONE_IDLE_MS = 1_000;

/** The stripe of one shard that a writer writes to. */
export class OwnStripe {
  readonly #shard: WrittenShard;
  #number: number;
  /** Whether the stripe may be one that does not exist yet. */
  #mayCreate = false;
  #isNew = false;
  #fence: Fence | undefined;
  #noneIdleUntil = 0;

  constructor(shard: WrittenShard) {
    this.#shard = shard;
    this.#number = shard.known.ofProcess.lastStripe;
  }

  get number(): number {
    return this.#number;
  }

  /**
   * Whether no stripe of that number existed when the fence was read: if it appears meanwhile, the fence refuses the commit. Says so
   * once: after a failed commit the stripe must be read.
   */
  takeNew(): boolean {
    const isNew = this.#isNew;
    this.#isNew = false;
    return isNew;
  }

  /** If the stripe has no commit yet: the fence as it was read; undefined: the shard has no commit at all. */
  get fence(): Fence | undefined {
    return this.#fence;
  }

  /** Whether the first commit of the stripe may be written. Else another stripe was chosen. @throws {StorageTrouble | DamagedRow} */
  async mayStart(): Promise<boolean> {
    const fence = await readFence(this.#shard.table, this.#shard.partition);
    this.#fence = fence;
    if (this.#number === 0) return true;
    if (fence !== undefined && this.#mayCreate && this.#number <= fence.stripes) return true;
    this.#number = 0;
    return false;
  }

  /** Moves to an idle stripe, or to a new one. @throws {StorageTrouble | DamagedRow} */
  async move(): Promise<void> {
    const from = this.#number;
    this.#isNew = false;
    const fence = await readFence(this.#shard.table, this.#shard.partition);
    if (fence === undefined) {
      this.#number = 0;
      return;
    }
    this.#number = await this.#choose(fence);
    this.#mayCreate = true;
    // A number that could not be inserted and that the fence does not count has a row that should not be there: it is read.
    this.#isNew = this.#number === fence.stripes && this.#number !== from;
    if (this.#isNew) this.#fence = fence;
  }

  async #choose(fence: Fence): Promise<number> {
    const now = performance.now();
    if (now < this.#noneIdleUntil && fence.stripes < MAX_STRIPES) return fence.stripes;
    const { table, partition } = this.#shard;
    // By keys: a query may cost more, and tells no more.
    const written = await Promise.all(
      Array.from({ length: fence.stripes }, async (_, stripe) => {
        const row = await table.get(partition, inStripe(TOTAL_KEY, stripe), { select: ['Timestamp'] });
        const time = Date.parse(String(row?.properties['timestamp']));
        return Number.isNaN(time) ? undefined : time;
      }),
    );
    const chosen = chooseStripe(written, this.#number);
    if (chosen === fence.stripes) this.#noneIdleUntil = now + NONE_IDLE_MS;
    return chosen;
  }

  /** Notes that the stripe has a commit. */
  used(): void {
    this.#shard.known.ofProcess.lastStripe = this.#number;
    this.#fence = undefined;
  }
}
