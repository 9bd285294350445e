import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { expect, inject, it } from 'vitest';

import { instantFrom } from '../../src/analytics/model/instant.ts';
import { readSeal, sealShard } from '../../src/analytics/rows/seal.ts';
import { parseCameraEvent } from '../../src/http/event-message.ts';
import { CountingStorage } from '../analytics/azurite.ts';
import { all, DATE, frame, MemoryStorage, SHARD, START, WHOLE_DAY } from '../analytics/counting.ts';
import { DAY, type PlainMessage } from '../analytics/oracle.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { NO_SETTINGS, run } from './running.ts';

/** Runs `npm run export` for the day in a directory, against this storage only. */
const exporting = async (storage: CountingStorage, cwd: string, ...args: readonly string[]) => {
  const environment = { TABLES_CONNECTION_STRING: inject('tablesConnectionString'), TABLES_PREFIX: storage.prefix };
  return run('infra/cli/export.ts', ['--settings', NO_SETTINGS, '--date', DATE, ...args], { cwd, environment });
};

/** A process that has recorded exported events, each through the check that every event goes through. */
const recordedFrom = async (ndjson: string) => {
  const counting = new MemoryStorage().process();
  const messages = ndjson
    .trim()
    .split('\n')
    .map((line) => parseCameraEvent(JSON.parse(line), instantFrom(START + 2n * DAY)))
    .flatMap((parsed) => ('message' in parsed ? parsed.message : expect.unreachable(JSON.stringify(parsed.faults))));
  await counting.recorder.record(messages.toReversed());
  return counting;
};

const messageOf = (at: number, later: bigint, facets: Partial<PlainMessage>): PlainMessage => {
  const ts = START + BigInt(at) * 6_000_123n;
  return { eventId: `f|${at}`, cameraId: `ridge/${at % 7}`, ts, time: ts + later, ...facets };
};

const reviews = (later: bigint) =>
  all(100).map((at) => messageOf(at, later, { reviewed: true, annotations: { fire: at % 2 } }));

it('npm run export writes a day that is being written to as events, from which every answer comes out the same', async () => {
  const storage = new CountingStorage();
  const counting = storage.process();
  // More than a page of rows. Some say only that there is such an event.
  await counting.record(
    all(1_010).map((at) => messageOf(at, 0n, at % 9 === 0 ? {} : { detections: { smoke: at % 4 } })),
  );
  await counting.record([...reviews(1n), messageOf(7, 2n, { removed: true })]);
  const directory = ownDirectory();
  // The same values with a newer time: no answer changes, but the rows change while they are read.
  const [exported] = await Promise.all([exporting(storage, directory), counting.record(reviews(DAY))]);
  expect(exported).toEqual({ code: 0, printed: '', said: `1,010 events in ${DATE}.ndjson.gz\n` });
  expect(await readdir(directory)).toEqual([`${DATE}.ndjson.gz`]);

  const packed = await readFile(join(directory, `${DATE}.ndjson.gz`));
  const target = await recordedFrom(gunzipSync(packed).toString('utf8'));
  const part = { start: START + 60_000_001n, end: START + 3_660_000_007n, cameraId: 'ridge/5' };
  for (const question of [WHOLE_DAY, part])
    expect(await target.answer(question)).toEqual(await counting.answer(question));

  const { printed } = await exporting(storage, directory, '--to', '2026-11-22', '--out', '-');
  expect(new Set(printed.match(/"event_id":"[^"]+"/g)).size).toBe(1_010);
});

it('names the rows that it could not read, and keeps the others', async () => {
  const storage = new CountingStorage();
  await storage.process().record([frame('c', 'f', START), frame('c', 'g', START + 60_000_000n)]);
  const client = storage.client();
  for await (const { partitionKey = '', rowKey = '' } of client.listEntities()) {
    if (rowKey.startsWith('event|0001|')) await client.updateEntity({ partitionKey, rowKey, ts_utc: 'never' });
  }
  const directory = ownDirectory();
  const { code, said } = await exporting(storage, directory, '--out', 'day.ndjson');
  expect(said).toMatch(
    /^1 events in day\.ndjson\nThese rows cannot be read and are not in the file:\n[\d-]+\.00 event\|0001\|/,
  );
  expect(code).toBe(1);
  expect((await readFile(join(directory, 'day.ndjson'), 'utf8')).match(/\n/g)).toHaveLength(1);
});

it('refuses a closed day, and keeps the file of an earlier export', async () => {
  const storage = new CountingStorage();
  const counting = storage.process();
  await counting.record([frame('c', 'f')]);
  const { table } = counting;
  await sealShard(table, await readSeal(table, SHARD), 'closed');
  const directory = ownDirectory();
  const earlier = join(directory, `${DATE}.ndjson.gz`);
  await writeFile(earlier, 'earlier');
  const said = `${DATE} is closed: its event rows are deleted. Use the backup.\n`;
  expect(await exporting(storage, directory)).toEqual({ code: 1, printed: '', said });
  expect([await readdir(directory), await readFile(earlier, 'utf8')]).toEqual([[`${DATE}.ndjson.gz`], 'earlier']);
});

it('reads the events of a day whose counter rows are lost', async () => {
  const storage = new CountingStorage();
  await storage.process().record([frame('c', 'f')]);
  await storage.client().deleteEntity(SHARD, 'day|00');
  expect(await exporting(storage, ownDirectory())).toMatchObject({ code: 0, said: `1 events in ${DATE}.ndjson.gz\n` });
});

it('reads all shards of the table that COUNTER_SHARDS names', async () => {
  const storage = new CountingStorage();
  await storage.process(8).record(all(20).map((at) => frame(`c-${at}`, 'f')));
  const environment = { TABLES_CONNECTION_STRING: inject('tablesConnectionString'), TABLES_PREFIX: storage.prefix };
  const args = ['--settings', NO_SETTINGS, '--date', DATE];
  const exported = async (shards: string) =>
    run('infra/cli/export.ts', args, { cwd: ownDirectory(), environment: { ...environment, COUNTER_SHARDS: shards } });
  expect(await exported('8')).toMatchObject({ code: 0, said: `20 events in ${DATE}.ndjson.gz\n` });
  const said = `There is no table ${storage.prefix}analytics in this storage. Are TABLES_PREFIX and COUNTER_SHARDS those of the service?\n`;
  expect(await exported('')).toMatchObject({ code: 2, said });
});
