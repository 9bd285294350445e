import { expect, it } from 'vitest';

import { findAlertType } from '../../src/calls/alert-types.ts';
import { parseCallId } from '../../src/calls/call-id.ts';
import { createPhone } from '../../src/calls/phone.ts';
import { phoneOff } from '../../src/calls/phone-off.ts';
import { parsePhoneNumber } from '../../src/calls/phone-number.ts';
import { CALLS_FORMAT } from '../../src/calls/store/rows.ts';
import type { Log } from '../../src/log.ts';
import { Table } from '../../src/storage/table.ts';
import { MemoryTable } from '../storage/memory-table.ts';

const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const DAY_MS = 86_400_000;

it('with the phone off, what was under way ends as stopped with its numbers masked, and is deleted when it expires', async () => {
  let now = Date.parse('2026-11-21T08:00:00Z');
  const clock = { now: () => now, after: () => () => undefined };
  const connection = new MemoryTable(() => now);
  const table = new Table(connection, { format: CALLS_FORMAT });
  const callId = parseCallId('call-1');
  const custom = findAlertType('Custom');
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
  const line = {
    call: async () => callId,
    speak: async () => undefined,
    listen: async () => undefined,
    hangUp: async () => undefined,
  };
  const phone = createPhone({ line, table, serviceName: 'Test Watch', rules, log: silent, clock });
  const sent = await phone.send({ alertType: custom, waves: [numbers] }, undefined, silent);
  if (sent.kind !== 'sent') throw new Error('not sent');
  const text = () => JSON.stringify(connection.rows('notifications'));
  expect(text()).toContain('+12065550100');

  const sweep = phoneOff({ table, retentionMs: rules.retentionMs, clock });
  await sweep(silent);
  await sweep(silent);
  expect(text()).not.toContain('+1206555');
  expect(await phone.read(sent.id)).toMatchObject({
    status: 'stopped',
    recipients: [{ status: 'stopped' }, { status: 'stopped' }],
  });
  now += 91 * DAY_MS;
  await sweep(silent);
  expect(connection.rows('notifications')).toEqual([]);
});
