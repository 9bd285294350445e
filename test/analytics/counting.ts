import { FORMAT } from '../../src/analytics/rows/format.ts';
import type { TableConnection } from '../../src/storage/connection.ts';
import { AzureTable } from '../../src/storage/azure-table.ts';
import { TableClient } from '@azure/data-tables';
import { inject } from 'vitest';

import { dayOf } from '../../src/analytics/model/day.ts';
import { shardPartition } from '../../src/analytics/rows/keys.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import type { RecorderOptions } from '../../src/analytics/record/recorder.ts';
import { DamagedRow } from '../../src/storage/errors.ts';
import { Table } from '../../src/storage/table.ts';
import type { Log } from '../../src/log.ts';
import { ownTablesPrefix } from '../harness/app.ts';
import { MemoryTable } from '../storage/memory-table.ts';
import { CountingService } from './counting-service.ts';
import { DAY, Oracle, type PlainAnswer, plainAnswerOf, type PlainMessage, type Question } from './oracle.ts';

/** The day of the tests of this folder: its first microsecond, its name, and the partition of its first shard. */
export const START = 20_778n * DAY;
export const DATE = dayOf(instantFrom(START));
export const SHARD = shardPartition(DATE, 0);
export const WHOLE_DAY: Question = { start: START, end: START + DAY - 1n };

/** A frame with smoke, or something else that is said about it. */
export const frame = (
  cameraId: string,
  eventId: string,
  ts = START,
  more: Partial<PlainMessage> = {},
): PlainMessage => ({ cameraId, eventId, ts, time: ts, detections: { smoke: 1 }, ...more });

/** The numbers from 0 to less than a count. */
export const all = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

export const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** How a process of a test works. */
export interface ProcessOptions extends RecorderOptions {
  readonly log?: Log;
}

/** One process of the app that counts, and is asked by a test. */
export class CountingProcess extends CountingService {
  constructor(
    connection: TableClient | TableConnection,
    counterShards = 1,
    { log = SILENT, ...options }: ProcessOptions = {},
  ) {
    const own = connection instanceof TableClient ? new AzureTable(() => connection) : connection;
    // A busy machine may hold a request up for longer than the service would wait.
    super(new Table(own, { format: FORMAT, deadlineMs: 60_000 }), counterShards, log, options);
  }

  /** Answers a question in the form of the oracle. */
  async answer(question: Question): Promise<PlainAnswer> {
    return plainAnswerOf(await this.range(question));
  }

  /** What it answers about the whole day, and what it should once these messages are recorded. */
  async answered(
    messages: Iterable<PlainMessage>,
  ): Promise<{ readonly is: PlainAnswer; readonly should: PlainAnswer }> {
    return { is: await this.answer(WHOLE_DAY), should: new Oracle(messages).answer(WHOLE_DAY) };
  }
}

/** A table in memory that belongs to one test. */
export class MemoryStorage {
  /** The clock of storage, in milliseconds since 1970. */
  now = (): number => Date.now();
  readonly connection = new MemoryTable(() => this.now());

  /** A process with empty memory. */
  process(counterShards = 1): CountingProcess {
    return new CountingProcess(this.connection, counterShards);
  }
}

/** A table that belongs to one test, in the Azurite of the test run. */
export class CountingStorage {
  readonly #table = `${ownTablesPrefix()}analytics`;

  /** A client of the SDK for it. */
  client(): TableClient {
    return TableClient.fromConnectionString(inject('tablesConnectionString'), this.#table, {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 0 },
    });
  }

  /** A process with empty memory. */
  process(counterShards = 1): CountingProcess {
    return new CountingProcess(this.client(), counterShards);
  }
}

/** The keys of the damaged row that a promise is rejected with; fails where it is anything else. */
export const damagedRowOf = async (promise: Promise<unknown>): Promise<readonly [string, string]> => {
  try {
    await promise;
  } catch (error) {
    if (error instanceof DamagedRow) return [error.partitionKey, error.rowKey];
    throw error;
  }
  throw new Error('nothing was rejected');
};
