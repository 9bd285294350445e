import { DayClosed } from '../rows/day-shards.ts';
import { readFence, type Fence } from '../rows/fence-row.ts';
import { MAX_STRIPES } from '../rows/stripe-keys.ts';
import type { Table } from '../../storage/table.ts';
import { chooseStripe, readStripeTimes } from './stripe-choice.ts';

/** The stripe that the process used last, in any shard. On another shard it starts there, so that instances keep apart. */
export interface LastStripe {
  stripe: number;
}

/** For so long after none was idle the stripes are not looked at again: where many writers meet, each moves several times in a row. */
const NONE_IDLE_MS = 1_000;

/** The stripe of one shard that a writer writes to. */
export class OwnStripe {
  readonly #table: Table;
  readonly #partition: string;
  readonly #last: LastStripe;
  readonly #onEmpty: () => Promise<void>;
  #number: number;
  /** Whether the stripe may be one that does not exist yet. */
  #mayCreate = false;
  #isNew = false;
  #fence: Fence | undefined;
  #noneIdleUntil = 0;

  /** @param onEmpty called before the first event of the shard is written */
  constructor(table: Table, partition: string, last: LastStripe, onEmpty: () => Promise<void>) {
    this.#table = table;
    this.#partition = partition;
    this.#last = last;
    this.#onEmpty = onEmpty;
    this.#number = last.stripe;
  }

  get number(): number {
    return this.#number;
  }

  /** Whether no stripe of that number existed when the fence was read: where it appears meanwhile, the fence refuses the commit. */
  get isNew(): boolean {
    return this.#isNew;
  }

  /** Where the stripe has no commit yet: the fence as it was read; undefined: the shard has no commit at all. */
  get fence(): Fence | undefined {
    return this.#fence;
  }

  /** Whether the first commit of the stripe may be written. Else another stripe was chosen. @throws {StorageTrouble | DamagedRow | DayClosed} */
  async mayStart(): Promise<boolean> {
    const fence = await readFence(this.#table, this.#partition);
    if (fence?.closed === true) throw new DayClosed();
    this.#fence = fence;
    if (this.#number === 0) {
      if (fence === undefined) await this.#onEmpty();
      return true;
    }
    if (fence !== undefined && this.#mayCreate && this.#number <= fence.stripes) return true;
    this.#number = 0;
    return false;
  }

  /** Moves to an idle stripe, or to a new one. @throws {StorageTrouble | DamagedRow | DayClosed} */
  async move(): Promise<void> {
    const from = this.#number;
    this.#isNew = false;
    const fence = await readFence(this.#table, this.#partition);
    if (fence === undefined) {
      this.#number = 0;
      return;
    }
    if (fence.closed) throw new DayClosed();
    this.#number = await this.#choose(fence);
    this.#mayCreate = true;
    // A number that could not be inserted and that the fence does not count has a row that should not be there: it is read.
    this.#isNew = this.#number === fence.stripes && this.#number !== from;
    if (this.#isNew) this.#fence = fence;
  }

  async #choose(fence: Fence): Promise<number> {
    const now = performance.now();
    if (now < this.#noneIdleUntil && fence.stripes < MAX_STRIPES) return fence.stripes;
    const times = await readStripeTimes(this.#table, this.#partition, fence);
    const chosen = chooseStripe(times, this.#number, fence.stripes);
    if (chosen === fence.stripes) this.#noneIdleUntil = now + NONE_IDLE_MS;
    return chosen;
  }

  /** Notes that the stripe has a commit. */
  used(): void {
    this.#last.stripe = this.#number;
    this.#fence = undefined;
    this.#isNew = false;
  }

  /** Restores the fence that a plan relied on, which failed: what was new then must be read now. */
  restore(fence: Fence | undefined): void {
    this.#fence = fence;
    this.#isNew = false;
  }
}
