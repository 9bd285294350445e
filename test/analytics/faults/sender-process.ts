/** A process that records: gets jobs from its parent, and reports what is acknowledged. */
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import { TableClient } from '@azure/data-tables';
import pLimit from 'p-limit';

import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { Recorder } from '../../../src/analytics/record/recorder.ts';
import { RecorderUnavailable } from '../../../src/analytics/errors.ts';
import { Table } from '../../../src/storage/table.ts';
import type { Log } from '../../../src/log.ts';
import { jobSchema, type Job, type Said } from './job.ts';

/** Most batches in flight. */
const PRODUCERS = 6;

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

const say = (said: Said): void => {
  process.send?.(said);
};

const send = async (job: Job): Promise<void> => {
  const client = TableClient.fromConnectionString(job.connectionString, job.table, {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
  });
  const table = new Table(new AzureTable(() => client), { format: FORMAT, deadlineMs: job.deadlineMs });
  const recorder = new Recorder(table, new DayShards(table, job.counterShards), SILENT);
  await pLimit(PRODUCERS).map(job.batches, async (messages, batch) => {
    for (let attempt = 1; attempt <= job.attempts; attempt += 1) {
      try {
        const outcomes = await recorder.record(messages);
        say({ kind: 'acknowledged', batch, outcomes: [...outcomes] });
        return;
      } catch (error) {
        if (!(error instanceof RecorderUnavailable)) throw error;
      }
    }
  });
  say({ kind: 'done' });
};

process.on('message', (job) => {
  send(jobSchema.parse(job)).catch((error: unknown) => {
    say({ kind: 'failed', reason: error instanceof Error ? String(error.stack) : String(error) });
  });
});
process.once('disconnect', () => process.exit());
say({ kind: 'ready' });
