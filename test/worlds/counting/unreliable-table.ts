import type { Page, PageQuery, Selection, TableConnection } from '../../../src/storage/connection.ts';
import { StorageTrouble, WriteConflict } from '../../../src/storage/errors.ts';
import type { KeyRange, RowWrite, StoredRow } from '../../../src/storage/row.ts';
import type { Chance } from '../chance.ts';
import { runIn } from '../virtual-time.ts';
import type { Life } from './life.ts';

/** How storage behaves: probabilities, of a request where nothing else is said. */
export interface Weather {
  /** It never reaches storage, and the connection breaks. */
  readonly lostRequest: number;
  /** It is carried out, and the connection breaks. */
  readonly lostAnswer: number;
  /** 503, half of them with Retry-After. */
  readonly refused: number;
  /** No answer ever comes. Some are carried out, some of those after the client has given up. */
  readonly hung: number;
  /** That a page ends early, some before its first row. */
  readonly shortPage: number;
  /** That a conflict does not say which row it is about. */
  readonly vagueConflict: number;
  /** That a request takes much longer than others. */
  readonly slow: number;
}

/** Nothing goes wrong. */
export const FAIR: Weather = {
  lostRequest: 0,
  lostAnswer: 0,
  refused: 0,
  hung: 0,
  shortPage: 0,
  vagueConflict: 0,
  slow: 0,
};

/** What storage is like now, for all processes. */
export interface Conditions {
  weather: Weather;
  /** Every request fails. */
  isOutage: boolean;
}

/** What a table with faults needs. */
export interface UnreliableTableParts {
  /** Shared by all processes. */
  readonly table: TableConnection;
  readonly life: Life;
  readonly conditions: Conditions;
  readonly chance: Chance;
  /** How long a request and its answer are under way at most, in milliseconds. */
  readonly latencyMs: number;
  /** Called at each request, with its name. */
  readonly onRequest: (request: string) => void;
}

const SLOW_MS = 400;
const LATER_PAGE_MS = 200;
const RETRY_AFTER_MS = 1_500;
// After the deadline of the service's requests.
const LATE_MS = 7_000;

/** The shared table as one process reaches it: requests and answers take time and get lost, storage refuses and has outages. */
export class UnreliableTable implements TableConnection {
  readonly #parts: UnreliableTableParts;

  constructor(parts: UnreliableTableParts) {
    this.#parts = parts;
  }

  get(partitionKey: string, rowKey: string, selection: Selection, signal: AbortSignal): Promise<StoredRow | undefined> {
    return this.#ask(`get ${partitionKey} ${rowKey}`, () =>
      this.#parts.table.get(partitionKey, rowKey, selection, signal),
    );
  }

  page(partitionKey: string, range: KeyRange, query: PageQuery, signal: AbortSignal): Promise<Page> {
    const { chance, conditions, table } = this.#parts;
    const request = `page ${partitionKey} ${query.continuation ?? range.from}`;
    // Much may be written between two pages.
    const latencyMs = query.continuation === undefined ? undefined : LATER_PAGE_MS;
    if (!chance.happens(conditions.weather.shortPage)) {
      return this.#ask(request, () => table.page(partitionKey, range, query, signal), latencyMs);
    }
    const most = chance.oneOf([0, 1, 1, 1, 1, 2]);
    return this.#ask(
      `short ${request}`,
      async () => {
        if (most === 0) return { rows: [], continuation: query.continuation ?? range.from };
        return table.page(partitionKey, range, { ...query, most: Math.min(most, query.most ?? most) }, signal);
      },
      latencyMs,
    );
  }

  transact(partitionKey: string, writes: readonly RowWrite[], signal: AbortSignal): Promise<readonly string[]> {
    const { chance, conditions, table } = this.#parts;
    const isVague = chance.happens(conditions.weather.vagueConflict);
    return this.#ask(`transact ${partitionKey} ${writes.map(({ rowKey }) => rowKey).join(', ')}`, async () => {
      try {
        return await table.transact(partitionKey, writes, signal);
      } catch (error) {
        throw isVague && error instanceof WriteConflict ? new WriteConflict() : error;
      }
    });
  }

  create(signal: AbortSignal): Promise<void> {
    return this.#ask('create', () => this.#parts.table.create(signal));
  }

  #ask<Answer>(request: string, carryOut: () => Promise<Answer>, latencyMs = this.#parts.latencyMs): Promise<Answer> {
    const { life, onRequest } = this.#parts;
    if (life.isOver) return never();
    onRequest(request);
    const death = life.request();
    if (death === 'not carried out') return never();
    // What storage does goes on if the process dies.
    return new Promise((resolve, reject) => {
      runIn(undefined, () => this.#exchange(carryOut, latencyMs, resolve, reject));
    });
  }

  #exchange<Answer>(
    carryOut: () => Promise<Answer>,
    latencyMs: number,
    resolve: (answer: Answer) => void,
    reject: (error: unknown) => void,
  ): void {
    const { life, conditions, chance } = this.#parts;
    const { weather } = conditions;
    const ifAlive = (tell: () => void): void => {
      if (!life.isOver) tell();
    };
    const delayMs = (): number =>
      chance.happens(weather.slow) ? chance.between(latencyMs, SLOW_MS) : chance.between(1, latencyMs);
    const fail = (reason: string, retryAfterMs = 0): void => {
      setTimeout(() => ifAlive(() => reject(new StorageTrouble(retryAfterMs, { reason }))), delayMs());
    };
    const fault = chance.byProbability([
      [weather.lostRequest, 'lost request'],
      [weather.lostAnswer, 'lost answer'],
      [weather.refused / 2, 'refused'],
      [weather.refused / 2, 'refused, with Retry-After'],
      [weather.hung / 3, 'hung'],
      [weather.hung / 3, 'hung, carried out'],
      [weather.hung / 3, 'hung, carried out late'],
    ]);
    const carryOutAfter = (ms: number, answer: (told: Promise<Answer>) => void): void => {
      setTimeout(() => {
        if (conditions.isOutage) {
          if (chance.happens(0.8)) fail('outage');
        } else {
          answer(carryOut());
        }
      }, ms);
    };
    const ignored = (told: Promise<Answer>): void => void told.catch(() => undefined);
    switch (fault) {
      case undefined:
        carryOutAfter(delayMs(), (told) => {
          told.then(
            (answer) => setTimeout(() => ifAlive(() => resolve(answer)), delayMs()),
            (error: unknown) => setTimeout(() => ifAlive(() => reject(error)), delayMs()),
          );
        });
        return;
      case 'lost request':
        fail('lost');
        return;
      case 'lost answer':
        carryOutAfter(delayMs(), (told) => {
          ignored(told);
          fail('lost');
        });
        return;
      case 'refused':
        fail('ServerBusy');
        return;
      case 'refused, with Retry-After':
        fail('ServerBusy', chance.between(0, RETRY_AFTER_MS));
        return;
      case 'hung':
        return;
      case 'hung, carried out':
        carryOutAfter(delayMs(), ignored);
        return;
      case 'hung, carried out late':
        carryOutAfter(chance.between(delayMs(), LATE_MS), ignored);
    }
  }
}

const never = (): Promise<never> => new Promise(() => undefined);
