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

  readonly now = (): number => this.memory.now();

  readonly create = async (): Promise<boolean> => this.#inTurn({ kind: 'create' }, async () => this.memory.create());

  readonly get: TableConnection['get'] = async (partition, rowKey, selection) =>
    this.#inTurn({ kind: 'get', partition, rowKeys: [rowKey] }, async () =>
      this.memory.get(partition, rowKey, selection),
    );

  readonly page: TableConnection['page'] = async (partition, range, query) =>
    this.#inTurn({ kind: 'page', partition, rowKeys: [range.from], select: query.select }, async () =>
      this.memory.page(partition, range, query),
    );

  readonly firstPartition: TableConnection['firstPartition'] = async (keys) =>
    this.#inTurn({ kind: 'firstPartition' }, async () => this.memory.firstPartition(keys));

  readonly transact: TableConnection['transact'] = async (partition, writes) =>
    this.#inTurn({ kind: 'transact', partition, rowKeys: writes.map(({ rowKey }) => rowKey) }, async () =>
      this.memory.transact(partition, writes),
    );

  async #inTurn<Answer>(
    request: Pick<TableRequest, 'kind'> & Partial<TableRequest>,
    carryOut: () => Promise<Answer>,
  ): Promise<Answer> {
    const then = await this.turn({ partition: '', rowKeys: [], ...request });
    const answer = await carryOut();
    then?.();
    return answer;
  }
}
