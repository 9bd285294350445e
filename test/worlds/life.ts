import { runIn, type WorldProcess } from './virtual-time.ts';

/** How a request to something outside the process travels. */
export interface Travel {
  readonly thereMs: number;
  readonly backMs: number;
  /** The process dies of this request, which is then carried out or not. It lives by default. */
  readonly death?: 'carried out' | 'not carried out' | undefined;
  /** The lost part: the request is not carried out, or its answer does not arrive. Nothing is lost by default. */
  readonly lost?: 'request' | 'answer' | undefined;
  /** The error that the process gets in place of a lost answer, and when; undefined: no error, ever. */
  readonly told?: { readonly afterMs: number; readonly error: Error } | undefined;
}

/** The life of one process of the service. A dead process waits forever. */
export class Life implements WorldProcess {
  readonly name: string;
  readonly clockAheadMs: number;
  isOver = false;
  suspendedUntil = 0;
  readonly #end = Promise.withResolvers<undefined>();
  /** Settles when the process ends. */
  readonly ended = this.#end.promise;

  constructor(name: string, clockAheadMs: number) {
    this.name = name;
    this.clockAheadMs = clockAheadMs;
  }

  end(): void {
    this.isOver = true;
    this.#end.resolve(undefined);
  }

  /** Suspends the process for this time: its timers, its requests, and the answers to them wait. */
  suspend(ms: number): void {
    this.suspendedUntil = Math.max(this.suspendedUntil, performance.now() + ms);
  }

  get isSuspended(): boolean {
    return this.#waitMs > 0;
  }

  /** How long it is still suspended, in milliseconds. */
  get #waitMs(): number {
    return Math.max(0, this.suspendedUntil - performance.now());
  }

  /** Has the process do something. @returns undefined if it ends first */
  async do<Value>(doing: () => Promise<Value>): Promise<Value | undefined> {
    if (this.isOver) return undefined;
    const waiting = async (): Promise<Value> => {
      // A timer of the process waits as long as the process does.
      await new Promise((resume) => void setTimeout(resume, 1));
      return doing();
    };
    const value = await Promise.race([runIn(this, this.isSuspended ? waiting : doing), this.ended]);
    return this.isOver ? undefined : value;
  }

  /** A request of this process. Storage carries it out even if the process ends in the meantime. */
  request<Answer>({ thereMs, backMs, death, lost, told }: Travel, carryOut: () => Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.isOver) return;
      const later = (ms: number, settle: () => void): void => {
        setTimeout(() => {
          if (this.#waitMs > 0) later(this.#waitMs, settle);
          else if (!this.isOver) settle();
        }, ms);
      };
      const arrive = (): void => {
        const answered = carryOut();
        if (lost === undefined) {
          answered.then(
            (answer) => later(backMs, () => resolve(answer)),
            (error: unknown) => later(backMs, () => reject(error)),
          );
        } else {
          answered.catch(() => undefined);
          if (told !== undefined) later(told.afterMs, () => reject(told.error));
        }
      };
      const leavesInMs = this.#waitMs;
      if (death !== undefined) this.end();
      runIn(undefined, () => {
        if (death !== 'not carried out' && lost !== 'request') setTimeout(arrive, leavesInMs + thereMs);
        else if (told !== undefined) later(leavesInMs + thereMs + told.afterMs, () => reject(told.error));
      });
    });
  }
}
