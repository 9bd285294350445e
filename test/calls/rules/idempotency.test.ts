import { expect, it } from 'vitest';

import { findAlertType } from '../../../src/calls/model/alert-types.ts';
import type { NotificationRequest } from '../../../src/calls/model/notification-request.ts';
import { parsePhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { keyUse } from '../../../src/calls/rules/idempotency.ts';

const alertType = findAlertType('ConfirmedFire');
const [one, two, three] = ['00', '01', '02'].flatMap((digits) => parsePhoneNumber(`+120655501${digits}`) ?? []);
if (alertType === undefined || one === undefined || two === undefined || three === undefined)
  throw new Error('malformed');

const PLAIN: NotificationRequest = { alertType, waves: [[one]] };
const WAVES: NotificationRequest = {
  alertType,
  waves: [[one], [two, three]],
  reference: 'ridge-04',
  confirm: true,
  waveMs: 120_000,
};

// As version 1.0.0 stored them: rows hold fingerprints for 24 hours, over a deployment too.
it.each([
  [PLAIN, 'dac3a903a90d6a2420006356186b3e86653ebb2a00d794ba65ca238f49115e22'],
  [WAVES, '5bfb6bd12c76e2626ac000a05ed9ca24d6fe83e09cf68e96e7bf4c7c9df2235a'],
  // Who asks for the default asks for the same.
  [{ ...WAVES, confirmationsNeeded: 1 }, '5bfb6bd12c76e2626ac000a05ed9ca24d6fe83e09cf68e96e7bf4c7c9df2235a'],
])('a request without what is new has the fingerprint of earlier versions', (request, fingerprint) => {
  expect(keyUse('k-1', request)).toEqual({
    keyHash: '7c35c5a1785d20704e44d5de4beb81c1fce91b6fe48ed7c3159af6f7f832078b',
    fingerprint,
  });
});

it('each thing that a request asks for makes it another request', () => {
  const requests: readonly NotificationRequest[] = [
    PLAIN,
    WAVES,
    { ...WAVES, confirmationsNeeded: 2 },
    { ...WAVES, details: '2' },
    { ...WAVES, details: '2', confirmationsNeeded: 2 },
    { ...WAVES, reference: '2' },
    { ...PLAIN, details: 'Antelope Ridge' },
    { ...PLAIN, confirm: true },
  ];
  expect(new Set(requests.map((request) => keyUse('k-1', request).fingerprint)).size).toBe(requests.length);
});
