import { expect, it } from 'vitest';

import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import {
  CountingProcess,
  frame,
  HOUR,
  MemoryStorage,
  MINUTE,
  SECOND,
  SILENT,
  START,
} from '../../analytics/counting.ts';
import { DAY, rightAnswer } from '../../analytics/oracle.ts';
import { InterposedTable } from '../../storage/interposed-table.ts';

// The world meets this moment once in a thousand histories.
it('a reader whose request for events arrives after the day was closed answers with every event, in whole minutes', async () => {
  let now = START + 30n * DAY;
  const storage = new MemoryStorage();
  storage.now = () => Number(now / 1_000n);
  const messages = [frame('ridge-1', 'f-1', START), frame('ridge-1', 'f-2', START + SECOND)];
  await storage.process().record(messages);
  now += 2n * HOUR;
  const [asked, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const late = new InterposedTable(async ({ rowKeys: [key = ''] }) => {
    if (!key.startsWith('event|')) return;
    asked.resolve();
    await closed.promise;
  }, storage.memory);
  const answering = new CountingProcess(late).activity({ start: START, end: START + SECOND });
  await asked.promise;
  // One run seals the day, and the second run deletes its event rows.
  for (const retentionDays of [7, 7]) {
    await closeDays({ table: storage.process().table, shards: 1, retentionDays }, SILENT);
  }
  closed.resolve();
  const period = { start: START, end: START + MINUTE - 1n };
  expect(await answering).toEqual([{ ...period, cameraId: undefined }, rightAnswer(messages, period)]);
});
