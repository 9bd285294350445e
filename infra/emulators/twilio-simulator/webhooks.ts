import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a webhook was answered. */
export interface WebhookAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The parameters of a webhook. */
export type Form = Readonly<Record<string, string>>;

/** Brings a signed form to an address. */
export interface Webhooks {
  /** @returns undefined where nobody has answered, also after the repeats that the address asks for */
  post(url: string, form: Form): Promise<WebhookAnswer | undefined>;
}

/** `X-Twilio-Signature`: of the address with its query, and of each parameter by its name. */
export const signatureOf = (authToken: string, url: string, form: Form): string => {
  const signed = Object.entries(form)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .reduce((text, [name, value]) => text + name + value, url);
  return createHmac('sha1', authToken).update(signed).digest('base64');
};

/** What the fragment of an address says about time-outs and repeats (`#ct=2000&rt=5000&rc=2&rp=all`). */
const overridesOf = (fragment: string) => {
  const given = new URLSearchParams(fragment);
  const policy = (given.get('rp') ?? 'ct').split(',');
  const answered = (status: number): boolean =>
    policy.includes('all') ||
    (policy.includes('5xx') && status >= 500) ||
    (policy.includes('4xx') && status >= 400 && status < 500);
  return {
    readMs: Number(given.get('rt') ?? 15_000),
    repeats: Number(given.get('rc') ?? 1),
    isRepeated: (answer: WebhookAnswer | undefined): boolean =>
      answer === undefined
        ? policy.includes('all') || policy.includes('ct') || policy.includes('rt')
        : answered(answer.status),
  };
};

/** All tries together. */
const MOST_MS = 15_000;
const PAUSE_MS = 100;

/** Posts over HTTP, signed with the account's auth token. */
export class HttpWebhooks implements Webhooks {
  readonly #authToken: string;
  readonly #stopping = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(authToken: string) {
    this.#authToken = authToken;
  }

  async post(url: string, form: Form): Promise<WebhookAnswer | undefined> {
    const posting = this.#tryAll(url, form);
    this.#underWay.add(posting);
    try {
      return await posting;
    } finally {
      this.#underWay.delete(posting);
    }
  }

  /** Fulfils when nothing is being delivered. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.settled();
  }

  async #tryAll(address: string, form: Form): Promise<WebhookAnswer | undefined> {
    const [url = '', fragment = ''] = address.split('#');
    const { readMs, repeats, isRepeated } = overridesOf(fragment);
    const end = performance.now() + MOST_MS;
    for (let repeat = 0; ; repeat += 1) {
      const answer = await this.#post(url, form, Math.min(readMs, end - performance.now()));
      if (answer?.status === 200 || repeat >= repeats || !isRepeated(answer)) return answer;
      if (performance.now() + PAUSE_MS >= end || this.#stopping.signal.aborted) return answer;
      await sleep(PAUSE_MS, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  async #post(url: string, form: Form, withinMs: number): Promise<WebhookAnswer | undefined> {
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(Math.max(1, Math.ceil(withinMs)))]);
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
          'x-twilio-signature': signatureOf(this.#authToken, url, form),
          'user-agent': 'TwilioProxy/1.1',
        },
        body: new URLSearchParams(form).toString(),
        signal,
      });
      const body = await response.text();
      return { status: response.status, contentType: response.headers.get('content-type') ?? '', body };
    } catch {
      // The reason does not matter: the app does not run, or the simulator is being stopped.
      return undefined;
    }
  }
}
