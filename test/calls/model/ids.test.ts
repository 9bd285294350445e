import { expect, it } from 'vitest';

import { newNotificationId, notificationIdPrefix, parseCallId } from '../../../src/calls/model/ids.ts';

const UUID = '3f0c0000-0000-4000-8000-0000000000e1';

it('the id of a notification holds its time, counted down from the last of 48 bits of milliseconds: newer ones sort first', () => {
  const at = Date.parse('2026-11-21T08:00:00Z');
  const id = newNotificationId(at, UUID);
  // Rows of every version stand under such ids.
  expect(id).toBe('fe5e02e173ff-400080000000000000e1');
  expect(id.startsWith(notificationIdPrefix(at))).toBe(true);
  expect(newNotificationId(at + 1, UUID) < id).toBe(true);
});

it('ids sort by time until the last millisecond that has one', () => {
  expect(notificationIdPrefix(0xffff_ffff_ffff)).toBe('000000000000');
  expect(notificationIdPrefix(0)).toBe('ffffffffffff');
  expect(() => newNotificationId(0xffff_ffff_ffff + 1, UUID)).toThrow('after the year 10889');
  expect(() => newNotificationId(-1, UUID)).toThrow('before 1970');
});

it.each(['', '.', '..', 'a/b', 'a%2Fb', '-a', 'a'.repeat(201), 7])('%j is no id of a call', (text) => {
  expect(parseCallId(text)).toBeUndefined();
});

it.each(['401f2d00-5d56-4d8a-b1e3-0242ac120002', 'CA0123', 'a.b_c~d=e', 'a'.repeat(200)])(
  '%j is an id of a call',
  (text) => {
    expect(parseCallId(text)).toBe(text);
  },
);
