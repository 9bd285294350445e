import { setTimeout as sleep } from 'node:timers/promises';

import type { PhoneLineError, PhoneLineFailure } from '../model/phone-line.ts';

/** Limits of one request to a line, in milliseconds. */
export interface Bounds {
  /** For the answer to one attempt. */
  readonly attemptMs: number;
  /** For all attempts and the waiting between them. */
  readonly withinMs: number;
  /** How many attempts may fail. Throttled ones do not count. */
  readonly attempts: number;
}

const FIRST_PAUSE_MS = 200;
// If the line does not say how long to wait.
const FIRST_THROTTLE_PAUSE_MS = 1_000;
const LONGEST_FLOOR_MS = 2_000;

/** After these a request that may be done twice is sent again. */
export const SAFE_TO_REPEAT: ReadonlySet<PhoneLineFailure> = new Set(['throttled', 'not sent', 'unanswered']);

/**
 * Sends a request until it is answered, fails in a way that may not be repeated, or reaches its bounds.
 *
 * @param repeated the failures after which it is sent again
 * @param judge what `send` threw → how that failed
 */
export const sendRepeatedly = async <Answer>(
  repeated: ReadonlySet<PhoneLineFailure>,
  { attemptMs, withinMs, attempts }: Bounds,
  judge: (error: unknown) => PhoneLineError,
  send: (abortSignal: AbortSignal) => Promise<Answer>,
): Promise<Answer> => {
  const end = performance.now() + withinMs;
  let unclear: PhoneLineError | undefined;
  for (let sent = 0, throttled = 0; ;) {
    const left = end - performance.now();
    try {
      return await send(AbortSignal.timeout(Math.max(1, Math.ceil(Math.min(attemptMs, left)))));
    } catch (error) {
      const failed = judge(error);
      const { failure, waitMs } = failed;
      if (failure === 'throttled') throttled += 1;
      else sent += 1;
      if (failure === 'unanswered') unclear = failed;
      const floorMs = Math.min(LONGEST_FLOOR_MS, FIRST_PAUSE_MS * 2 ** (sent + throttled - 1)) * (0.5 + Math.random());
      const throttledMs = failure === 'throttled' ? (waitMs ?? FIRST_THROTTLE_PAUSE_MS * throttled) : 0;
      const pauseMs = Math.max(floorMs, throttledMs);
      const isLast = sent >= attempts || performance.now() + pauseMs >= end;
      // An earlier request of these may have been done, whatever this one was answered; but a call that is gone is gone.
      if (isLast || !repeated.has(failure)) throw failure === 'gone' ? failed : (unclear ?? failed);
      await sleep(pauseMs);
    }
  }
};
