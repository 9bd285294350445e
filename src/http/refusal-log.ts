import type { Log } from '../log.ts';

export type Refusal = 'no token' | 'token not valid' | 'keys unreachable';

// The callback paths are public: one line for many refusals.
const ONE_LINE_A_MS = 10_000;

/** Logs refused callbacks: with a wrong `ACS_RESOURCE_ID` every callback is refused. At most one line in ten seconds for each reason. */
export class RefusalLog {
  readonly #unsaid = new Map<Refusal, { count: number; saidAt: number }>();

  /** Counts a refusal, and logs it if it is time. */
  note(reason: Refusal, log: Log): void {
    const earlier = this.#unsaid.get(reason) ?? { count: 0, saidAt: -Infinity };
    const now = performance.now();
    const count = earlier.count + 1;
    const isTime = now - earlier.saidAt >= ONE_LINE_A_MS;
    this.#unsaid.set(reason, isTime ? { count: 0, saidAt: now } : { count, saidAt: earlier.saidAt });
    if (isTime) log.warn('callback refused', { reason, refused: count });
  }
}
