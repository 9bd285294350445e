import { expect, it } from 'vitest';

import { alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import type { NotificationRequest } from '../../../src/calls/model/notification-request.ts';
import { keyUse } from '../../../src/calls/rules/idempotency.ts';
import { callees, must } from '../new-case.ts';

const [one, two, three] = callees(3);
const PLAIN: NotificationRequest = { alertType: alertTypeOf('ConfirmedFire'), waves: [[must(one), must(two)]] };
const WAVES: NotificationRequest = {
  ...PLAIN,
  waves: [[must(one)], [must(two), must(three)]],
  confirm: true,
  waveMs: 9,
};

const fingerprint = (request: NotificationRequest, key = 'k-1'): string => keyUse(key, request).fingerprint;

it('each thing that a request asks for makes it another request', () => {
  const requests: readonly NotificationRequest[] = [
    PLAIN,
    { ...PLAIN, alertType: alertTypeOf('Custom') },
    { ...PLAIN, waves: [[must(two), must(one)]] },
    { ...PLAIN, waves: [[{ ...must(one), name: 'Ana' }, must(two)]] },
    { ...PLAIN, confirm: true },
    WAVES,
    { ...WAVES, waveMs: 60_000 },
    { ...WAVES, reference: '2' },
    { ...WAVES, details: '2' },
    { ...WAVES, confirmationsNeeded: 2 },
  ];
  expect(new Set(requests.map((request) => fingerprint(request))).size).toBe(requests.length);
});

it('a default that is given is the same as one that is not', () => {
  expect(fingerprint({ ...PLAIN, confirm: false })).toBe(fingerprint(PLAIN));
  expect(fingerprint({ ...WAVES, confirmationsNeeded: 1 })).toBe(fingerprint(WAVES));
});

it('neither a key nor a number can be read in what is stored: the same request under another key looks different', () => {
  expect(fingerprint(PLAIN)).not.toBe(fingerprint(PLAIN, 'k-2'));
  const stored = Object.values(keyUse('k-1', PLAIN)).join();
  expect(stored).toMatch(/^[0-9a-f]{64},[0-9a-f]{64}$/);
});
