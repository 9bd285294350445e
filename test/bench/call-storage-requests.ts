/**
 * How many requests to storage a good call takes on one instance: `node --import tsx test/bench/call-storage-requests.ts`. The table is in
 * memory; each request is printed with its step.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { findAlertType } from '../../src/calls/alert-types.ts';
import type { AttemptRef } from '../../src/calls/call-context.ts';
import type { CallEventKind } from '../../src/calls/call-event.ts';
import { parseCallId } from '../../src/calls/call-id.ts';
import { createPhone } from '../../src/calls/phone.ts';
import { parsePhoneNumber } from '../../src/calls/phone-number.ts';
import { CALLS_FORMAT } from '../../src/calls/store/rows.ts';
import type { Log } from '../../src/log.ts';
import type { TableConnection } from '../../src/storage/connection.ts';
import { Table } from '../../src/storage/table.ts';
import { MemoryTable } from '../storage/memory-table.ts';
import { report } from './measure.ts';

const memory = new MemoryTable();
const requests: { readonly step: string; readonly request: string }[] = [];
let step = 'request';
const note = (request: string): void => void requests.push({ step, request });
const connection: TableConnection = {
  create: async () => memory.create(),
  get: async (partitionKey, rowKey, selection) => {
    note(`get ${rowKey.split('|')[0]}`);
    return memory.get(partitionKey, rowKey, selection);
  },
  page: async (partitionKey, range, query) => {
    note(`list ${range.from.split('|')[0]}`);
    return memory.page(partitionKey, range, query);
  },
  transact: async (partitionKey, writes) => {
    note(`transaction of ${writes.length}`);
    return memory.transact(partitionKey, writes);
  },
};

const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const callId = parseCallId('call-1');
const alertType = findAlertType('ConfirmedFire');
const number = parsePhoneNumber('+12065550100');
if (callId === undefined || alertType === undefined || number === undefined) throw new Error('malformed');
let attempt: AttemptRef | undefined;
const phone = createPhone({
  line: {
    call: async (request) => {
      attempt = request.attempt;
      return callId;
    },
    speak: async () => undefined,
    listen: async () => undefined,
    hangUp: async () => undefined,
  },
  table: new Table(connection, { format: CALLS_FORMAT }),
  serviceName: 'Ridge Watch',
  rules: {
    attempts: 3,
    retryMs: 60_000,
    deadlineMs: 1_800_000,
    ringMs: 60_000,
    allowedPrefixes: undefined,
    callsPerDay: 1_000,
    retentionMs: 90 * 86_400_000,
  },
  log: silent,
});

await phone.send({ alertType, waves: [[number]] }, 'a key', silent);
for (const kind of [
  'connected',
  'play started',
  'play completed',
  'disconnected',
] as const satisfies readonly CallEventKind[]) {
  step = kind;
  await phone.handle([{ kind, callId, result: { code: 200, subCode: 0 }, attempt }], alertType, silent);
}
step = 'end of the call: what is due';
await sleep(500);
await phone.settled();
report('Requests to storage of a good call', requests);
