import { FORMAT } from '../../src/analytics/rows/format.ts';
import type { TableConnection } from '../../src/storage/connection.ts';
import { AzureTable } from '../../src/storage/azure-table.ts';
import { TableClient } from '@azure/data-tables';
import { inject } from 'vitest';

import { auditDay } from '../../src/analytics/audit/audit.ts';
import type { Outcome } from '../../src/analytics/record/batch.ts';
import type { Day } from '../../src/analytics/model/day.ts';
import { DayShards } from '../../src/analytics/rows/day-shards.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import { CamerasReader } from '../../src/analytics/read/cameras.ts';
import { Reader } from '../../src/analytics/read/reader.ts';
import { Recorder, type RecorderOptions } from '../../src/analytics/record/recorder.ts';
import { DamagedRow } from '../../src/storage/errors.ts';
import { Table } from '../../src/storage/table.ts';
import type { CategoryTally, Tally } from '../../src/analytics/model/tally.ts';
import type { Log } from '../../src/log.ts';
import { ownTablesPrefix } from '../harness/app.ts';
import { MemoryTable } from '../storage/memory-table.ts';
import { toEventMessage } from './event-message.ts';
import type { PlainAnswer, PlainMessage, Question } from './oracle.ts';

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** The recorder and the reader of one process of the app, with memory of their own. */
export class CountingProcess {
  readonly table: Table;
  readonly shards: DayShards;
  readonly recorder: Recorder;
  readonly reader: Reader;
  readonly cameras: CamerasReader;

  /** @param options of the recorder; its own by default */
  constructor(connection: TableClient | TableConnection, counterShards: number, options: RecorderOptions = {}) {
    this.table = new Table(connection instanceof TableClient ? new AzureTable(() => connection) : connection, {
      format: FORMAT,
    });
    this.shards = new DayShards(this.table, counterShards);
    this.recorder = new Recorder(this.table, this.shards, SILENT, options);
    this.reader = new Reader(this.table, this.shards);
    this.cameras = new CamerasReader(this.table, this.shards);
  }

  /** Records messages; returns the outcome of each. */
  async record(messages: readonly PlainMessage[]): Promise<readonly Outcome[]> {
    return this.recorder.record(messages.map(toEventMessage));
  }

  /** Answers a question in the form of the oracle. */
  async answer({ start, end, cameraId }: Question): Promise<PlainAnswer> {
    const period = { start: instantFrom(start), end: instantFrom(end) };
    const { tally, activeCameras } = await this.reader.activity(period, cameraId);
    return plainAnswer(tally, activeCameras);
  }

  /** The counters of a day that differ from its event rows. */
  async differences(day: Day): Promise<readonly string[]> {
    const report = await auditDay(this.table, day);
    return report.differences.map(
      ({ shard, counter, expected, stored }) => `shard ${shard}, ${counter}: ${stored} instead of ${expected}`,
    );
  }
}

/** A table in memory that belongs to one test. */
export class MemoryStorage {
  readonly connection = new MemoryTable();

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

/** A tally in the form of the oracle. */
export const plainAnswer = (tally: Tally, activeCameras: readonly string[]): PlainAnswer => {
  const nonZero = (of: keyof CategoryTally): Record<string, number> =>
    Object.fromEntries(
      [...tally.categories].flatMap(([category, own]) => (own[of] === 0 ? [] : [[category, own[of]] as const])),
    );
  return {
    total_events: tally.events,
    active_camera_ids: activeCameras,
    counts_per_category: nonZero('detections'),
    reviewed_total_events: tally.reviewed,
    reviewed_counts_per_category: nonZero('reviewed'),
    annotated_total_events: tally.annotated,
    annotated_counts_per_category: nonZero('annotations'),
  };
};
