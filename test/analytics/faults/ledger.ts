import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { eventRowFrom } from '../../../src/analytics/rows/event-row.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import {
  ALL_EVENTS,
  OPEN_DAYS_PARTITION,
  parseEventKey,
  shardPartition,
  TOTAL_KEY,
} from '../../../src/analytics/rows/keys.ts';
import { stripesOf } from '../../../src/analytics/rows/stripes.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import { TableClient } from '@azure/data-tables';

import { auditDay, type AuditReport } from '../../../src/analytics/audit/audit.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { Reader } from '../../../src/analytics/read/reader.ts';
import { Table } from '../../../src/storage/table.ts';
import { ownTablesPrefix } from '../../harness/app.ts';
import { plainAnswer } from '../counting.ts';
import { DAY, Oracle, type PlainAnswer, type PlainMessage, type Question } from '../oracle.ts';
import { DAY_OF_MESSAGES, MIDNIGHT } from './messages.ts';

/** The contents of a table: answers to some questions, the number of event rows, and the counters that differ from them. */
export interface Count {
  readonly answers: readonly PlainAnswer[];
  readonly events: number;
  readonly differences: AuditReport['differences'];
}

const MINUTE = 60_000_000n;

/** The whole day, and a period that ends in the middle of minutes: each kind of row is read. */
const PERIODS = [
  { start: MIDNIGHT, end: MIDNIGHT + DAY - 1n },
  { start: MIDNIGHT + 501n * MINUTE + 1_234_567n, end: MIDNIGHT + 577n * MINUTE + 7_654_321n },
] as const;

const QUESTIONS: readonly Question[] = PERIODS.flatMap(({ start, end }) => [
  { start, end },
  { start, end, cameraId: 'ridge-0' },
  { start, end, cameraId: 'ridge-7' },
]);

const nameOf = ({ cameraId, eventId }: Pick<PlainMessage, 'cameraId' | 'eventId'>): string => `${cameraId} ${eventId}`;

const facetsOf = ({ detections, reviewed, annotations }: PlainMessage): readonly unknown[] => [
  detections,
  reviewed,
  annotations,
];

/** The expected contents after these messages, each counted once. */
export const countOf = (messages: readonly PlainMessage[]): Count => {
  const oracle = new Oracle();
  for (const message of messages) oracle.tell(message);
  return { answers: QUESTIONS.map((question) => oracle.answer(question)), events: oracle.events, differences: [] };
};

/** A table that belongs to one test, read without a proxy by a process with empty memory that creates no table. */
export class Ledger {
  readonly table: string;
  readonly #connectionString: string;

  constructor(connectionString: string, table = `${ownTablesPrefix()}analytics`) {
    this.#connectionString = connectionString;
    this.table = table;
  }

  /** The contents now. */
  async count(): Promise<Count> {
    const rows = this.#rows();
    const shards = new DayShards(rows, 1);
    const reader = new Reader(rows, shards);
    const answers = QUESTIONS.map(async ({ start, end, cameraId }) => {
      const { tally, activeCameras } = await reader.activity(
        { start: instantFrom(start), end: instantFrom(end) },
        cameraId,
      );
      return plainAnswer(tally, activeCameras);
    });
    const { events, differences } = await auditDay(rows, DAY_OF_MESSAGES);
    return { answers: await Promise.all(answers), events, differences };
  }

  /** How many stripes the shard with the most has. */
  async stripes(): Promise<number> {
    const rows = this.#rows();
    const shards = (await new DayShards(rows, 1).find(DAY_OF_MESSAGES)) ?? 0;
    let most = 0;
    for (let shard = 0; shard < shards; shard += 1) {
      const totals = await rows.all(shardPartition(DAY_OF_MESSAGES, shard), stripesOf(TOTAL_KEY), { select: [] });
      most = Math.max(most, totals.length);
    }
    return most;
  }

  /** Whether the day is in the index of open days. */
  async isOpen(): Promise<boolean> {
    return (await this.#rows().get(OPEN_DAYS_PARTITION, DAY_OF_MESSAGES)) !== undefined;
  }

  /** Of these messages those that are not in their event's row, nor replaced there by a newer one. */
  async lost(acknowledged: readonly PlainMessage[]): Promise<readonly PlainMessage[]> {
    const times = await this.#facetTimes();
    return acknowledged.filter((message) => {
      const stored = times.get(nameOf(message));
      if (stored === undefined) return true;
      return facetsOf(message).some((value, at) => value !== undefined && (stored[at] ?? -1n) < message.time);
    });
  }

  async #facetTimes(): Promise<ReadonlyMap<string, readonly (bigint | undefined)[]>> {
    const rows = this.#rows();
    const shards = (await new DayShards(rows, 1).find(DAY_OF_MESSAGES)) ?? 0;
    const times = new Map<string, readonly (bigint | undefined)[]>();
    for (let shard = 0; shard < shards; shard += 1) {
      for (const row of await rows.all(shardPartition(DAY_OF_MESSAGES, shard), ALL_EVENTS)) {
        const { detections, reviewed, annotations } = eventRowFrom(row).facets;
        times.set(nameOf(parseEventKey(row.rowKey)), [detections?.time, reviewed?.time, annotations?.time]);
      }
    }
    return times;
  }

  #rows(): Table {
    const client = TableClient.fromConnectionString(this.#connectionString, this.table, {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 0 },
    });
    return new Table(new AzureTable(() => client), { format: FORMAT, isCreated: false });
  }
}
