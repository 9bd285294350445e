import { expect, it, onTestFinished, vi } from 'vitest';
import { outcomeWebhook, WebhookRefused } from '../../../src/calls/providers/destinations.ts';
import { LoopbackServer } from '../../harness/loopback-server.ts';
import { until } from '../../harness/until.ts';

const secret = `whsec_${Buffer.from('a key of this test, 32 bytes long').toString('base64')}`;

const webhookTo = ({ port }: LoopbackServer) =>
  outcomeWebhook({ url: `http://127.0.0.1:${port}/outcomes`, secret }, '/watch/notifications');

const eventsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: `fire/${index}/stopped`,
    type: 'Notification.RecipientFinal' as const,
    subject: 'fire',
    time: 0,
    data: {},
  }));

it('posts a batch sixteen events at a time: a receiver may take two seconds for each of fifty people who are stopped', async () => {
  const waiting: (() => void)[] = [];
  let received = 0;
  const receiver = await LoopbackServer.start((request, response) => {
    request.resume();
    received += 1;
    waiting.push(() => response.end());
  });
  onTestFinished(async () => receiver.stop());
  const published = webhookTo(receiver).publish(eventsOf(51));
  for (const expected of [16, 32, 48, 51]) {
    await until(() => received >= expected, `${expected} events are posted`);
    expect(received).toBe(expected);
    for (const answer of waiting.splice(0)) answer();
  }
  await published;
});

it('a batch has ten seconds, together', async () => {
  const receiver = await LoopbackServer.start((request, response) => {
    request.resume();
    response.end();
  });
  onTestFinished(async () => receiver.stop());
  const timeout = vi.spyOn(AbortSignal, 'timeout');
  await webhookTo(receiver).publish(eventsOf(3));
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
  const paths: unknown[] = [];
  const receiver = await LoopbackServer.start((request, response) => {
    request.resume();
    paths.push(request.url);
    response.writeHead(paths.length > 1 ? 200 : status, { location: '/elsewhere' }).end();
  });
  onTestFinished(async () => receiver.stop());
  const published = await webhookTo(receiver)
    .publish(eventsOf(1))
    .catch((error: unknown) => error);
  const refusedWith = published instanceof WebhookRefused ? [published.status, published.message] : published;
  const message = `the receiver of the webhook answers ${status}`;
  expect(refusedWith).toEqual(isDelivered ? undefined : [status, message]);
  expect(paths).toEqual(['/outcomes']);
});
