import { expect, it } from 'vitest';

import { newNotificationId } from '../../../src/calls/model/ids.ts';
import { deadlineOf } from '../../../src/calls/rules/policy.ts';

it('the deadline of a notification follows from its id', () => {
  const at = Date.parse('2026-11-21T08:00:00Z');
  const id = newNotificationId(at, '3f0c0000-0000-4000-8000-0000000000e1');
  expect(deadlineOf(id, { deadlineMs: 1_800_000 })).toBe(Date.parse('2026-11-21T08:30:00Z'));
});
