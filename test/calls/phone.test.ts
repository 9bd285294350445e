import { expect, it } from 'vitest';

import { findAlertType } from '../../src/calls/alert-types.ts';
import { parseCallId } from '../../src/calls/call-id.ts';
import { createPhone } from '../../src/calls/phone.ts';
import { phoneOff } from '../../src/calls/phone-off.ts';
import type { CallRequest } from '../../src/calls/phone-line.ts';
import { parsePhoneNumber } from '../../src/calls/phone-number.ts';
import { CALLS_FORMAT } from '../../src/calls/store/rows.ts';
import type { Log } from '../../src/log.ts';
import { StorageTrouble } from '../../src/storage/errors.ts';
import { Table } from '../../src/storage/table.ts';
import { MemoryTable } from '../storage/memory-table.ts';

const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const DAY_MS = 86_400_000;

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

const [callId, custom] = [parseCallId('call-1'), findAlertType('Custom')];
const numbers = ['+12065550100', '+12065550101'].flatMap((text) => parsePhoneNumber(text) ?? []);
if (callId === undefined || custom === undefined) throw new Error('malformed');
const rules = {
  attempts: 3,
  retryMs: 60_000,
  deadlineMs: 1_800_000,
  ringMs: 60_000,
  allowedPrefixes: undefined,
  callsPerDay: 100,
  retentionMs: 90 * DAY_MS,
};

/** Instances at one table and one line, at a time that the test passes. */
const instances = () => {
  const clock = { time: Date.parse('2026-11-21T08:00:00Z') };
  const connection = new TableOfAnOutage(() => clock.time);
  const [asked, requests]: [string[], CallRequest[]] = [[], []];
  const line = {
    call: async (call: CallRequest) => {
      requests.push(call);
      return callId;
    },
    speak: async () => void asked.push('speak'),
    listen: async () => undefined,
    hangUp: async () => void asked.push('hang up'),
  };
  const newTable = () => new Table(connection, { format: CALLS_FORMAT });
  /** @param rings whether alarms ring, a moment later; if not, only the timer function finds what is due */
  const open = (rings: boolean) => {
    const after = (_: number, run: () => void) => {
      const soon = rings ? setTimeout(run, 1) : undefined;
      return () => clearTimeout(soon);
    };
    const own = { now: () => clock.time, after };
    return createPhone({ line, table: newTable(), serviceName: 'Test Watch', rules, log: silent, clock: own });
  };
  return { clock, connection, asked, requests, newTable, open };
};

it('who was spoken to while the table was away is not cut off by another instance that has noticed it', async () => {
  const { clock, connection, asked, requests, open } = instances();
  const [one, other] = [open(true), open(false)];
  await other.send({ alertType: custom, waves: [numbers.slice(0, 1)] }, undefined, silent);
  connection.isAway = true;
  clock.time += 50_000;
  await one.handle([{ kind: 'connected', callId, result: {}, attempt: requests[0]?.attempt }], custom, silent);
  await other.runDue(silent);
  connection.isAway = false;
  clock.time += 15_000;
  await other.runDue(silent);
  expect(asked).toEqual(['speak']);
  clock.time += 60_000;
  await other.runDue(silent);
  expect(asked).toEqual(['speak', 'hang up']);
});

it('with the phone off, what was under way ends as stopped with its numbers masked, and is deleted when it expires', async () => {
  const { clock, connection, newTable, open } = instances();
  const phone = open(false);
  const sent = await phone.send({ alertType: custom, waves: [numbers] }, undefined, silent);
  if (sent.kind !== 'sent') throw new Error('not sent');
  const text = () => JSON.stringify(connection.rows('notifications'));
  expect(text()).toContain('+12065550100');

  const own = { now: () => clock.time, after: () => () => undefined };
  const sweep = phoneOff({ table: newTable(), retentionMs: rules.retentionMs, clock: own });
  await sweep(silent);
  await sweep(silent);
  expect(text()).not.toContain('+1206555');
  expect(await phone.read(sent.id)).toMatchObject({
    status: 'stopped',
    recipients: [{ status: 'stopped' }, { status: 'stopped' }],
  });
  clock.time += 91 * DAY_MS;
  await sweep(silent);
  expect(connection.rows('notifications')).toEqual([]);
});
