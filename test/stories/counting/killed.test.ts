import { expect, inject, it } from 'vitest';

import { randomBytes } from 'node:crypto';

import { TableClient } from '@azure/data-tables';

import { CountingProcess } from '../../analytics/counting.ts';
import { Oracle } from '../../analytics/oracle.ts';
import { Between } from './between.ts';
import { DAY, MESSAGES, QUESTIONS } from './day.ts';
import type { Job } from './job.ts';

const FIVE_MINUTES_MS = 300_000;

const oracle = new Oracle();
for (const message of MESSAGES) oracle.tell(message);
const EXPECTED = QUESTIONS.map((question) => oracle.answer(question));

/** A table of its own, and jobs on it. */
const startDay = () => {
  const table = `t${randomBytes(8).toString('hex')}analytics`;
  const connectionString = inject('tablesConnectionString');
  const client = TableClient.fromConnectionString(connectionString, table, { allowInsecureConnection: true });
  const job = (task: Job['task'], clockAheadMs = 0): Job => ({ connectionString, table, task, clockAheadMs });
  /** What a process with empty memory answers. */
  const expectRight = async (): Promise<void> => {
    const process = new CountingProcess(client, 1);
    expect(await Promise.all(QUESTIONS.map(async (question) => process.answer(question)))).toEqual(EXPECTED);
    expect(await process.differences(DAY)).toEqual([]);
  };
  return { client, job, expectRight };
};

it.each([true, false])(
  'a process that is killed as it records loses nothing that it acknowledged, and all is counted once when it is sent again (last write carried out: %s)',
  async (isCarriedOut) => {
    const { client, job, expectRight } = startDay();
    const { how, output } = await Between.run(job('record'), { write: 6, isCarriedOut });
    expect(how).toBe('killed');
    const acknowledged = output.split('\n').filter((line) => line === 'recorded').length;
    expect(acknowledged).toBeGreaterThan(0);
    expect(acknowledged).toBeLessThan(MESSAGES.length);
    expect(await new CountingProcess(client, 1).differences(DAY)).toEqual([]);

    const again = await Between.run(job('record'));
    expect(again.how).toBe('done');
    const lines = again.output.split('\n');
    expect(lines.slice(0, acknowledged).every((line) => line === 'unchanged')).toBe(true);
    await expectRight();
  },
  60_000,
);

it('a process that is killed as it closes a day leaves it closed for who records, and the next one goes on', async () => {
  const { client, job, expectRight } = startDay();
  expect((await Between.run(job('record'))).how).toBe('done');
  // Its clock is behind, so that the moment which it announces is over.
  expect((await Between.run(job('close', -FIVE_MINUTES_MS))).how).toBe('done');
  const eventRows = async (): Promise<number> => {
    const filter = `PartitionKey eq '${DAY}_00' and RowKey ge 'event|' and RowKey lt 'event}'`;
    let rows = 0;
    for await (const _ of client.listEntities({ queryOptions: { filter, select: ['RowKey'] } })) rows += 1;
    return rows;
  };
  const [closing, recording] = await Promise.all([
    Between.run(job('close'), { write: 2, isCarriedOut: true }),
    Between.run(job('record')),
  ]);
  expect(closing.how).toBe('killed');
  expect(recording.output.split('\n').filter((line) => line !== '')).toEqual(MESSAGES.map(() => 'refused'));
  expect(await eventRows()).toBeGreaterThan(0);
  await expectRight();

  expect((await Between.run(job('close'))).how).toBe('done');
  expect(await eventRows()).toBe(0);
  await expectRight();
}, 60_000);

it.each([true, false])(
  'a process that is killed as it repairs leaves the rest to the next one, and nothing is added twice (last write carried out: %s)',
  async (isCarriedOut) => {
    const { client, job, expectRight } = startDay();
    expect((await Between.run(job('record'))).how).toBe('done');
    const partitionKey = `${DAY}_00`;
    await client.deleteEntity(partitionKey, 'hour|08');
    await client.updateEntity({ partitionKey, rowKey: 'camera|ridge-2', day: '{' }, 'Merge', { etag: '*' });
    await client.updateEntity({ partitionKey, rowKey: 'minute|0800|00', s00: Uint8Array.of(255) }, 'Merge', {
      etag: '*',
    });

    expect((await Between.run(job('repair'), { write: 2, isCarriedOut })).how).toBe('killed');
    expect(await new CountingProcess(client, 1).differences(DAY)).not.toEqual([]);
    expect((await Between.run(job('repair'))).how).toBe('done');
    await expectRight();
  },
  60_000,
);
