import { describe, expect, it } from 'vitest';

import {
  lookedAt,
  newNotification,
  type NotificationCase,
  stoppedNotification,
  withRecipient,
} from '../../src/calls/notification.ts';
import { newNotificationId } from '../../src/calls/notification-id.ts';
import { parsePhoneNumber, type PhoneNumber } from '../../src/calls/phone-number.ts';
import { final, type Recipient } from '../../src/calls/recipient.ts';

const START = Date.parse('2026-11-21T08:00:00Z');
const UUID = '3f0c0000-0000-4000-8000-0000000000e1';
const newId = () => UUID;

const numbers = (count: number, from = 0): readonly PhoneNumber[] =>
  Array.from({ length: count }, (_, index) => parsePhoneNumber(`+1206555${1_000 + from + index}`) ?? []).flat();

const created = (
  waves: readonly (readonly PhoneNumber[])[],
  more: { readonly callsLeft?: number; readonly waveMs?: number; readonly allowedPrefixes?: readonly string[] } = {},
): NotificationCase => {
  const { callsLeft = 1_000, waveMs, allowedPrefixes } = more;
  const about = { id: newNotificationId(START, UUID), alertType: 'ConfirmedFire', createdAt: START } as const;
  const notification = { ...about, confirm: waveMs !== undefined, waveMs };
  return newNotification({ notification, waves, deadlineMs: 1_800_000, allowedPrefixes, callsLeft, newId }, START);
};

const states = ({ recipients }: NotificationCase): string => recipients.map(({ state }) => state).join(' ');

const ended = (known: NotificationCase, index: number, state: Recipient['state'], after = 1_000): NotificationCase => {
  const recipient = known.recipients[index];
  if (recipient === undefined) throw new Error('nobody');
  return withRecipient(known, index, final(recipient, state), START + after);
};
const lookedAfter = (known: NotificationCase, ms: number) => lookedAt(known, newId, START + ms);

describe('a new notification', () => {
  it('claims its first ten calls; the others wait', () => {
    const known = created([numbers(12)]);
    expect(states(known)).toBe(`${'calling '.repeat(10)}waiting waiting`);
    expect(known.notification.coversUntil).toBe(START + 25_000);
  });

  it('takes those first in the list if the calls of the day do not suffice, and says so of the rest', () => {
    const known = created([numbers(3)], { callsLeft: 2 });
    expect(states(known)).toBe('calling calling failed');
    expect(known.recipients[2]?.attempts[0]?.reason).toContain('CALLS_PER_DAY');
  });

  it('refuses who may not be called', () => {
    expect(states(created([numbers(1)], { allowedPrefixes: ['+44'] }))).toBe('failed');
  });
});

describe('waves', () => {
  const inWaves = created([numbers(1), numbers(2, 1), numbers(1, 3)], { waveMs: 120_000 });

  it('begin one after the other, each after its time', () => {
    expect(states(inWaves)).toBe('calling later later later');
    expect(inWaves.notification.nextWaveAt).toBe(START + 120_000);
    expect(states(lookedAfter(inWaves, 119_999))).toBe('calling later later later');
    const second = lookedAfter(inWaves, 120_000);
    expect(states(second)).toBe('calling waiting waiting later');
    const third = lookedAfter(second, 240_000);
    expect(states(third)).toBe('calling waiting waiting waiting');
    expect(third.notification.nextWaveAt).toBeUndefined();
  });

  it('begin at once when nobody of those before can be reached any more', () => {
    expect(ended(inWaves, 0, 'not_reached').notification.nextWaveAt).toBe(START + 1_000);
  });

  it('end with the first confirmation', () => {
    const known = ended(lookedAfter(inWaves, 120_000), 1, 'confirmed', 130_000);
    expect(states(known)).toBe('calling confirmed stopped stopped');
    expect(known.recipients[0]?.isStopped).toBe(true);
    expect(known.notification.nextWaveAt).toBeUndefined();
  });

  it('do not begin after the deadline', () => {
    expect(states(lookedAfter(inWaves, 1_800_000))).toBe('calling not_reached not_reached not_reached');
  });
});

describe('the end', () => {
  it('comes with the last recipient, and masks all numbers', () => {
    const one = ended(created([numbers(2)]), 0, 'heard');
    // Each that is final changes the notification: two that are the last at the same moment meet each other.
    expect([one.notification.completedAt, one.notification.finals]).toEqual([undefined, 1]);
    const both = ended(one, 1, 'heard', 2_000);
    expect(both.notification.completedAt).toBe(START + 2_000);
    expect(JSON.stringify(both)).not.toMatch(/\+\d{7}/);
  });

  it('comes with a stop for who waits; a second stop changes nothing', () => {
    const once = stoppedNotification(created([numbers(11)]), START + 1_000);
    expect(once.recipients[10]?.state).toBe('stopped');
    expect(stoppedNotification(once, START + 2_000)).toBe(once);
  });
});
