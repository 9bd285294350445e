import { setTimeout as sleep } from 'node:timers/promises';

/** A request to the app, and how often it is sent. */
export interface Delivery {
  /** The headers of one try: each try has a new token. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  readonly body: string;
  readonly tries: number;
  /** After these answers the request is sent again; undefined: no answer came. */
  readonly isRepeated: (answer: AppAnswer | undefined) => boolean;
  /** Between two tries, in milliseconds. */
  readonly pauseMs: number;
  /** The longest time of one try, in milliseconds. */
  readonly tryMs: number;
}

/** The longest time of all tries and pauses. Twilio documents it. ACS does not. */
const ALL_TRIES_MS = 15_000;

/** The answer of the app. */
export interface AppAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Posts an event to an address of the app after a time. The result is undefined if no answer came. */
export type PostEvent<Event> = (url: string, event: Event, afterMs: number) => Promise<AppAnswer | undefined>;

/** The requests to the app that are under way. */
export class Deliveries {
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();

  /** Sends a request after a time, in milliseconds. Until its end it counts as under way. */
  async send(url: string, delivery: Delivery, afterMs: number): Promise<AppAnswer | undefined> {
    const sent = this.#sendAll(url, delivery, afterMs);
    this.#underWay.add(sent);
    return sent.finally(() => this.#underWay.delete(sent));
  }

  /** Fulfills when no request is under way. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.settled();
  }

  async #sendAll(url: string, delivery: Delivery, afterMs: number): Promise<AppAnswer | undefined> {
    const { tries, isRepeated, pauseMs, tryMs } = delivery;
    if (afterMs > 0) await this.#pause(afterMs);
    const end = performance.now() + ALL_TRIES_MS;
    for (let sent = 1; !this.#stopping.signal.aborted; sent += 1) {
      const answer = await this.#try(url, delivery, Math.min(tryMs, end - performance.now()));
      if (sent >= tries || !isRepeated(answer) || performance.now() + pauseMs >= end) return answer;
      await this.#pause(pauseMs);
    }
    return undefined;
  }

  async #try(url: string, { headers, body }: Delivery, ms: number): Promise<AppAnswer | undefined> {
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(Math.max(1, Math.ceil(ms)))]);
    try {
      const response = await fetch(url, { method: 'POST', headers: await headers(), body, signal });
      const contentType = response.headers.get('content-type') ?? '';
      return { status: response.status, contentType, body: await response.text() };
    } catch {
      return undefined;
    }
  }

  /** Ends early if the simulator stops. */
  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }
}
