import { expect, inject, it, onTestFinished } from 'vitest';

import { CountingStorage } from '../../analytics/azurite.ts';
import { Oracle } from '../../analytics/oracle.ts';
import { ownTablesPrefix } from '../../harness/app.ts';
import { Between, killedAtWrite } from '../../harness/between.ts';
import { DATES, dayOfDate, season } from '../../harness/season.ts';
import { startWatch } from '../../harness/watch.ts';

const { messages, questions } = season('interrupted', 60);
const oracle = new Oracle(messages);
const SIZE = Math.ceil(messages.length / 6);
const batches = Array.from({ length: 6 }, (_, index) => messages.slice(index * SIZE, (index + 1) * SIZE));

/** Acknowledged messages are stored; when all are sent again, every answer is right. */
const expectNothingLost = async (prefix: string, isAcknowledged: (batch: number) => boolean): Promise<void> => {
  const next = new CountingStorage(prefix).process();
  for (const [index, batch] of batches.entries()) {
    const outcomes = await next.record(batch);
    expect(isAcknowledged(index) && outcomes.includes('recorded'), 'was acknowledged, and is lost').toBe(false);
  }
  for (const question of [...questions.slice(0, 6), ...DATES.map(dayOfDate)]) {
    expect(await next.answer(question)).toEqual(oracle.answer(question));
  }
};

it('while storage breaks off every answer is a 503 with Retry-After; an instance that is killed amid a write loses nothing that it acknowledged', async () => {
  const between = await Between.start(inject('tablesConnectionString'));
  onTestFinished(async () => between.stop());
  const prefix = ownTablesPrefix();
  const watch = await startWatch({ TABLES_PREFIX: prefix, TABLES_CONNECTION_STRING: between.connectionString });
  await watch.record(batches[0] ?? []);

  between.rule = () => {
    throw new Error('storage has stopped');
  };
  const paths = ['/api/analytics', '/api/analytics/day?date=2024-02-29', '/api/health'];
  const answers = await Promise.all(paths.map(async (path) => watch.request(path)));
  for (const { status, headers, body } of answers) {
    expect(status).toBe(503);
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(body).not.toMatch(/devstoreaccount|127\.0\.0\.1|ECONNRESET|\.ts/);
  }
  expect((await watch.post([{}])).status, 'what is wrong is wrong all the same').toBe(400);

  between.rule = killedAtWrite(6, 'before its answer', () => watch.app.kill());
  let acknowledged = 1;
  while (watch.app.isAlive) {
    acknowledged += await watch.record(batches[acknowledged] ?? []).then(
      () => 1,
      () => 0,
    );
  }
  expect(acknowledged).toBeGreaterThan(1);
  expect(acknowledged).toBeLessThan(batches.length);
  await between.settled();
  await expectNothingLost(prefix, (batch) => batch < acknowledged);
});

it('an app that is stopped finishes and acknowledges the requests that it has accepted', async () => {
  const prefix = ownTablesPrefix();
  const watch = await startWatch({ TABLES_PREFIX: prefix });
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
  await expectNothingLost(prefix, (batch) => acknowledged.has(batch));
});
