/** A process that does one job, which is its argument, and prints what came of it. */
import { TableClient } from '@azure/data-tables';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { repairDay } from '../../../src/analytics/audit/repair.ts';
import { instantFromMilliseconds } from '../../../src/analytics/model/instant.ts';
import { Recorder } from '../../../src/analytics/record/recorder.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import type { Log } from '../../../src/log.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import { Table } from '../../../src/storage/table.ts';
import { toEventMessage } from '../../analytics/event-message.ts';
import { DAY, MESSAGES } from './day.ts';
import { jobSchema } from './job.ts';

const BATCH = 30;
const LOG: Log = { info: console.log, warn: console.log, error: console.log };

const { connectionString, table: name, task, clockAheadMs } = jobSchema.parse(JSON.parse(process.argv[2] ?? ''));
const rightNow = Date.now;
Date.now = () => rightNow() + clockAheadMs;

const client = TableClient.fromConnectionString(connectionString, name, {
  allowInsecureConnection: true,
  retryOptions: { maxRetries: 0 },
});
const table = new Table(new AzureTable(() => client), { format: FORMAT });
const shards = new DayShards(table, 1);
switch (task) {
  case 'record': {
    const recorder = new Recorder(table, shards, LOG);
    for (let from = 0; from < MESSAGES.length; from += BATCH) {
      const outcomes = await recorder.record(MESSAGES.slice(from, from + BATCH).map(toEventMessage));
      for (const outcome of outcomes) console.log(typeof outcome === 'string' ? outcome : 'refused');
    }
    break;
  }
  case 'close':
    await closeDays({ table, shards, retentionDays: 1, now: () => instantFromMilliseconds(Date.now()) }, LOG);
    break;
  case 'repair':
    await repairDay(table, await auditDay(table, DAY), { say: console.log });
}
