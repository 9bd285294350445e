import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

import { Webhook } from 'standardwebhooks';
import { expect, it, onTestFinished, vi } from 'vitest';
import { eventGridTopic, outcomeWebhook, WebhookRejected } from '../../../src/calls/providers/destinations.ts';
import { LoopbackServer } from '../../harness/loopback-server.ts';
import { until } from '../../harness/until.ts';
import { inVirtualTime } from '../../worlds/virtual-time.ts';

const secret = `whsec_${Buffer.from('a key of this test, 32 bytes long').toString('base64')}`;

const eventsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: `fire/${index}/stopped`,
    type: 'Notification.RecipientFinal' as const,
    subject: 'fire',
    time: 0,
    data: {},
  }));

interface Received {
  readonly path: string | undefined;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A receiver that answers so, and its requests. */
const receiverOf = async (answer: (response: ServerResponse) => void) => {
  const received: Received[] = [];
  const receiver = await LoopbackServer.start((request, response) => {
    void text(request).then((body) => {
      const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
      received.push({ path: request.url, headers: Object.fromEntries(headers), body });
      answer(response);
    });
  });
  onTestFinished(async () => receiver.stop());
  return { received, url: `http://127.0.0.1:${receiver.port}/outcomes` };
};

const webhookTo = async (answer: (response: ServerResponse) => void) => {
  const { received, url } = await receiverOf(answer);
  return { received, webhook: outcomeWebhook({ url, secret }) };
};

it('sends a batch to Event Grid once, and gives it 10 s: a later look sends it again', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout');
  const { received, url: endpoint } = await receiverOf((response) => void response.writeHead(503).end());
  const topic = eventGridTopic({ endpoint, key: 'a key' }, { getToken: async () => Promise.resolve(null) });
  await expect(topic.publish(eventsOf(2))).rejects.toMatchObject({ statusCode: 503 });
  expect(received).toMatchObject([{ headers: { 'aeg-sas-key': 'a key' } }]);
  expect(timeout.mock.calls).toEqual([[10_000]]);
});

it.each([300, 301, 303, 307])(
  'a batch that Event Grid answers with %i fails; a redirect is not followed',
  async (status) => {
    const { received, url: endpoint } = await receiverOf((response) => {
      response.writeHead(received.length > 1 ? 200 : status, { location: '/elsewhere' }).end();
    });
    const topic = eventGridTopic({ endpoint, key: 'a key' }, { getToken: async () => Promise.resolve(null) });
    await expect(topic.publish(eventsOf(1))).rejects.toMatchObject({ statusCode: status });
    expect(received).toHaveLength(1);
  },
);

const hangs = async () => new Promise<never>(() => undefined);

it('gives up a batch after 10 s although its token never comes', async () => {
  await import('@azure/eventgrid');
  await inVirtualTime(
    0,
    () => 0.5,
    true,
    async (time) => {
      const topic = eventGridTopic(
        { endpoint: 'https://topic.invalid', key: undefined },
        {
          getToken: hangs,
        },
      );
      const failed = topic.publish(eventsOf(1)).catch((error: unknown) => error);
      expect(await time.passUntil(failed, 10_000)).toBe(true);
      expect(await failed).toMatchObject({ name: 'TimeoutError' });
    },
  );
});

it('posts sixteen events of a batch at a time, and gives a batch 10 s: a receiver may take 2 s for each of 50 people', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout');
  const waiting: ServerResponse[] = [];
  const { received, webhook } = await webhookTo((response) => void waiting.push(response));
  const published = webhook.publish(eventsOf(51));
  for (const expected of [16, 32, 48, 51]) {
    await until(() => received.length >= expected, `${expected} events are posted`);
    expect(received).toHaveLength(expected);
    for (const response of waiting.splice(0)) response.end();
  }
  await published;
  expect(timeout.mock.calls).toEqual([[10_000]]);
});

it.each([
  [200, true],
  [204, true],
  [301, false],
  [304, false],
  [307, false],
  [404, false],
  [500, false],
])('an event that is answered %i is delivered: %s; a redirect is not followed', async (status, isDelivered) => {
  const { received, webhook } = await webhookTo((response) => {
    response.writeHead(received.length > 1 ? 200 : status, { location: '/elsewhere' }).end();
  });
  const thrown = await webhook.publish(eventsOf(1)).catch((error: unknown) => error);
  expect(thrown instanceof WebhookRejected ? thrown.status : thrown).toBe(isDelivered ? undefined : status);
  expect(received.map(({ path }) => path)).toEqual(['/outcomes']);
});

it('a repeat of an event has the same id and time, under a signature of now', async () => {
  const { received, webhook } = await webhookTo((response) => void response.end());
  for (const event of [...eventsOf(1), ...eventsOf(1)]) await webhook.publish([event]);
  expect(received).toHaveLength(2);
  for (const { body, headers } of received) {
    const event = new Webhook(secret).verify(body, headers);
    expect(headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
    const envelope = { source: '/notifications', id: headers['webhook-id'], time: '1970-01-01T00:00:00.000Z' };
    expect(event).toMatchObject(envelope);
  }
});
