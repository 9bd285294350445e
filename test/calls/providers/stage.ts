import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';

import { onTestFinished, vi } from 'vitest';

import { alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import { notificationIdSchema, parseCallId } from '../../../src/calls/model/ids.ts';
import { ProviderError } from '../../../src/calls/model/phone-provider.ts';
import { inVirtualTime, type VirtualTime } from '../../worlds/virtual-time.ts';
import { must, phoneNumber } from '../new-case.ts';

export const ID = 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de';
const notificationId = notificationIdSchema.parse(ID);

/** The attempt of all these tests, and its text in contexts. */
export const attempt = { notificationId, index: 3, attemptId: '3f0c1e5a-1111-4222-8333-444455556666' };
export const ATTEMPT = `${ID}/3/${attempt.attemptId}`;

export const number = phoneNumber('+12065550100');
export const source = phoneNumber('+12065550199');
export const callIdOf = (text: string) => must(parseCallId(text));

/** A request for a call. */
export const CALL = {
  number,
  alertType: alertTypeOf('ConfirmedFire'),
  message: { unit: 'Smoke & fire. ', hasKeys: true },
  attempt,
  firstSentAt: Date.parse('2026-11-21T08:00:00Z'),
};

export const DONE = { isDone: true };

/** How a request to a provider ended, with its answer. */
export const outcomeOf = async (doing: Promise<unknown>): Promise<unknown> =>
  doing.then(
    (answer: unknown) => ({ ...DONE, answer }),
    (error: unknown) => (error instanceof ProviderError ? error.result : error),
  );

/** Plays in virtual time, from 0 on and without jitter. */
export const inTime = async <Result>(play: (time: VirtualTime) => Promise<Result>): Promise<Result> =>
  inVirtualTime(0, () => 0.5, true, play);

/** In this test, pauses end at once. @returns the pauses so far, in milliseconds */
export const withoutPauses = (): readonly unknown[] => {
  const pauses: unknown[] = [];
  const spied = vi.spyOn(timersPromises, 'setTimeout').mockImplementation(async (ms, value) => {
    pauses.push(ms);
    return Promise.resolve(value);
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    spied.mockRestore();
    syncBuiltinESMExports();
  });
  return pauses;
};
