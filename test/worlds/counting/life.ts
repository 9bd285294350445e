import type { WorldProcess } from '../virtual-time.ts';

/** When a process dies: at its `request`-th request to storage, which is then carried out or not. */
export interface Death {
  readonly request: number;
  readonly isCarriedOut: boolean;
}

/** The life of a process. What a dead process awaits never comes. */
export class Life implements WorldProcess {
  readonly name: string;
  readonly clockAheadMs: number;
  readonly #death: Death | undefined;
  readonly #ended = Promise.withResolvers<'died'>();
  #requests = 0;
  #isOver = false;

  constructor(name: string, clockAheadMs: number, death?: Death) {
    this.name = name;
    this.clockAheadMs = clockAheadMs;
    this.#death = death;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Settles when the process dies. */
  get ended(): Promise<'died'> {
    return this.#ended.promise;
  }

  end(): void {
    this.#isOver = true;
    this.#ended.resolve('died');
  }

  /** One more request to storage. @returns what becomes of it if the process dies of it */
  request(): 'carried out' | 'not carried out' | undefined {
    this.#requests += 1;
    if (this.#death?.request !== this.#requests) return undefined;
    this.end();
    return this.#death.isCarriedOut ? 'carried out' : 'not carried out';
  }
}
