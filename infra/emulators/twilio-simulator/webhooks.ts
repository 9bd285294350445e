import { createHmac } from 'node:crypto';

import type { Deliveries, PostAnswer } from '../phone-network/deliveries.ts';

/** What a webhook was answered. */
export type WebhookAnswer = PostAnswer;

/** The parameters of a webhook. */
export type Form = Readonly<Record<string, string>>;

/** Brings a signed form to an address. */
export interface Webhooks {
  /**
   * @param afterMs before it is sent
   * @returns undefined if no answer came, also after the repeats that the address asks for
   */
  post(url: string, form: Form, afterMs?: number): Promise<WebhookAnswer | undefined>;
}

/** `X-Twilio-Signature`: of the address with its query, and of each parameter by its name. */
export const signatureOf = (authToken: string, url: string, form: Form): string => {
  const signed = Object.entries(form)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .reduce((text, [name, value]) => text + name + value, url);
  return createHmac('sha1', authToken).update(signed).digest('base64');
};

/** What the fragment of an address says about timeouts and repeats (`#ct=2000&rt=5000&rc=2&rp=all`). */
const rulesOf = (fragment: string) => {
  const given = new URLSearchParams(fragment);
  const policy = (given.get('rp') ?? 'ct').split(',');
  const repeats = (...kinds: readonly string[]): boolean => kinds.some((kind) => policy.includes(kind));
  return {
    readMs: Number(given.get('rt') ?? 15_000),
    repeats: Number(given.get('rc') ?? 1),
    isRepeated: (answer: WebhookAnswer | undefined): boolean =>
      answer === undefined ? repeats('all', 'ct', 'rt') : repeats('all', `${Math.floor(answer.status / 100)}xx`),
  };
};

/** All tries together. */
const MOST_MS = 15_000;
const PAUSE_MS = 100;

/** Posts over HTTP, signed with the account's auth token. */
export class HttpWebhooks implements Webhooks {
  readonly #deliveries: Deliveries;
  readonly #authToken: string;

  constructor(deliveries: Deliveries, authToken: string) {
    this.#deliveries = deliveries;
    this.#authToken = authToken;
  }

  async post(address: string, form: Form, afterMs = 0): Promise<WebhookAnswer | undefined> {
    return this.#deliveries.after(afterMs, async () => this.#tryAll(address, form));
  }

  async #tryAll(address: string, form: Form): Promise<WebhookAnswer | undefined> {
    const [url = '', fragment = ''] = address.split('#');
    const { readMs, repeats, isRepeated } = rulesOf(fragment);
    const end = performance.now() + MOST_MS;
    const headers = {
      'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
      'x-twilio-signature': signatureOf(this.#authToken, url, form),
      'user-agent': 'TwilioProxy/1.1',
    };
    const body = new URLSearchParams(form).toString();
    for (let repeat = 0; ; repeat += 1) {
      const withinMs = Math.min(readMs, end - performance.now());
      const answer = await this.#deliveries.post(url, { headers, body, withinMs });
      if (answer?.status === 200 || repeat >= repeats || !isRepeated(answer)) return answer;
      if (performance.now() + PAUSE_MS >= end || this.#deliveries.isStopped) return answer;
      await this.#deliveries.pause(PAUSE_MS);
    }
  }
}
