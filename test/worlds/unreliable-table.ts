import type { Page, PageQuery, TableConnection } from '../../src/storage/connection.ts';
import { RequestRefused, StorageTrouble, WriteConflict } from '../../src/storage/errors.ts';
import type { KeyRange, RowWrite, StoredRow } from '../../src/storage/row.ts';
import type { Chance } from './chance.ts';
import { StorageClock } from '../../src/storage/storage-clock.ts';
import type { Life, Travel } from './life.ts';

/** How storage behaves: probabilities, of a request where nothing else is said; 0 by default. */
export interface Weather {
  /** It never reaches storage, and the connection breaks. */
  readonly lostRequest?: number;
  /** It is carried out, and the connection breaks. */
  readonly lostAnswer?: number;
  /** 503, half of them with Retry-After. */
  readonly refused?: number;
  /** No answer ever comes. Some are carried out, and some of them only after the client has given up. */
  readonly hung?: number;
  /** How late a request is carried out at most after which the client has given up, in milliseconds. */
  readonly mostLateMs?: number;
  /** That a page ends early, some before its first row. */
  readonly shortPage?: number;
  /** That a conflict does not say which row it is about. */
  readonly vagueConflict?: number;
  /** That a request takes much longer than others. */
  readonly slow?: number;
}

/** Nothing goes wrong. */
export const FAIR: Weather = {};

const faultsIn = ({ lostRequest = 0, lostAnswer = 0, refused = 0, hung = 0 }: Weather) =>
  [
    [lostRequest, 'lost request'],
    [lostAnswer, 'lost answer'],
    [refused / 2, 'refused'],
    [refused / 2, 'refused, with Retry-After'],
    [hung / 3, 'hung'],
    [hung / 3, 'hung, carried out'],
    [hung / 3, 'hung, carried out late'],
  ] as const;

/** The current state of storage, for all processes. */
export interface TableConditions {
  readonly weather: Weather;
  /** Every request fails. */
  readonly isOutage: boolean;
  /** Whether storage refuses to write this row. */
  readonly isRefused?: (rowKey: string) => boolean;
}

/** The parts of a table with faults. */
export interface UnreliableTableParts {
  /** Shared by all processes; it has no faults. */
  readonly table: TableConnection;
  readonly life: Life;
  readonly conditions: () => TableConditions;
  readonly chance: Chance;
  /** How long a request, and its answer, is under way at most, in milliseconds. */
  readonly latencyMs: number;
  /** Told of each request in words; says whether the process dies of it. */
  readonly onRequest: (request: string) => Travel['death'];
}

const SLOW_MS = 400;
const LATER_PAGE_MS = 200;
const RETRY_AFTER_MS = 1_500;
// After the deadline of the service's requests.
const LATE_MS = 7_000;

/** The shared table as one process reaches it: requests and answers take time and get lost, storage refuses and has outages. */
export class UnreliableTable implements TableConnection {
  readonly #parts: UnreliableTableParts;
  readonly #clock = new StorageClock();

  constructor(parts: UnreliableTableParts) {
    this.#parts = parts;
  }

  get(...args: Parameters<TableConnection['get']>): Promise<StoredRow | undefined> {
    return this.#read(`get ${args[0]} ${args[1]}`, () => this.#parts.table.get(...args));
  }

  page(partition: string, range: KeyRange, query: PageQuery, signal: AbortSignal): Promise<Page> {
    const { chance, conditions, table, latencyMs } = this.#parts;
    const isShort = chance.happens(conditions().weather.shortPage ?? 0);
    const most = isShort ? chance.oneOf([0, 1, 1, 1, 1, 2]) : Infinity;
    const from = query.continuation ?? range.from;
    return this.#read(
      `${isShort ? 'short ' : ''}page ${partition} ${from}`,
      async () => {
        if (most === 0) return { rows: [], continuation: from };
        const shorter = isShort ? { ...query, most: Math.min(most, query.most ?? most) } : query;
        return table.page(partition, range, shorter, signal);
      },
      // Much may be written between two pages.
      query.continuation === undefined ? latencyMs : LATER_PAGE_MS,
    );
  }

  firstPartition(...args: Parameters<TableConnection['firstPartition']>): Promise<string | undefined> {
    return this.#read(`first partition from ${args[0].from}`, () => this.#parts.table.firstPartition(...args));
  }

  create(signal: AbortSignal): Promise<boolean> {
    return this.#ask('create', () => this.#parts.table.create(signal));
  }

  transact(partition: string, writes: readonly RowWrite[], signal: AbortSignal): Promise<readonly string[]> {
    const { chance, conditions, table } = this.#parts;
    const isVague = chance.happens(conditions().weather.vagueConflict ?? 0);
    return this.#ask(`transact ${partition} ${writes.map(({ rowKey }) => rowKey).join(', ')}`, async () => {
      if (writes.some(({ rowKey }) => conditions().isRefused?.(rowKey) === true)) throw new RequestRefused(400);
      try {
        return await table.transact(partition, writes, signal);
      } catch (error) {
        throw isVague && error instanceof WriteConflict ? new WriteConflict() : error;
      }
    });
  }

  now(): number {
    return this.#clock.now();
  }

  /** Reads something, and notes the time that storage tells. */
  async #read<Answer>(request: string, carryOut: () => Promise<Answer>, latencyMs?: number): Promise<Answer> {
    // In whole seconds, as the header is.
    const dateNow = () => Math.floor(this.#parts.table.now() / 1_000) * 1_000;
    const dated = async () => ({ date: dateNow(), answer: await carryOut() });
    const { date, answer } = await this.#ask(request, dated, latencyMs);
    this.#clock.note(date);
    return answer;
  }

  #ask<Answer>(request: string, carryOut: () => Promise<Answer>, latencyMs = this.#parts.latencyMs): Promise<Answer> {
    const { life, chance, conditions, onRequest } = this.#parts;
    if (life.isOver) return new Promise(() => undefined);
    const { weather } = conditions();
    const ms = (): number =>
      chance.happens(weather.slow ?? 0) ? chance.between(latencyMs, SLOW_MS) : chance.between(1, latencyMs);
    const death = onRequest(request);
    const fault = chance.byProbability(faultsIn(weather));
    const isLost = fault === 'lost request' || fault === 'lost answer';
    const travel: Travel = {
      thereMs: fault === 'hung, carried out late' ? chance.between(ms(), weather.mostLateMs ?? LATE_MS) : ms(),
      backMs: ms(),
      death,
      ...((isLost || fault?.startsWith('hung')) && {
        lost: fault === 'lost request' || fault === 'hung' ? 'request' : 'answer',
        told: isLost ? { afterMs: ms(), error: new StorageTrouble(0, { reason: 'lost' }) } : undefined,
      }),
    };
    return life.request(travel, async () => {
      if (fault?.startsWith('refused')) {
        const retryAfterMs = fault === 'refused' ? 0 : chance.between(0, RETRY_AFTER_MS);
        throw new StorageTrouble(retryAfterMs, { reason: 'ServerBusy' });
      }
      if (!conditions().isOutage) return carryOut();
      if (chance.happens(0.8)) throw new StorageTrouble(0, { reason: 'outage' });
      return new Promise(() => undefined);
    });
  }
}
