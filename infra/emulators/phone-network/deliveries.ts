import { setTimeout as sleep } from 'node:timers/promises';

/** A request to the app. */
export interface Posted {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** How long the app may take, in milliseconds. */
  readonly withinMs: number;
}

/** What the app answered. */
export interface PostAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Requests to the app that are under way. */
export class Deliveries {
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();

  /** Does something later. It counts as under way from now on, and is not done if the simulator stops before. */
  async after<Result>(ms: number, deliver: () => Promise<Result>): Promise<Result | undefined> {
    const delivery = (async () => {
      if (ms > 0) await this.pause(ms);
      return this.isStopped ? undefined : deliver();
    })();
    this.#underWay.add(delivery);
    return delivery.finally(() => this.#underWay.delete(delivery));
  }

  get isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Waits, unless the simulator stops before. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  /** @returns undefined if no answer came: the app does not run, is late, or the simulator stops */
  async post(url: string, { headers, body, withinMs }: Posted): Promise<PostAnswer | undefined> {
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(Math.max(1, Math.ceil(withinMs)))]);
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal });
      const contentType = response.headers.get('content-type') ?? '';
      return { status: response.status, contentType, body: await response.text() };
    } catch {
      return undefined;
    }
  }

  /** Fulfils when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.settled();
  }
}
