import { createHmac } from 'node:crypto';

import type { AppAnswer, Deliveries, PostEvent } from '../phone-network/deliveries.ts';
import type { Form } from './twilio-call.ts';

/** `X-Twilio-Signature`: of the address with its query, and of each parameter by its name. */
export const signatureOf = (authToken: string, url: string, form: Form): string => {
  const signed = Object.entries(form)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .reduce((text, [name, value]) => text + name + value, url);
  return createHmac('sha1', authToken).update(signed).digest('base64');
};

/** Posts webhooks, signed with the auth token of the account. The fragment of an address has its timeouts and repeats (`#rt=5000&rc=2&rp=all`). */
export const webhookPoster =
  (deliveries: Deliveries, authToken: string): PostEvent<Form> =>
  async (address, form, afterMs) => {
    const [url = '', fragment = ''] = address.split('#');
    const rules = new URLSearchParams(fragment);
    const policy = (rules.get('rp') ?? 'ct').split(',');
    const repeats = (...kinds: readonly string[]): boolean => kinds.some((kind) => policy.includes(kind));
    const isRepeated = (answer: AppAnswer | undefined): boolean =>
      answer === undefined
        ? repeats('all', 'ct', 'rt')
        : answer.status !== 200 && repeats('all', `${Math.floor(answer.status / 100)}xx`);
    const headers = {
      'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
      'x-twilio-signature': signatureOf(authToken, url, form),
      'user-agent': 'TwilioProxy/1.1',
    };
    const delivery = {
      headers: async () => Promise.resolve(headers),
      body: new URLSearchParams(form).toString(),
      tries: 1 + Number(rules.get('rc') ?? 1),
      isRepeated,
      pauseMs: 100,
      tryMs: Number(rules.get('rt') ?? 15_000),
    };
    return deliveries.send(url, delivery, afterMs);
  };
