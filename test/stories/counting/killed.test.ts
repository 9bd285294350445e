import { expect, inject, it, onTestFinished } from 'vitest';

import { CountingStorage } from '../../analytics/azurite.ts';
import { Oracle } from '../../analytics/oracle.ts';
import { ownTablesPrefix } from '../../harness/app.ts';
import { Between, killedAtWrite } from '../../harness/between.ts';
import { DATES, dayOfDate, season } from '../../harness/season.ts';
import { startWatch } from '../../harness/watch.ts';

const BATCH = 20;
const DEATHS = ['before the request', 'before its answer'] as const;

const { messages, questions } = season('killed', 60);
const oracle = new Oracle();
for (const message of messages) oracle.tell(message);
const batches = Array.from({ length: Math.ceil(messages.length / BATCH) }, (_, index) =>
  messages.slice(index * BATCH, (index + 1) * BATCH),
);

/** Tables of their own, and how a process with empty memory counts on them. */
const ownTables = () => {
  const prefix = ownTablesPrefix();
  const process = () => new CountingStorage(prefix).process();
  /** Every answer is right. */
  const expectRight = async (): Promise<void> => {
    for (const question of [...questions.slice(0, 6), ...DATES.map(dayOfDate)]) {
      expect(await process().answer(question)).toEqual(oracle.answer(question));
    }
  };
  return { prefix, process, expectRight };
};

it.each(DEATHS)(
  'an instance that is killed as it records, %s of a write, loses nothing that it acknowledged, and all is counted once when it is sent again',
  async (death) => {
    const { prefix, process: counting, expectRight } = ownTables();
    const between = await Between.start(inject('tablesConnectionString'));
    onTestFinished(async () => between.stop());
    const watch = await startWatch({ TABLES_PREFIX: prefix, TABLES_CONNECTION_STRING: between.connectionString });
    // After the rows of three new days.
    between.rule = killedAtWrite(14, death, () => watch.app.kill());
    let acknowledged = 0;
    while (watch.app.isAlive)
      acknowledged += await watch.record(batches[acknowledged] ?? []).then(
        () => 1,
        () => 0,
      );
    expect(acknowledged).toBeGreaterThan(0);
    expect(acknowledged).toBeLessThan(batches.length);
    await between.settled();

    const next = counting();
    for (const [index, batch] of batches.entries()) {
      const outcomes = await next.record(batch);
      expect(index < acknowledged && outcomes.includes('recorded'), 'was acknowledged, and is lost').toBe(false);
    }
    await expectRight();
  },
);
