import { randomUUID } from 'node:crypto';

import { expect, it, onTestFinished, vi } from 'vitest';

import { Alarm } from '../../src/calls/alarm.ts';
import { ALERT_TYPES } from '../../src/calls/alert-types.ts';
import { type CallId, parseCallId } from '../../src/calls/call-id.ts';
import { LinePause } from '../../src/calls/line-pause.ts';
import type { Notification } from '../../src/calls/notification.ts';
import { newNotificationId } from '../../src/calls/notification-id.ts';
import { createPhone } from '../../src/calls/phone.ts';
import { type PhoneLine, PhoneLineError } from '../../src/calls/phone-line.ts';
import { parsePhoneNumber } from '../../src/calls/phone-number.ts';
import { Reaching } from '../../src/calls/reaching.ts';
import { CallLedger } from '../../src/calls/store/call-ledger.ts';
import { MemoryRows } from '../../src/calls/store/memory-rows.ts';
import { NotificationStores } from '../../src/calls/store/notification-stores.ts';
import type { Log } from '../../src/log.ts';

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const rules = {
  attempts: 3,
  retryMs: 60_000,
  deadlineMs: 1_800_000,
  allowedPrefixes: undefined,
  callsPerDay: 1_000,
  retentionMs: 90 * 86_400_000,
};
const [alertType] = ALERT_TYPES;

const newCall = (): CallId => {
  const callId = parseCallId(randomUUID());
  if (callId === undefined) throw new Error('not a call id');
  return callId;
};

/** A line on which the first hang-ups fail. */
const lineThatHangsUpAfter = (failures: number) => {
  const asked: CallId[] = [];
  const line: PhoneLine = {
    call: () => Promise.reject(new PhoneLineError('refused', 'nobody is called here')),
    speak: () => Promise.resolve(),
    hangUp: async (callId) => {
      asked.push(callId);
      if (asked.length <= failures) throw new PhoneLineError('not sent', 'unreachable');
    },
  };
  return { line, asked };
};

it('a line that could not be hung up is hung up later, although nothing about its recipient is in the table', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const { line, asked } = lineThatHangsUpAfter(2);
  const phone = createPhone({ line, rows: new MemoryRows(), serviceName: 'Test Watch', rules, log: SILENT });
  const callId = newCall();
  // The notification was in the memory of another instance, which has died.
  const attempt = { notificationId: newNotificationId(Date.now()), index: 0, attemptId: randomUUID() };
  await phone.flow.handle({ kind: 'play completed', callId, result: {}, attempt }, alertType, SILENT);
  expect(asked).toEqual([callId]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toEqual([callId, callId, callId]);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(asked).toHaveLength(3);
});

it('a line whose recipient is only in memory is in the table, so that others look after it when this process dies', async () => {
  const rows = new MemoryRows();
  const stores = new NotificationStores(rows, rules);
  const { line } = lineThatHangsUpAfter(0);
  const ledger = new CallLedger(rows);
  const reaching = new Reaching({ line, ledger, stores, rules, alarm: new Alarm(), pause: new LinePause() });
  const number = parsePhoneNumber('+12065550100');
  if (number === undefined) throw new Error('not a number');

  const now = Date.now();
  const notification: Notification = { id: newNotificationId(now), alertType: alertType.name, createdAt: now };
  const [callId, attemptId] = [newCall(), randomUUID()];
  const calling = {
    state: 'calling',
    number,
    attempts: [{ id: attemptId, claimedAt: now, callId, placedAt: now }],
    deadlineAt: now + 60_000,
    dueAt: now + 125_000,
    reserved: false,
  } as const;
  stores.keepInMemory(notification.id);
  await stores.memory.create(notification, [calling], undefined, now);
  const attempt = { notificationId: notification.id, index: 0, attemptId };
  const known = { state: 'playing', alertType: alertType.name, attempt, playingAt: now } as const;
  await reaching.answered(callId, known, now + 40_000, SILENT);
  expect(await stores.table.dueList.until(now + 39_000)).toEqual([]);
  expect(await stores.table.dueList.until(now + 40_000)).toMatchObject([{ kind: 'call', callId }]);
});
