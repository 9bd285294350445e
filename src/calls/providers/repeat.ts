import { setTimeout as sleep } from 'node:timers/promises';
import { withDeadline } from '../../azure/deadline.ts';
import { type Failure, type HangUp, MAX_REQUEST_MS, ProviderError } from '../model/phone-provider.ts';
import { FAILURE_WITHOUT_ANSWER } from './failures.ts';

/** How a request to a provider is repeated. */
export interface Repeats {
  /** The failures after which it is sent again. */
  readonly after: ReadonlySet<Failure>;
  /** The timeout of one try, the wait for a token included, in milliseconds. */
  readonly tryMs: number;
  /** How many tries may fail. Requests that meet a limit of capacity do not count. */
  readonly tries: number;
}

const FIRST_PAUSE_MS = 200;
// If the provider does not say how long to wait.
const FIRST_CAPACITY_PAUSE_MS = 1_000;

/** After these, a request that may be carried out twice is sent again. */
export const SAFE_TO_REPEAT: ReadonlySet<Failure> = new Set(['capacity', 'unreachable', 'unanswered']);

/**
 * Sends a request until it is answered, fails in a way that may not be repeated, or reaches {@link MAX_REQUEST_MS}. It never waits longer, not
 * even for a try that ignores its signal.
 *
 * @param send sends one try, which the signal ends in time
 * @throws {ProviderError}
 */
export const sendRepeatedly = async <Answer>(
  { after, tryMs, tries }: Repeats,
  send: (abortSignal: AbortSignal) => Promise<Answer>,
): Promise<Answer> => {
  const end = performance.now() + MAX_REQUEST_MS;
  let unclear: ProviderError | undefined;
  for (let failed = 0, throttled = 0; ;) {
    const ms = Math.max(1, Math.ceil(Math.min(tryMs, end - performance.now())));
    try {
      return await withDeadline(ms, send);
    } catch (thrown) {
      const error = isTimeout(thrown) ? new ProviderError(FAILURE_WITHOUT_ANSWER.deadline) : thrown;
      if (!(error instanceof ProviderError)) throw error;
      const { failure, waitMs } = error.result;
      if (failure === 'capacity') throttled += 1;
      else failed += 1;
      if (failure === 'unanswered') unclear = error;
      const jitter = 0.5 + Math.random();
      const backOffMs = FIRST_PAUSE_MS * 2 ** (failed + throttled - 1) * jitter;
      const askedMs = failure === 'capacity' ? (waitMs ?? FIRST_CAPACITY_PAUSE_MS * throttled) : 0;
      const pauseMs = Math.max(backOffMs, askedMs);
      const isLast = failed >= tries || performance.now() + pauseMs >= end;
      // An earlier try may have succeeded, regardless of the answer to this try.
      if (isLast || !after.has(failure)) throw unclear ?? error;
      await sleep(pauseMs);
    }
  }
};

/**
 * Hangs up a call.
 *
 * @param send throws `gone` if the call is over
 * @returns `gone` even if an earlier try, which was not answered, may have ended the call: the time of its end is not known
 */
export const hangUpRepeatedly = async (
  repeats: Repeats,
  send: (abortSignal: AbortSignal) => Promise<unknown>,
): Promise<HangUp> =>
  sendRepeatedly<HangUp>(repeats, async (abortSignal) => {
    try {
      await send(abortSignal);
      return 'hung up';
    } catch (error) {
      if (!(error instanceof ProviderError) || error.result.failure !== 'gone') throw error;
      return 'gone';
    }
  });

const isTimeout = (thrown: unknown): boolean => thrown instanceof DOMException && thrown.name === 'TimeoutError';
