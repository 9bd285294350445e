import { expect, it } from 'vitest';

import { lookedAt, newNotification, type NotificationCase } from '../../../src/calls/state/notification.ts';
import { newNotificationId } from '../../../src/calls/model/notification-id.ts';
import { parsePhoneNumber } from '../../../src/calls/model/phone-number.ts';

// Waves, stops, limits and the end are played in the world of calls.

const START = Date.parse('2026-11-21T08:00:00Z');
const UUID = '3f0c0000-0000-4000-8000-0000000000e1';

const numbers = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => parsePhoneNumber(`+1206555${1_000 + from + index}`) ?? []).flat();

const created = (waves: readonly ReturnType<typeof numbers>[], waveMs?: number): NotificationCase => {
  const about = { id: newNotificationId(START, UUID), alertType: 'ConfirmedFire', createdAt: START } as const;
  const notification = { ...about, confirm: waveMs !== undefined, waveMs };
  const rules = { deadlineMs: 1_800_000, allowedPrefixes: undefined, callsLeft: 1_000 };
  return newNotification({ notification, waves, ...rules }, START);
};

const states = ({ recipients }: NotificationCase): string => recipients.map(({ state }) => state).join(' ');

it('a new notification waits: who is next is decided with everybody else who waits', () => {
  const known = created([numbers(12)]);
  expect(states(known)).toBe(Array(12).fill('waiting').join(' '));
  expect(
    new Set(known.recipients.map(({ isGrouped, isCounted, dueAt }) => `${isGrouped} ${isCounted} ${dueAt}`)),
  ).toEqual(new Set([`true true ${START}`]));
});

it('waves do not begin after the deadline', () => {
  const inWaves = created([numbers(1), numbers(2, 1), numbers(1, 3)], 120_000);
  expect(states(lookedAt(inWaves, START + 1_799_999))).toBe('waiting waiting waiting later');
  expect(states(lookedAt(inWaves, START + 1_800_000))).toBe('waiting not_reached not_reached not_reached');
});
