import { setTimeout as sleep } from 'node:timers/promises';
import { type Failure, MAX_REQUEST_MS, ProviderError } from '../model/phone-provider.ts';

/** How a request to a line is repeated. */
export interface Repeats {
  /** The failures after which it is sent again. */
  readonly after: ReadonlySet<Failure>;
  /** For the answer to one try, in milliseconds. */
  readonly tryMs: number;
  /** How many tries may fail. Requests that meet a limit of capacity do not count. */
  readonly tries: number;
}

const FIRST_PAUSE_MS = 200;
// If the line does not say how long to wait.
const FIRST_CAPACITY_PAUSE_MS = 1_000;

/** After these, a request that may be carried out twice is sent again. */
export const SAFE_TO_REPEAT: ReadonlySet<Failure> = new Set(['capacity', 'unreachable', 'unanswered']);

/**
 * Sends a request until it is answered, fails in a way that may not be repeated, or reaches {@link MAX_REQUEST_MS}.
 *
 * @param send throws {@link ProviderError} if it fails
 */
export const sendRepeatedly = async <Answer>(
  { after, tryMs, tries }: Repeats,
  send: (abortSignal: AbortSignal) => Promise<Answer>,
): Promise<Answer> => {
  const end = performance.now() + MAX_REQUEST_MS;
  let unclear: ProviderError | undefined;
  for (let failed = 0, refused = 0; ;) {
    const left = end - performance.now();
    try {
      return await send(AbortSignal.timeout(Math.max(1, Math.ceil(Math.min(tryMs, left)))));
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const { failure, waitMs } = error.result;
      if (failure === 'capacity') refused += 1;
      else failed += 1;
      if (failure === 'unanswered') unclear = error;
      const jitter = 0.5 + Math.random();
      const backOffMs = FIRST_PAUSE_MS * 2 ** (failed + refused - 1) * jitter;
      const askedMs = failure === 'capacity' ? (waitMs ?? FIRST_CAPACITY_PAUSE_MS * refused) : 0;
      const pauseMs = Math.max(backOffMs, askedMs);
      const isLast = failed >= tries || performance.now() + pauseMs >= end;
      // An earlier try may have succeeded, regardless of the answer to this try. A call that is gone stays gone.
      if (isLast || !after.has(failure)) throw failure === 'gone' ? error : (unclear ?? error);
      await sleep(pauseMs);
    }
  }
};
