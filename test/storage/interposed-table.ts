import type { RowWrite } from '../../src/storage/row.ts';
import { MemoryTable } from './memory-table.ts';

/** A request to a table. */
export interface TableRequest {
  readonly kind: 'get' | 'page' | 'transact' | 'create';
  /** Empty for `create`. */
  readonly partition: string;
  /** The keys that it names: a page names the first of its range. */
  readonly rowKeys: readonly string[];
  /** The properties that a page has; undefined: all. */
  readonly select?: readonly string[] | undefined;
}

/** What comes before a request is carried out, and may throw in its place. What it returns comes after it, and may take its answer away. */
export type Turn = (request: TableRequest) => Promise<(() => void) | undefined | void>;

/** A table in memory in front of which a test stands. */
export class InterposedTable extends MemoryTable {
  turn: Turn;

  constructor(turn: Turn = async () => undefined) {
    super();
    this.turn = turn;
  }

  override async create(): Promise<void> {
    return this.#inTurn({ kind: 'create', partition: '', rowKeys: [] }, async () => super.create());
  }

  override async get(...args: Parameters<MemoryTable['get']>): ReturnType<MemoryTable['get']> {
    return this.#inTurn({ kind: 'get', partition: args[0], rowKeys: [args[1]] }, async () => super.get(...args));
  }

  override async page(...args: Parameters<MemoryTable['page']>): ReturnType<MemoryTable['page']> {
    const [partition, { from }, { select }] = args;
    return this.#inTurn({ kind: 'page', partition, rowKeys: [from], select }, async () => super.page(...args));
  }

  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const rowKeys = writes.map(({ rowKey }) => rowKey);
    return this.#inTurn({ kind: 'transact', partition, rowKeys }, async () => super.transact(partition, writes));
  }

  async #inTurn<Answer>(request: TableRequest, carryOut: () => Promise<Answer>): Promise<Answer> {
    const then = await this.turn(request);
    const answer = await carryOut();
    then?.();
    return answer;
  }
}
