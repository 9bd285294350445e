import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { describe, expect, inject, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { parseCameraEvent } from '../../../src/http/event-message.ts';
import { CountingStorage } from '../../analytics/azurite.ts';
import { DAY, type PlainMessage, type Question } from '../../analytics/oracle.ts';
import { ownDirectory } from '../../harness/own-directory.ts';
import { NO_SETTINGS } from '../npm-start.ts';
import { run } from './running.ts';

const DATE = dayOf(instantFrom(BigInt(Date.parse('2026-03-14')) * 1_000n));
const MIDNIGHT = BigInt(Date.parse(`${DATE}T00:00:00Z`)) * 1_000n;

/** More than a page of rows. */
const EVENTS = 1_010;

const frame = (index: number): PlainMessage => {
  const ts = MIDNIGHT + BigInt(index) * 6_000_123n;
  return {
    eventId: `f|${index}`,
    cameraId: `ridge/${index % 7}`,
    ts,
    time: ts,
    detections: { smoke: (index % 3) + 1 },
  };
};
const review = (index: number): PlainMessage => {
  const { eventId, cameraId, ts, time } = frame(index);
  return { eventId, cameraId, ts, time: time + 1n, reviewed: true, annotations: { fire: index % 2 } };
};
/** Says only that there is such an event. */
const bare = (index: number): PlainMessage => {
  const { eventId, cameraId, ts } = frame(index);
  return { eventId, cameraId, ts, time: ts };
};

const questions: readonly Question[] = [
  { start: MIDNIGHT, end: MIDNIGHT + DAY - 1n },
  { start: MIDNIGHT + 1_234_567_890n, end: MIDNIGHT + 5_100_000_007n },
  { start: MIDNIGHT + 60_000_001n, end: MIDNIGHT + 3_660_000_000n, cameraId: 'ridge/5' },
];

/** Runs `npm run export` in a directory, against this storage only. */
const runExport = async (storage: CountingStorage, cwd: string, args: readonly string[]) => {
  const environment = {
    TABLES_CONNECTION_STRING: inject('tablesConnectionString'),
    TABLES_PREFIX: storage.client().tableName.replace(/analytics$/, ''),
  };
  return run('export', ['--settings', NO_SETTINGS, ...args], { cwd, environment });
};

/** A storage that exported lines were sent into, through the check that every event goes through. */
const sentInto = async (lines: readonly string[]) => {
  const counting = new CountingStorage().process();
  const now = instantFrom(MIDNIGHT + 2n * DAY);
  const messages = lines.map((line) => {
    const parsed = parseCameraEvent(JSON.parse(line), now);
    if (!('message' in parsed)) throw new Error(`${line}: ${JSON.stringify(parsed.faults)}`);
    return parsed.message;
  });
  await counting.recorder.record(messages);
  return counting;
};

const linesOf = (ndjson: string): readonly string[] => ndjson.split('\n').filter((line) => line !== '');

const answersOf = async (counting: Awaited<ReturnType<typeof sentInto>>): Promise<readonly unknown[]> =>
  Promise.all(questions.map(async (question) => counting.answer(question)));

describe('npm run export', () => {
  it('writes a day that is being written to as events, from which every answer comes out the same', async () => {
    const storage = new CountingStorage();
    const counting = storage.process(1);
    await counting.record(Array.from({ length: EVENTS }, (_, index) => (index % 9 === 0 ? bare(index) : frame(index))));
    await counting.record(Array.from({ length: 100 }, (_, index) => review(index)));
    const directory = ownDirectory();
    const [{ code, said }] = await Promise.all([
      runExport(storage, directory, ['--date', DATE]),
      // The same with a newer time: no answer changes, but the rows do while they are read.
      counting.record(
        Array.from({ length: 300 }, (_, at) => ({ ...review(at % 100), time: MIDNIGHT + DAY + BigInt(at) })),
      ),
    ]);
    expect(said).toBe(`1,010 events in ${DATE}.ndjson.gz\n`);
    expect(code).toBe(0);
    expect((await readdir(directory)).toSorted()).toEqual([`${DATE}.ndjson.gz`]);

    const lines = linesOf(gunzipSync(await readFile(join(directory, `${DATE}.ndjson.gz`))).toString('utf8'));
    const target = await sentInto(lines.toReversed());
    expect(await answersOf(target)).toEqual(await answersOf(counting));

    const exported = async () =>
      (await runExport(storage, directory, ['--date', DATE, '--to', '2026-03-15', '--out', '-'])).printed;
    expect(await exported()).toBe(await exported());
  });

  it('says which rows it could not read, and keeps what it has of the others', async () => {
    const storage = new CountingStorage();
    await storage.process().record([frame(10), frame(20)]);
    const client = storage.client();
    for await (const { partitionKey = '', rowKey = '' } of client.listEntities()) {
      if (rowKey.startsWith('event|0001|')) await client.updateEntity({ partitionKey, rowKey, ts_utc: 'never' });
    }
    const directory = ownDirectory();
    const { code, said } = await runExport(storage, directory, ['--date', DATE, '--out', 'day.ndjson']);
    expect(said).toMatch(
      /^1 events in day\.ndjson\nThese rows cannot be read, and are not in it:\n2026-03-14_00 event\|0001\|/,
    );
    expect(code).toBe(1);
    expect(linesOf(await readFile(join(directory, 'day.ndjson'), 'utf8'))).toHaveLength(1);
  });

  it.each<[string, (storage: CountingStorage) => Promise<unknown>, string, number]>([
    [
      'a closed day',
      async (storage) => storage.process().days.close(DATE),
      `${DATE} is closed, or about to be: its event rows are deleted.\n`,
      1,
    ],
    [
      'a day whose row is lost, of which an empty file is no backup',
      async (storage) => storage.client().deleteEntity('days', DATE),
      `The row of ${DATE} is missing: run npm run audit.\n`,
      2,
    ],
  ])('refuses %s, and leaves no file', async (_, prepare, complaint, exitCode) => {
    const storage = new CountingStorage();
    await storage.process().record([frame(1)]);
    await prepare(storage);
    const directory = ownDirectory();
    const { code, said } = await runExport(storage, directory, ['--date', DATE]);
    expect([said, code]).toEqual([complaint, exitCode]);
    expect(await readdir(directory)).toEqual([]);
  });

  it.each([
    [['--to', '2026-03-13'], '--to is before --date.'],
    [[], 'There is no table '],
  ])('%j, of nothing: %s', async (args, complaint) => {
    const { code, said } = await runExport(new CountingStorage(), ownDirectory(), ['--date', DATE, ...args]);
    expect([said, code]).toEqual([expect.stringContaining(complaint), 2]);
  });
});
