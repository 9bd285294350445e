import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { TableClient } from '@azure/data-tables';
import { expect, inject, it, onTestFinished } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { CountingProcess } from '../../analytics/counting.ts';
import { Oracle } from '../../analytics/oracle.ts';
import { ownTablesPrefix } from '../../harness/app.ts';
import { Between, CARRIED_OUT, killedAtWrite } from '../../harness/between.ts';
import { DATES, dayOfDate, season } from '../../harness/season.ts';
import { startWatch } from '../../harness/watch.ts';
import { NO_SETTINGS } from '../../cli/npm-start.ts';

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
  const client = TableClient.fromConnectionString(inject('tablesConnectionString'), `${prefix}analytics`, {
    allowInsecureConnection: true,
  });
  const process = () => new CountingProcess(client, 1);
  const differences = async () =>
    (await Promise.all(DATES.map(async (date) => process().differences(dayFrom(date))))).flat();
  /** Every answer is right, and every counter. */
  const expectRight = async (): Promise<void> => {
    for (const question of [...questions.slice(0, 6), ...DATES.map(dayOfDate)]) {
      expect(await process().answer(question)).toEqual(oracle.answer(question));
    }
    expect(await differences()).toEqual([]);
  };
  return { prefix, client, process, differences, expectRight };
};

const dayFrom = (date: (typeof DATES)[number]) => dayOf(instantFrom(dayOfDate(date).start));

it.each(DEATHS)(
  'an instance that is killed as it records, %s of a write, loses nothing that it acknowledged, and all is counted once when it is sent again',
  async (death) => {
    const { prefix, process: counting, differences, expectRight } = ownTables();
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
    expect(await differences(), 'what is there is counted').toEqual([]);

    const next = counting();
    for (const [index, batch] of batches.entries()) {
      const outcomes = await next.record(batch);
      expect(index < acknowledged && outcomes.includes('recorded'), 'was acknowledged, and is lost').toBe(false);
    }
    await expectRight();
  },
);

it.each(DEATHS)(
  'a repair that is killed %s of a write leaves the rest to the next one, and nothing is added twice',
  async (death) => {
    const { prefix, client, process: counting, differences, expectRight } = ownTables();
    await counting().record(messages);
    const partitionKey = `${DATES[1]}_00`;
    for await (const { rowKey = '' } of client.listEntities({
      queryOptions: { filter: `PartitionKey eq '${partitionKey}'` },
    })) {
      if (rowKey === 'hours') await client.deleteEntity(partitionKey, rowKey);
      const properties = { partitionKey, rowKey, ...(rowKey.startsWith('camera|') && { day: '{' }) };
      if ('day' in properties) await client.updateEntity(properties, 'Merge', { etag: '*' });
    }
    const between = await Between.start(inject('tablesConnectionString'));
    onTestFinished(async () => between.stop());
    const repair = async (isKilled: boolean): Promise<string | number | null> => {
      const child = spawn(
        process.execPath,
        [inject('commands').audit, '--settings', NO_SETTINGS, '--date', DATES[1], '--repair', '--yes'],
        { env: { TABLES_CONNECTION_STRING: between.connectionString, TABLES_PREFIX: prefix }, stdio: 'ignore' },
      );
      if (isKilled) between.rule = killedAtWrite(4, death, () => void child.kill('SIGKILL'));
      await once(child, 'exit');
      return child.signalCode ?? child.exitCode;
    };
    expect(await repair(true)).toBe('SIGKILL');
    // Each write of rows comes after one that renews the lease: the second one sets rows aside, the fourth one adds what they held.
    expect((await differences()).length > 0).toBe(death === 'before the request');
    between.rule = CARRIED_OUT;
    expect(await repair(false)).toBe(0);
    await expectRight();
  },
);
