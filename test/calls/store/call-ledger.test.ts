import { randomUUID } from 'node:crypto';

import { TableClient } from '@azure/data-tables';
import * as fc from 'fast-check';
import { describe, expect, inject, it } from 'vitest';

import { type CallId, parseCallId } from '../../../src/calls/call-id.ts';
import { CallLedger } from '../../../src/calls/store/call-ledger.ts';
import {
  type CallRecord,
  connected,
  disconnected,
  hungUp,
  over,
  placed,
  playConfirmed,
} from '../../../src/calls/call-record.ts';
import { CallsTable } from '../../../src/calls/store/calls-table.ts';
import { lazily } from '../../../src/azure/lazily.ts';
import type { Log } from '../../../src/log.ts';
import { ownTablesPrefix } from '../../harness/app.ts';

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const details = { alertType: 'BurnJob' } as const;

const ledgerOn = (prefix: string, connectionString = inject('tablesConnectionString')): CallLedger => {
  const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
  return new CallLedger(
    new CallsTable(lazily(() => TableClient.fromConnectionString(connectionString, `${prefix}calls`, options))),
  );
};

const newCall = (): CallId => {
  const callId = parseCallId(randomUUID());
  if (callId === undefined) throw new Error('not a call id');
  return callId;
};

const steps = {
  placed: (known?: CallRecord) => placed(known, details, Date.now()),
  connected: (known?: CallRecord) => connected(known, details, Date.now()),
  confirmed: (known?: CallRecord) => playConfirmed(known, Date.now()),
  over: (known?: CallRecord) => over(known, details, { endsAs: 'hung_up' }, Date.now()),
  hungUp: (known?: CallRecord) => hungUp(known, Date.now()),
  disconnected: (known?: CallRecord) => disconnected(known, details, { code: 200 }, Date.now()),
};
const names = ['placed', 'connected', 'confirmed', 'over', 'hungUp', 'disconnected'] as const;

describe('the ledger of calls', () => {
  it(
    'lets one instance of many speak and one hang up, whatever comes where and when',
    { timeout: 60_000 },
    async () => {
      const prefix = ownTablesPrefix();
      // Three instances; the table is made by whichever is first.
      const ledgers = [ledgerOn(prefix), ledgerOn(prefix), ledgerOn(prefix)];
      const happenings = fc.array(fc.tuple(fc.constantFrom(...names), fc.integer({ min: 0, max: 2 })), {
        minLength: 2,
        maxLength: 12,
      });
      await fc.assert(
        fc.asyncProperty(happenings, async (sequence) => {
          const callId = newCall();
          // All at once: the table decides.
          const taken = await Promise.all(
            sequence.map(async ([name, instance]) => {
              const result = await ledgers[instance]?.step<string>(callId, steps[name], SILENT);
              expect(result?.shared).toBe(true);
              return { name, action: result?.action };
            }),
          );
          const claims = (wanted: string) =>
            taken.filter(({ name, action }) => name === wanted && action === 'claimed').length;
          expect(claims('connected')).toBeLessThanOrEqual(1);
          expect(claims('over')).toBeLessThanOrEqual(1);
          // All instances see the same in the end.
          const seen = await Promise.all(
            ledgers.map((ledger) => ledger.step(callId, () => ({ action: 'seen' }), SILENT)),
          );
          expect(new Set(seen.map(({ record }) => record?.state)).size).toBe(1);
        }),
        { numRuns: 60 },
      );
    },
  );

  it('gives back what was written, to the millisecond', async () => {
    const prefix = ownTablesPrefix();
    const callId = newCall();
    const written: CallRecord = {
      state: 'failed',
      alertType: 'PointOfInterest',
      requestId: randomUUID(),
      placedAt: 1_795_248_000_001,
      playingAt: 1_795_248_000_002,
      playConfirmedAt: 1_795_248_000_003,
      hangingUpAt: 1_795_248_000_004,
      endedAt: 1_795_248_000_005,
      disconnectedAt: 1_795_248_000_006,
      endsAs: 'failed',
      code: 400,
      subCode: 8_565,
      reason: 'speech refused',
    };
    await ledgerOn(prefix).step(callId, () => ({ action: 'write', next: written }), SILENT);
    const { record } = await ledgerOn(prefix).step(callId, () => ({ action: 'read' }), SILENT);
    expect(record).toEqual(written);
  });

  it('remembers by itself where the table cannot be used, says so, and still lets one event of many speak', async () => {
    const warnings: unknown[] = [];
    const log: Log = { ...SILENT, warn: (event, fields) => warnings.push({ event, ...fields }) };
    const nowhere =
      'DefaultEndpointsProtocol=http;AccountName=a;AccountKey=dGVzdA==;TableEndpoint=http://127.0.0.1:9/a';
    const ledger = ledgerOn('t', nowhere);
    const callId = newCall();
    const taken = await Promise.all(Array.from({ length: 20 }, () => ledger.step(callId, steps.connected, log)));
    expect(taken.filter(({ action }) => action === 'claimed')).toHaveLength(1);
    expect(taken.every(({ shared }) => !shared)).toBe(true);
    expect(warnings).toContainEqual({ event: 'call records unreachable', call_id: callId, kind: 'ECONNREFUSED' });
  });

  it('goes on from what it remembers when the table is back', async () => {
    const prefix = ownTablesPrefix();
    const callId = newCall();
    const broken = TableClient.fromConnectionString(inject('tablesConnectionString'), `${prefix}calls`, {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 0 },
      additionalPolicies: [
        {
          position: 'perCall',
          policy: {
            name: 'outage',
            sendRequest: (request, next) => (down ? Promise.reject(new Error('down')) : next(request)),
          },
        },
      ],
    });
    let down = false;
    const ledger = new CallLedger(new CallsTable(() => broken));
    await ledger.step(callId, steps.placed, SILENT);
    down = true;
    expect(await ledger.step(callId, steps.connected, SILENT)).toMatchObject({ action: 'claimed', shared: false });
    await ledger.step(callId, steps.confirmed, SILENT);
    down = false;
    // The table still says `establishing`; this instance knows better, and the next change tells the others.
    expect(await ledger.step(callId, steps.connected, SILENT)).toMatchObject({ action: 'nothing' });
    expect(await ledger.step(callId, steps.over, SILENT)).toMatchObject({ action: 'claimed', shared: true });
    expect(await ledgerOn(prefix).step(callId, steps.connected, SILENT)).toMatchObject({ action: 'nothing' });
  });
});
