import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { startAzurite } from '../../../infra/local/azurite.ts';
import { Oracle } from '../../analytics/oracle.ts';
import { cloudEventOf } from '../../http/cloud-event.ts';
import { season } from './season.ts';
import { startWatch } from './watch.ts';

it('while storage is stopped every answer is a 503 with Retry-After, and nothing is lost afterwards', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'wildfire-camera-activity-'));
  onTestFinished(async () => rm(dataDir, { recursive: true, force: true }));
  const azurite = await startAzurite({ dataDir });
  onTestFinished(async () => azurite.stop());
  const watch = await startWatch({ TABLES_CONNECTION_STRING: azurite.connectionString });
  const { messages, questions } = season('storage stops', 100);
  const [before, during] = [messages.slice(0, 100), messages.slice(100)];
  const oracle = new Oracle();
  for (const message of messages) oracle.tell(message);
  await watch.record(before);

  await azurite.stop();

  const answers = await Promise.all([
    watch.post(during.map(cloudEventOf)),
    watch.request('/api/analytics/day?date=2024-02-29'),
    watch.request('/api/analytics?ts_utc_start=2024-02-28T00:00:30Z&ts_utc_end=2024-02-29T00:00:30Z'),
    watch.request('/api/analytics'),
    watch.request('/api/health'),
  ]);
  for (const { status, headers, body } of answers) {
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(body).not.toMatch(/devstoreaccount|127\.0\.0\.1|ECONNREFUSED|\.ts/);
  }
  expect((await watch.post([{}])).status, 'what is wrong is wrong all the same').toBe(400);

  const again = await startAzurite({ dataDir, port: azurite.port });
  onTestFinished(async () => again.stop());
  expect((await watch.request('/api/health')).status).toBe(200);
  await watch.record(during);
  for (const question of questions.slice(0, 20)) expect(await watch.range(question)).toEqual(oracle.answer(question));
}, 90_000);
