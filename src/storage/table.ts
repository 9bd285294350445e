import type { Page, PageQuery, Selection, TableConnection } from './connection.ts';
import { LaterFormat, type RowKeys, StorageTrouble, TableMissing, WriteConflict } from './errors.ts';
import { FORMAT_PROPERTY, type KeyRange, type NewProperties, type RowWrite, type StoredRow } from './row.ts';

/** How long a request may take, and how often it is made. */
export interface Patience {
  /** Deadline of each try, in milliseconds. */
  readonly deadlineMs?: number;
  /** How often a read is tried. Writes are tried once: the writer reads again and decides. */
  readonly tries?: number;
}

export interface TableOptions extends Patience {
  /** The format of the rows that this version writes and knows. */
  readonly format: number;
  /** Rows of later formats are answered too: the reader checks each with {@link Table.checkFormat}. */
  readonly isAnyFormat?: boolean;
  /** Whether a missing table is created; true by default, false for clients that only read. */
  readonly isCreated?: boolean;
  /** Runs after this client has created the table. */
  readonly onCreated?: () => void;
}

type WholeRange = Omit<PageQuery, 'continuation'> & Patience;

const DEADLINE_MS = 5_000;
const READ_TRIES = 4;
const MOST_EMPTY_PAGES = 20;
const MAX_PAUSE_MS = 3_000;

/** How long to wait after try `n` (1, 2, …) failed: exponential, with full jitter, in milliseconds. */
export const backoffMs = (tries: number, baseMs: number, mostMs: number, random: () => number = Math.random): number =>
  random() * Math.min(mostMs, baseMs * 2 ** (tries - 1));

const wait = async (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

/**
 * Makes a request until storage takes it.
 *
 * @param tries how often at most
 * @param passing another error than StorageTrouble after which it is made again
 * @throws the error of the last try
 */
export const untilTaken = async <Answer>(
  tries: number,
  passing: typeof WriteConflict | undefined,
  request: () => Promise<Answer>,
): Promise<Answer> => {
  for (let tried = 1; ; tried += 1) {
    try {
      return await request();
    } catch (error) {
      const isTrouble = error instanceof StorageTrouble;
      const isPassing = isTrouble || (passing !== undefined && error instanceof passing);
      if (!isPassing || tried >= tries) throw error;
      const askedMs = isTrouble ? Math.min(error.retryAfterMs, MAX_PAUSE_MS) : 0;
      await wait(Math.max(askedMs, backoffMs(tried, 50, MAX_PAUSE_MS)));
    }
  }
};

/**
 * The only access to a table. A missing table is created, each request has a deadline, failed reads are repeated, and every row has
 * its format.
 *
 * All requests throw StorageTrouble if storage fails: reads after bounded tries; a write may have been applied or not. They throw RequestRefused if
 * storage would never take them, and TableMissing if there is no table and this client does not create it. Reads throw LaterFormat as well.
 *
 * @example const table = new Table(azureTable(settings.tables, 'analytics', credential), { format: FORMAT });
 */
export class Table {
  readonly #connection: TableConnection;
  readonly #options: Required<TableOptions>;

  constructor(connection: TableConnection, options: TableOptions) {
    this.#connection = connection;
    this.#options = {
      isAnyFormat: false,
      isCreated: true,
      onCreated: () => undefined,
      deadlineMs: DEADLINE_MS,
      tries: READ_TRIES,
      ...options,
    };
  }

  /** One row, never a mixture of two writes; undefined if it does not exist. */
  async get(
    partitionKey: string,
    rowKey: string,
    { select, ...patience }: Selection & Patience = {},
  ): Promise<StoredRow | undefined> {
    const selection = { select: select && [...select, FORMAT_PROPERTY] };
    const get = async (signal: AbortSignal) => this.#connection.get(partitionKey, rowKey, selection, signal);
    const row = await this.#read(patience, get);
    if (row !== undefined && !this.#options.isAnyFormat) this.checkFormat(row);
    return row;
  }

  /** One page of the rows of a key range, which were read together. */
  async page(partitionKey: string, range: KeyRange, { select, ...rest }: PageQuery & Patience = {}): Promise<Page> {
    const query = { ...rest, select: select && [...select, FORMAT_PROPERTY] };
    const page = await this.#read(rest, async (signal) => this.#connection.page(partitionKey, range, query, signal));
    if (!this.#options.isAnyFormat) for (const row of page.rows) this.checkFormat(row);
    return page;
  }

  /**
   * The first page that has rows; an empty page if the range has no more. Every continuation is followed, even after an empty page.
   *
   * @returns `isContinued`: empty pages came before. Rows that were written since then may lie before this page.
   * @throws {StorageTrouble} even if storage answers only empty pages
   */
  async pageWithRows(
    partitionKey: string,
    range: KeyRange,
    query: PageQuery & Patience = {},
  ): Promise<Page & { readonly isContinued: boolean }> {
    let { continuation } = query;
    for (let empty = 0; empty <= MOST_EMPTY_PAGES; empty += 1) {
      const page = await this.page(partitionKey, range, { ...query, continuation });
      ({ continuation } = page);
      if (page.rows.length > 0 || continuation === undefined) return { ...page, isContinued: empty > 0 };
    }
    throw new StorageTrouble(0, { reason: 'empty pages' });
  }

  /** The rows of a key range in order, page by page; see {@link pageWithRows}. Only the rows of one page were read together. */
  async *pages(partitionKey: string, range: KeyRange, query: WholeRange = {}): AsyncGenerator<readonly StoredRow[]> {
    let continuation: string | undefined;
    do {
      const page = await this.pageWithRows(partitionKey, range, { ...query, continuation });
      ({ continuation } = page);
      yield page.rows;
    } while (continuation !== undefined);
  }

  /** All rows of a key range; see {@link pages}. */
  async all(partitionKey: string, range: KeyRange, query: WholeRange = {}): Promise<readonly StoredRow[]> {
    return (await Array.fromAsync(this.pages(partitionKey, range, query))).flat();
  }

  /** The first partition with a row, from one key to before another; undefined: no partition. */
  async firstPartition(keys: KeyRange): Promise<string | undefined> {
    return this.#read({}, async (signal) => this.#connection.firstPartition(keys, signal));
  }

  /** Now, by the clock of storage: see {@link TableConnection.now}. */
  now(): number {
    return this.#connection.now();
  }

  /**
   * Applies all writes or none, in one try.
   *
   * @param writes 1 to 100, each to another row, 4 MiB in all
   * @returns the rows' new ETags in the order of the writes; an empty text for a deleted row
   * @throws {WriteConflict} if a row was not as expected: nothing was applied
   */
  async transact(
    partitionKey: string,
    writes: readonly RowWrite[],
    { deadlineMs }: Patience = {},
  ): Promise<readonly string[]> {
    const { format } = this.#options;
    const sent = writes.map((write) =>
      write.kind === 'insert' || write.kind === 'replace'
        ? { ...write, properties: { ...write.properties, [FORMAT_PROPERTY]: format } }
        : write,
    );
    return this.#request(deadlineMs, async (signal) => this.#connection.transact(partitionKey, sent, signal));
  }

  /** Inserts one row; returns its ETag, or undefined if the row exists already. */
  async insert(
    partitionKey: string,
    rowKey: string,
    properties: NewProperties,
    patience: Pick<Patience, 'deadlineMs'> = {},
  ): Promise<string | undefined> {
    try {
      const [etag] = await this.transact(partitionKey, [{ kind: 'insert', rowKey, properties }], patience);
      return etag;
    } catch (error) {
      if (error instanceof WriteConflict) return undefined;
      throw error;
    }
  }

  /** A row without a format passes: its reader finds damage if the row lacks properties. @throws {LaterFormat} */
  checkFormat(row: RowKeys & Pick<StoredRow, 'properties'>): void {
    const format = row.properties[FORMAT_PROPERTY];
    const { format: known } = this.#options;
    if (typeof format === 'number' && format > known) throw new LaterFormat(row, format, known);
  }

  async #read<Answer>(
    { deadlineMs, tries = this.#options.tries }: Patience,
    request: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    return untilTaken(tries, undefined, async () => this.#request(deadlineMs, request));
  }

  /** Makes one request. A missing table is created, and the request is made again: nothing was applied. */
  async #request<Answer>(
    deadlineMs = this.#options.deadlineMs,
    request: (signal: AbortSignal) => Promise<Answer>,
    isAgain = false,
  ): Promise<Answer> {
    try {
      return await withinDeadline(deadlineMs, request);
    } catch (error) {
      if (!(error instanceof TableMissing && this.#options.isCreated)) throw error;
      if (isAgain) throw new StorageTrouble(0, { reason: 'no table', cause: error });
    }
    const isNew = await withinDeadline(deadlineMs, async (signal) => this.#connection.create(signal));
    if (isNew) this.#options.onCreated();
    return this.#request(deadlineMs, request, true);
  }
}

/** Makes a request and ends it at its deadline, even if the connection ignores the signal. */
const withinDeadline = async <Answer>(
  ms: number,
  request: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> => {
  const controller = new AbortController();
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    controller.abort();
    reject(new StorageTrouble(0, { reason: 'deadline' }));
  }, ms);
  try {
    return await Promise.race([request(controller.signal), expired]);
  } finally {
    clearTimeout(timer);
  }
};
