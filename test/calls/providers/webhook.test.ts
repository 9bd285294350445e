import { expect, it, onTestFinished } from 'vitest';

import { outcomeWebhook } from '../../../src/calls/providers/webhook.ts';
import { LoopbackServer } from '../../harness/loopback-server.ts';
import { until } from '../../harness/until.ts';

it('posts a batch sixteen events at a time: a receiver may take two seconds for each of fifty people who are stopped', async () => {
  const waiting: (() => void)[] = [];
  let received = 0;
  const receiver = await LoopbackServer.start((request, response) => {
    request.resume();
    received += 1;
    waiting.push(() => response.end());
  });
  onTestFinished(async () => receiver.stop());
  const secret = `whsec_${Buffer.from('a key of this test, 32 bytes long').toString('base64')}`;
  const webhook = outcomeWebhook({ url: `http://127.0.0.1:${receiver.port}/outcomes`, secret }, '/watch/notifications');
  const events = Array.from({ length: 51 }, (_, index) => ({
    id: `fire/${index}/stopped`,
    type: 'Notification.RecipientFinal' as const,
    subject: 'fire',
    time: 0,
    data: {},
  }));
  const published = webhook.publish(events);
  for (const expected of [16, 32, 48, 51]) {
    await until(() => received >= expected, `${expected} events are posted`);
    expect(received).toBe(expected);
    for (const answer of waiting.splice(0)) answer();
  }
  await published;
});
