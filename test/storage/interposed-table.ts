import type { TableConnection } from '../../src/storage/connection.ts';
import { MemoryTable } from './memory-table.ts';

/** A request to a table. */
export interface TableRequest {
  readonly kind: 'get' | 'page' | 'transact' | 'create' | 'firstPartition';
  /** Empty for `create` and `firstPartition`. */
  readonly partition: string;
  /** The keys that it names: a page names the first of its range. */
  readonly rowKeys: readonly string[];
  /** The properties that a page has; undefined: all. */
  readonly select?: readonly string[] | undefined;
}

/** Runs before a request, and may throw in its place. The function that it returns runs after the request, and may lose its answer. */
export type Turn = (request: TableRequest) => Promise<(() => void) | undefined | void>;

/** A connection of one process to a table in memory, with a test in front of it. */
export class InterposedTable implements TableConnection {
  turn: Turn;
  readonly memory: MemoryTable;

  constructor(turn: Turn = async () => undefined, memory = new MemoryTable()) {
    this.turn = turn;
    this.memory = memory;
  }

  now(): number {
    return this.memory.now();
  }

  async create(): Promise<void> {
    return this.#inTurn({ kind: 'create', partition: '', rowKeys: [] }, async () => this.memory.create());
  }

  async get(...args: Parameters<MemoryTable['get']>): ReturnType<MemoryTable['get']> {
    const [partition, rowKey] = args;
    return this.#inTurn({ kind: 'get', partition, rowKeys: [rowKey] }, async () => this.memory.get(...args));
  }

  async page(...args: Parameters<MemoryTable['page']>): ReturnType<MemoryTable['page']> {
    const [partition, { from }, { select }] = args;
    const request = { kind: 'page', partition, rowKeys: [from], select } as const;
    return this.#inTurn(request, async () => this.memory.page(...args));
  }

  async firstPartition(...args: Parameters<MemoryTable['firstPartition']>): Promise<string | undefined> {
    const request = { kind: 'firstPartition', partition: '', rowKeys: [] } as const;
    return this.#inTurn(request, async () => this.memory.firstPartition(...args));
  }

  async transact(...args: Parameters<MemoryTable['transact']>): Promise<readonly string[]> {
    const [partition, writes] = args;
    const request = { kind: 'transact', partition, rowKeys: writes.map(({ rowKey }) => rowKey) } as const;
    return this.#inTurn(request, async () => this.memory.transact(...args));
  }

  async #inTurn<Answer>(request: TableRequest, carryOut: () => Promise<Answer>): Promise<Answer> {
    const then = await this.turn(request);
    const answer = await carryOut();
    then?.();
    return answer;
  }
}
