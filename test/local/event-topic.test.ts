import { AzureKeyCredential, EventGridPublisherClient } from '@azure/eventgrid';
import { expect, it } from 'vitest';

import { startAcs } from './acs-requests.ts';

const EVENT = { id: '1', source: '/notifications', type: 'Notification.Completed', subject: 'an-id', data: { a: 1 } };

const publisher = (endpoint: string, key: string) =>
  new EventGridPublisherClient(endpoint, 'CloudEvent', new AzureKeyCredential(key), {
    allowInsecureConnection: true,
    retryOptions: { maxRetries: 0 },
  });

it("the simulator's topic takes what Microsoft's client publishes with its key, and nothing else", async () => {
  const acs = await startAcs();
  const { topic } = acs;
  await publisher(topic.endpoint, topic.key).send([EVENT, { ...EVENT, id: '2' }]);
  expect(acs.log().published).toMatchObject([EVENT, { ...EVENT, id: '2' }]);

  await expect(publisher(topic.endpoint, 'another key').send([EVENT])).rejects.toMatchObject({ statusCode: 401 });
  const body = JSON.stringify([{ ...EVENT, specversion: '0.3' }]);
  const headers = { 'aeg-sas-key': topic.key, 'content-type': 'application/cloudevents-batch+json' };
  const wrong = await fetch(`${topic.endpoint}?api-version=2018-01-01`, { method: 'POST', headers, body });
  expect(wrong.status).toBe(400);
  expect(acs.log().published).toHaveLength(2);
  expect(acs.log().refused.map(({ status }) => status)).toEqual([401, 400]);
});

it('the topic may be away, hang, or lose its answer', async () => {
  const acs = await startAcs();
  const { topic } = acs;
  const client = publisher(topic.endpoint, topic.key);
  topic.mood = 'unavailable';
  await expect(client.send([EVENT])).rejects.toMatchObject({ statusCode: 503 });
  topic.mood = 'hangs';
  await expect(client.send([EVENT], { abortSignal: AbortSignal.timeout(50) })).rejects.toThrow('abort');
  expect(acs.log().published).toEqual([]);
  topic.mood = 'answer lost';
  await expect(client.send([EVENT])).rejects.toThrow('socket hang up');
  expect(acs.log().published).toHaveLength(1);
  expect(acs.log().refused).toEqual([]);
});
