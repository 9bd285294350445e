import { randomUUID } from 'node:crypto';

import { expect, it, onTestFinished } from 'vitest';

import { startAcsSimulator } from '../../infra/local/acs-simulator/simulator.ts';
import { AcsPhoneLine, connectToAcs } from '../../src/calls/acs/acs-phone-line.ts';
import { findAlertType, type AlertType } from '../../src/calls/alert-types.ts';
import type { Notification } from '../../src/calls/notification.ts';
import { newNotificationId } from '../../src/calls/notification-id.ts';
import { createPhone } from '../../src/calls/phone.ts';
import { parsePhoneNumber, type PhoneNumber } from '../../src/calls/phone-number.ts';
import { NotificationStore } from '../../src/calls/store/notification-store.ts';
import type { Log } from '../../src/log.ts';
import { until } from '../harness/until.ts';
import { callsTable } from './calls-table.ts';

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const MINUTE = 60_000;
const rules = {
  attempts: 3,
  retryMs: MINUTE,
  deadlineMs: 30 * MINUTE,
  allowedPrefixes: undefined,
  callsPerDay: 1_000,
  retentionMs: 90 * 24 * 60 * MINUTE,
};

const demand = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw new Error('missing');
  return value;
};
const number: PhoneNumber = demand(parsePhoneNumber('+12065550100'));
const alertType: AlertType = demand(findAlertType('ConfirmedFire'));

it('leaves a line alone of which nothing can be read: another instance may be speaking', async () => {
  // Nobody gets the callbacks: what is known of the call is what this test writes.
  const acs = await startAcsSimulator({ pace: { speakMs: MINUTE }, deliveryAttempts: 1 });
  onTestFinished(() => acs.stop());
  const credential = { getToken: () => Promise.reject(new Error('no token is needed')) };
  const line = new AcsPhoneLine(() => connectToAcs({ connectionString: acs.connectionString }, credential), {
    caller: { phoneNumber: number },
    cognitiveServicesEndpoint: 'https://speech.invalid/',
    callbackBaseUrl: 'http://127.0.0.1:9',
  });
  let isReadable = false;
  const rows = callsTable({
    sendRequest: (request, next) =>
      !isReadable && decodeURIComponent(request.url).includes("RowKey='call|")
        ? Promise.reject(new Error('no answer'))
        : next(request),
  });
  const store = new NotificationStore(rows, rules);
  const { dueWork } = createPhone({ line, rows, serviceName: 'Test Watch', rules, log: SILENT });

  const now = Date.now();
  const id = newNotificationId(now);
  const attemptId = randomUUID();
  const attempt = { notificationId: id, index: 0, attemptId };
  const callId = await line.call({ number, alertType, attempt, firstSentAt: now });
  await until(() => acs.log().calls[0]?.state === 'connected', 'the callee answers');
  await line.speak(callId, 'a long message');
  const notification: Notification = { id, alertType: 'ConfirmedFire', createdAt: now, dueAt: now + MINUTE };
  const attempts = [{ id: attemptId, claimedAt: now, callId, placedAt: now }];
  const due = {
    state: 'calling',
    number,
    attempts,
    deadlineAt: now + 30 * MINUTE,
    dueAt: now,
    reserved: false,
  } as const;
  await store.create(notification, [due], undefined, now);
  const recipient = async () => (await store.read(id))?.recipients[0];

  await dueWork.run(SILENT);
  expect(acs.log().calls[0]).toMatchObject({ state: 'connected', requests: { hangUp: 0 } });
  expect(await recipient()).toMatchObject({ state: 'calling', attempts: [{ callId }] });
  expect((await recipient())?.dueAt).toBeGreaterThan(now);

  // Where the table surely has no record of the call, nobody speaks: the line is closed, and the callee is dialled again.
  isReadable = true;
  await store.update(id, 0, (known) => ({ next: { ...known, dueAt: now }, action: 'due' }));
  await dueWork.run(SILENT);
  expect(acs.log().calls[0]).toMatchObject({ state: 'ended', endedBy: 'app' });
  expect(await recipient()).toMatchObject({ state: 'waiting', attempts: [{ outcome: 'unknown', isLost: true }] });
});
