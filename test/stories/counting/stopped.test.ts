import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { startAzurite } from '../../../infra/emulators/azurite.ts';
import { CountingStorage } from '../../analytics/azurite.ts';
import { Oracle } from '../../analytics/oracle.ts';
import { ownTablesPrefix } from '../../harness/app.ts';
import { DATES, dayOfDate, season } from '../../harness/season.ts';
import { startWatch } from '../../harness/watch.ts';
import { cloudEventOf } from '../../http/cloud-event.ts';

it('while storage is stopped every answer is a 503 with Retry-After, and nothing is lost afterwards', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'wildfire-camera-activity-'));
  onTestFinished(async () => rm(dataDir, { recursive: true, force: true }));
  const azurite = await startAzurite({ dataDir });
  onTestFinished(async () => azurite.stop());
  const watch = await startWatch({ TABLES_CONNECTION_STRING: azurite.connectionString });
  const { messages, questions } = season('storage stops', 40);
  const [before, during] = [messages.slice(0, 40), messages.slice(40)];
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
  for (const question of questions.slice(0, 10)) expect(await watch.range(question)).toEqual(oracle.answer(question));
});

it('an app that is stopped finishes and acknowledges the requests that it has accepted', async () => {
  const environment = { TABLES_PREFIX: ownTablesPrefix() };
  const watch = await startWatch(environment);
  const { messages } = season('stopping', 150);
  const size = Math.ceil(messages.length / 6);
  const batches = Array.from({ length: 6 }, (_, index) => messages.slice(index * size, (index + 1) * size));

  const acknowledged = new Set<number>();
  const answers = batches.map(async (batch, index) => {
    await watch.record(batch);
    acknowledged.add(index);
  });
  await Promise.any(answers);
  const before = acknowledged.size;
  process.kill(watch.app.pid ?? NaN, 'SIGTERM');
  await Promise.allSettled(answers);
  expect(await watch.app.exited).toBe('The app ended with code 0');
  expect(acknowledged.size, 'what was under way is acknowledged').toBeGreaterThan(before);

  const oracle = new Oracle();
  for (const message of messages) oracle.tell(message);
  const after = new CountingStorage(environment.TABLES_PREFIX).process();
  for (const [index, batch] of batches.entries()) {
    // Requests that came too late for the old instance are sent again.
    const outcomes = await after.record(batch);
    expect(acknowledged.has(index) && outcomes.includes('recorded'), 'was acknowledged, and is lost').toBe(false);
  }
  for (const date of DATES) expect(await after.answer(dayOfDate(date))).toEqual(oracle.answer(dayOfDate(date)));
});
