import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { expect, inject, it } from 'vitest';

import { instantFrom } from '../../src/analytics/model/instant.ts';
import { parseCameraEvent } from '../../src/http/event-message.ts';
import { CountingStorage } from '../analytics/azurite.ts';
import { all, DATE, MemoryStorage, START, WHOLE_DAY } from '../analytics/counting.ts';
import { DAY, type PlainMessage, type Question } from '../analytics/oracle.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { NO_SETTINGS, run } from './running.ts';

/** More than a page of rows. */
const EVENTS = 1_010;

/** Says only that there is such an event. */
const bare = (index: number): PlainMessage => {
  const ts = START + BigInt(index) * 6_000_123n;
  return { eventId: `f|${index}`, cameraId: `ridge/${index % 7}`, ts, time: ts };
};
const frame = (index: number): PlainMessage => ({ ...bare(index), detections: { smoke: (index % 3) + 1 } });
const review = (index: number, later = 1n): PlainMessage => {
  const { time, ...facts } = bare(index);
  return { ...facts, time: time + later, reviewed: true, annotations: { fire: index % 2 } };
};

const QUESTIONS: readonly Question[] = [
  WHOLE_DAY,
  { start: START + 1_234_567_890n, end: START + 5_100_000_007n },
  { start: START + 60_000_001n, end: START + 3_660_000_000n, cameraId: 'ridge/5' },
];

/** Runs `npm run export` for the day in a directory, against this storage only. */
const exporting = async (storage: CountingStorage, cwd: string, ...args: readonly string[]) => {
  const TABLES_PREFIX = storage.client().tableName.replace(/analytics$/, '');
  const environment = { TABLES_CONNECTION_STRING: inject('tablesConnectionString'), TABLES_PREFIX };
  return run('infra/cli/export.ts', ['--settings', NO_SETTINGS, '--date', DATE, ...args], { cwd, environment });
};

const linesOf = (ndjson: string): readonly string[] => ndjson.trim().split('\n');

/** A process that recorded exported lines, each through the check that every event goes through. */
const recordedFrom = async (lines: readonly string[]) => {
  const counting = new MemoryStorage().process();
  const messages = lines.map((line) => {
    const parsed = parseCameraEvent(JSON.parse(line), instantFrom(START + 2n * DAY));
    if (!('message' in parsed)) throw new Error(`${line}: ${JSON.stringify(parsed.faults)}`);
    return parsed.message;
  });
  await counting.recorder.record(messages);
  return counting;
};

it('npm run export writes a day that is being written to as events, from which every answer comes out the same', async () => {
  const storage = new CountingStorage();
  const counting = storage.process();
  await counting.record(all(EVENTS).map((index) => (index % 9 === 0 ? bare(index) : frame(index))));
  await counting.record(all(100).map((index) => review(index)));
  const directory = ownDirectory();
  const [exported] = await Promise.all([
    exporting(storage, directory),
    // The same values with a newer time: no answer changes, but the rows change while they are read.
    counting.record(all(100).map((index) => review(index, DAY))),
  ]);
  expect(exported).toEqual({ code: 0, printed: '', said: `1,010 events in ${DATE}.ndjson.gz\n` });
  expect(await readdir(directory)).toEqual([`${DATE}.ndjson.gz`]);

  const packed = await readFile(join(directory, `${DATE}.ndjson.gz`));
  const target = await recordedFrom(linesOf(gunzipSync(packed).toString('utf8')).toReversed());
  for (const question of QUESTIONS) expect(await target.answer(question)).toEqual(await counting.answer(question));

  const { printed } = await exporting(storage, directory, '--to', '2026-11-22', '--out', '-');
  expect(new Set(printed.match(/"event_id":"[^"]+"/g)).size).toBe(EVENTS);
});

it('names the rows that it could not read, and keeps the others', async () => {
  const storage = new CountingStorage();
  await storage.process().record([frame(10), frame(20)]);
  const client = storage.client();
  for await (const { partitionKey = '', rowKey = '' } of client.listEntities()) {
    if (rowKey.startsWith('event|0001|')) await client.updateEntity({ partitionKey, rowKey, ts_utc: 'never' });
  }
  const directory = ownDirectory();
  const { code, said } = await exporting(storage, directory, '--out', 'day.ndjson');
  expect(said).toMatch(
    /^1 events in day\.ndjson\nThese rows cannot be read and are not in the file:\n[\d-]+_00 event\|0001\|/,
  );
  expect(code).toBe(1);
  expect(linesOf(await readFile(join(directory, 'day.ndjson'), 'utf8'))).toHaveLength(1);
});

it.each<[string, (storage: CountingStorage) => Promise<unknown>, string, number]>([
  [
    'a closed day',
    async (storage) => storage.process().days.close(DATE),
    `${DATE} is closed or about to close: its event rows are being deleted. Use the backup.\n`,
    1,
  ],
  [
    'a day whose row is lost, which would become an empty backup',
    async (storage) => storage.client().deleteEntity('days', DATE),
    `The row of ${DATE} is missing: run npm run audit.\n`,
    2,
  ],
])('refuses %s, and keeps the file of an earlier export', async (_, prepare, said, code) => {
  const storage = new CountingStorage();
  await storage.process().record([frame(1)]);
  await prepare(storage);
  const directory = ownDirectory();
  const earlier = join(directory, `${DATE}.ndjson.gz`);
  await writeFile(earlier, 'earlier');
  expect(await exporting(storage, directory)).toEqual({ code, printed: '', said });
  expect([await readdir(directory), await readFile(earlier, 'utf8')]).toEqual([[`${DATE}.ndjson.gz`], 'earlier']);
});
