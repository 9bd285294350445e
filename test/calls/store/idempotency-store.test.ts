import { randomUUID } from 'node:crypto';

import { TableClient } from '@azure/data-tables';
import { describe, expect, inject, it } from 'vitest';

import { ALERT_TYPES } from '../../../src/calls/alert-types.ts';
import { parseCallId } from '../../../src/calls/call-id.ts';
import { parsePhoneNumber } from '../../../src/calls/phone-number.ts';
import type { CallOutcome } from '../../../src/calls/place-calls.ts';
import {
  type AnswerRow,
  answerRowAddress,
  answerRowValues,
  parseAnswerRow,
} from '../../../src/calls/store/answer-row.ts';
import { CallsTable, type RowValues } from '../../../src/calls/store/calls-table.ts';
import { IdempotencyStore } from '../../../src/calls/store/idempotency-store.ts';
import type { Log } from '../../../src/log.ts';
import { ownTablesPrefix } from '../../harness/app.ts';

const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
const client = TableClient.fromConnectionString(inject('tablesConnectionString'), `${ownTablesPrefix()}calls`, options);
const table = new CallsTable(() => client);
const number = parsePhoneNumber('+12065550100');
const callId = parseCallId('a-call');
if (number === undefined || callId === undefined) throw new Error('not a number or a call id');

const request = { alertType: ALERT_TYPES[0], recipients: [number] };
const placed: readonly CallOutcome[] = [
  { status: 'placed', callId },
  { status: 'failed', reason: 'busy' },
];

/** Sends the request to an instance that remembers nothing. `calls`: how often it was carried out. */
const inNewInstance = async (key: string) => {
  const warnings: unknown[] = [];
  const log: Log = {
    info: () => undefined,
    warn: (event, fields) => void warnings.push({ event, ...fields }),
    error: () => undefined,
  };
  let calls = 0;
  const carryOut = () => {
    calls += 1;
    return Promise.resolve(placed);
  };
  const answer = await new IdempotencyStore(table).once(key, request, carryOut, log);
  return { answer, calls, warnings };
};

/** A key whose stored row was changed after its request was answered. */
const keyWithRow = async (change: (stored: AnswerRow) => RowValues): Promise<string> => {
  const key = randomUUID();
  await inNewInstance(key);
  const row = await table.read(answerRowAddress(key));
  const stored = row && parseAnswerRow(row);
  if (stored === undefined) throw new Error('no stored answer');
  expect(await table.write(answerRowAddress(key), change(stored), row?.etag)).toBeDefined();
  return key;
};

const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);

describe('the idempotency store', () => {
  it('finds the answer of another instance in the table', async () => {
    const key = randomUUID();
    expect(await inNewInstance(key)).toEqual({ answer: placed, calls: 1, warnings: [] });
    expect(await inNewInstance(key)).toEqual({ answer: placed, calls: 0, warnings: [] });
  });

  it.each(['not JSON', '{}', '[{"status":"placed","callId":"a/b"}]'])(
    'carries the request out where the stored outcomes are damaged: %s',
    async (outcomes) => {
      const key = await keyWithRow((stored) => ({ ...answerRowValues(stored), outcomes }));
      const warnings = [{ event: 'answers unreachable', kind: 'unknown row' }];
      expect(await inNewInstance(key)).toEqual({ answer: placed, calls: 1, warnings });
    },
  );

  it.each([
    ['answers again', 23, 0],
    ['carries the request out anew', 24, 1],
  ])('%s %i hours after the first request', async (_, hours, calls) => {
    const key = await keyWithRow((stored) => answerRowValues({ ...stored, orderedAt: hoursAgo(hours) }));
    expect(await inNewInstance(key)).toEqual({ answer: placed, calls, warnings: [] });
  });

  it('takes over a request whose process died', async () => {
    const key = await keyWithRow(({ fingerprint }) =>
      answerRowValues({ fingerprint, orderedAt: hoursAgo(75 / 3_600) }),
    );
    expect(await inNewInstance(key)).toEqual({ answer: placed, calls: 1, warnings: [] });
    expect(await inNewInstance(key)).toEqual({ answer: placed, calls: 0, warnings: [] });
  });
});
