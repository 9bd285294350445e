import { setTimeout as sleep } from 'node:timers/promises';

import { runIn, type WorldProcess } from './virtual-time.ts';

/** How a request to something outside the process travels. */
export interface Travel {
  readonly thereMs: number;
  readonly backMs: number;
  /** When the process ends: before the request is carried out, or before its answer arrives. Not at this request by default. */
  readonly death?: 'before' | 'after' | undefined;
  /** What gets lost: it is not carried out, or nobody learns of it. Nothing by default. */
  readonly lost?: 'request' | 'answer' | undefined;
  /** What the process is told of something lost, and when; undefined: nothing, ever. */
  readonly told?: { readonly afterMs: number; readonly error: Error } | undefined;
}

/** The life of one process of the service. */
export class Life implements WorldProcess {
  readonly clockAheadMs: number;
  readonly #onEnd = new Set<() => void>();
  #isOver = false;

  constructor(clockAheadMs: number) {
    this.clockAheadMs = clockAheadMs;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
    const hooks = [...this.#onEnd];
    this.#onEnd.clear();
    for (const tell of hooks) runIn(undefined, tell);
  }

  /** Calls this once when the process ends. */
  onEnd(tell: () => void): void {
    this.#onEnd.add(tell);
  }

  /** Has the process do something. Calls `takeOver` if it ends before that is done. */
  async do(doing: () => Promise<unknown>, takeOver: () => void): Promise<void> {
    if (this.#isOver) {
      takeOver();
      return;
    }
    this.#onEnd.add(takeOver);
    await runIn(this, doing);
    this.#onEnd.delete(takeOver);
  }

  /** A request of this process. It is carried out also if the process ends meanwhile; then nobody is there for the answer. */
  request<Answer>(travel: Travel, carryOut: () => Promise<Answer>): Promise<Answer> {
    const { thereMs, backMs, death, lost, told } = travel;
    return new Promise((resolve, reject) => {
      const exchange = async (): Promise<void> => {
        await sleep(thereMs);
        if (death === 'before') {
          this.end();
          return;
        }
        let settle: (() => void) | undefined;
        if (lost !== 'request') {
          try {
            const answer = await carryOut();
            settle = () => resolve(answer);
          } catch (error) {
            settle = () => reject(error instanceof Error ? error : new Error(String(error)));
          }
        }
        if (death === 'after') {
          this.end();
          return;
        }
        if (lost !== undefined) {
          if (told === undefined) return;
          settle = () => reject(told.error);
        }
        await sleep(lost === undefined ? backMs : (told?.afterMs ?? 0));
        if (!this.#isOver) settle?.();
      };
      if (!this.#isOver) void runIn(undefined, exchange);
    });
  }
}
