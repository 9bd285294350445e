import { expect, it } from 'vitest';

import { ownTablesPrefix } from '../../harness/app.ts';
import { Oracle } from '../../analytics/oracle.ts';
import { DATES, dayOfDate, season } from './season.ts';
import { startWatch } from './watch.ts';

it('an app that is stopped finishes and acknowledges the requests that it has accepted', async () => {
  const environment = { TABLES_PREFIX: ownTablesPrefix() };
  const watch = await startWatch(environment);
  const { messages } = season('stopping', 1_200);
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
  const after = await startWatch(environment);
  for (const [index, batch] of batches.entries()) {
    const answer = await after.record(batch);
    // Requests that came too late for the old instance are sent again.
    const known = acknowledged.has(index) ? batch.length : 0;
    expect(answer.unchanged).toBeGreaterThanOrEqual(known);
  }
  for (const date of DATES) expect(await after.day(date)).toEqual(oracle.answer(dayOfDate(date)));
}, 60_000);
