import { expect, it } from 'vitest';

import { findAlertType } from '../../src/calls/alert-types.ts';
import { parseCallId } from '../../src/calls/call-id.ts';
import { createPhone } from '../../src/calls/phone.ts';
import type { CallRequest } from '../../src/calls/phone-line.ts';
import { parsePhoneNumber } from '../../src/calls/phone-number.ts';
import { CALLS_FORMAT } from '../../src/calls/store/rows.ts';
import type { Log } from '../../src/log.ts';
import { StorageTrouble } from '../../src/storage/errors.ts';
import { Table } from '../../src/storage/table.ts';
import { MemoryTable } from '../storage/memory-table.ts';

const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** A table that can be taken away. */
class TableOfAnOutage extends MemoryTable {
  isAway = false;

  override async page(...query: Parameters<MemoryTable['page']>): ReturnType<MemoryTable['page']> {
    if (this.isAway) throw new StorageTrouble(0, { reason: 'away' });
    return super.page(...query);
  }

  override async transact(...writes: Parameters<MemoryTable['transact']>): ReturnType<MemoryTable['transact']> {
    if (this.isAway) throw new StorageTrouble(0, { reason: 'away' });
    return super.transact(...writes);
  }
}

it('who was spoken to while the table was away is not cut off by another instance that has noticed it', async () => {
  let now = Date.parse('2026-11-21T08:00:00Z');
  const connection = new TableOfAnOutage(() => now);
  const clock = {
    now: () => now,
    after: (_: number, run: () => void) => {
      const soon = setTimeout(run, 1);
      return () => clearTimeout(soon);
    },
  };
  const callId = parseCallId('call-1');
  const custom = findAlertType('Custom');
  const numbers = ['+12065550100'].flatMap((text) => parsePhoneNumber(text) ?? []);
  if (callId === undefined || custom === undefined) throw new Error('malformed');
  const asked: string[] = [];
  let request: CallRequest | undefined;
  const line = {
    call: async (call: CallRequest) => {
      request = call;
      return callId;
    },
    speak: async () => void asked.push('speak'),
    listen: async () => undefined,
    hangUp: async () => void asked.push('hang up'),
  };
  const rules = {
    attempts: 3,
    retryMs: 60_000,
    deadlineMs: 1_800_000,
    ringMs: 60_000,
    allowedPrefixes: undefined,
    callsPerDay: 100,
    retentionMs: 86_400_000,
  };
  const instance = (after: typeof clock.after = clock.after) => {
    const table = new Table(connection, { format: CALLS_FORMAT });
    return createPhone({ line, table, serviceName: 'Test Watch', rules, log: silent, clock: { ...clock, after } });
  };
  // Its alarms do not ring: the other one has the timer function.
  const [one, other] = [instance(), instance(() => () => undefined)];
  await other.send({ alertType: custom, waves: [numbers] }, undefined, silent);

  connection.isAway = true;
  now += 50_000;
  await one.handle([{ kind: 'connected', callId, result: {}, attempt: request?.attempt }], custom, silent);
  await other.runDue(silent);
  connection.isAway = false;
  now += 15_000;
  await other.runDue(silent);
  expect(asked).toEqual(['speak']);
  now += 60_000;
  await other.runDue(silent);
  expect(asked).toEqual(['speak', 'hang up']);
});
