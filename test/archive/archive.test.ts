import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import { isDay, type Day } from '../../src/analytics/model/day.ts';
import { CountingProcess } from '../analytics/counting.ts';
import { FaultProxy, type FaultRule, NO_FAULT } from '../analytics/faults/fault-proxy.ts';
import { DAY, type PlainMessage, type Question } from '../analytics/oracle.ts';
import { counterTable, ownDirectory, ownStorage, run, start, type Storage } from './running.ts';

const dayNamed = (text: string): Day => {
  if (!isDay(text)) throw new RangeError(text);
  return text;
};

const DATE = dayNamed('2026-03-14');
const MIDNIGHT = BigInt(Date.parse(`${DATE}T00:00:00Z`)) * 1_000n;

/** More than two pages of rows. */
const EVENTS = 1_600;

const message = (index: number): PlainMessage => {
  const ts = MIDNIGHT + BigInt(index) * 30_000_123n;
  return {
    eventId: `f-${index}`,
    cameraId: `ridge/${index % 7}`,
    ts,
    time: ts,
    detections: { smoke: (index % 3) + 1 },
  };
};

const review = (index: number): PlainMessage => {
  const { eventId, cameraId, ts, time } = message(index);
  return { eventId, cameraId, ts, time: time + 1n, reviewed: true, annotations: { fire: 1 } };
};

const questions: readonly Question[] = [
  { start: MIDNIGHT, end: MIDNIGHT + DAY - 1n },
  { start: MIDNIGHT + 12_345_678_901n, end: MIDNIGHT + 61_000_000_007n },
  { start: MIDNIGHT, end: MIDNIGHT + DAY - 1n, cameraId: 'ridge/3' },
  { start: MIDNIGHT + 60_000_001n, end: MIDNIGHT + 7_260_000_000n, cameraId: 'ridge/5' },
];

const answersOf = async (storage: Storage): Promise<unknown> => {
  const counting = new CountingProcess(counterTable(storage), 1);
  const answers: unknown[] = [];
  for (const question of questions) answers.push(await counting.answer(question));
  return answers;
};

const differencesIn = async (storage: Storage): Promise<readonly string[]> =>
  new CountingProcess(counterTable(storage), 1).differences(DATE);

/** A proxy in front of the storage. */
const proxied = async (storage: Storage, rule: FaultRule): Promise<{ proxy: FaultProxy; storage: Storage }> => {
  const proxy = await FaultProxy.start(storage.connectionString);
  onTestFinished(async () => proxy.stop());
  proxy.rule = rule;
  return { proxy, storage: { ...storage, connectionString: proxy.connectionString } };
};

/** Lets so many requests of a kind through, and holds what comes after. */
const holdAfter = (count: number, isMeant: (request: Parameters<FaultRule>[0]) => boolean) => {
  const { promise: held, resolve } = Promise.withResolvers<void>();
  let passed = 0;
  const rule: FaultRule = async (request) => {
    if (!isMeant(request)) return NO_FAULT;
    passed += 1;
    if (passed <= count) return NO_FAULT;
    resolve();
    // A reset connection at the end of the test, when the client is gone.
    await new Promise<void>((end) => void onHeldEnd.add(end));
    return { kind: 'connection reset' };
  };
  const onHeldEnd = new Set<() => void>();
  onTestFinished(() => {
    for (const end of onHeldEnd) end();
  });
  return { held, rule };
};

const isWholeRowPage = ({ isQuery, path }: Parameters<FaultRule>[0]): boolean => isQuery && !path.includes('select');

/** The first page of keys and ETags, with which a partition is gone through again. */
const isBeginOfPass = ({ isQuery, isContinued, path }: Parameters<FaultRule>[0]): boolean =>
  isQuery && !isContinued && /select=[^&]*RowKey/.test(path);

const manifestSchema = z.object({
  complete: z.boolean(),
  partitions: z.array(z.object({ partition: z.string(), rows: z.number(), sha256: z.string() })),
});
const manifestIn = (directory: string) =>
  manifestSchema.parse(JSON.parse(readFileSync(join(directory, DATE, 'manifest.json'), 'utf8')));

/** A day with events, for the tests that only read it. */
const source = { storage: { connectionString: '', prefix: '' } };
beforeAll(async () => {
  source.storage = ownStorage();
  await recordDay(source.storage);
});

const recordDay = async (storage: Storage): Promise<CountingProcess> => {
  const counting = new CountingProcess(counterTable(storage), 1);
  for (let from = 0; from < EVENTS; from += 400) {
    await counting.record(Array.from({ length: 400 }, (_, index) => message(from + index)));
  }
  return counting;
};

// Each starts several processes: on a loaded machine that alone takes long.
describe('npm run export and npm run import', { timeout: 120_000 }, () => {
  it('bring a day into an empty table: every answer is the same, and the audit is clean', async () => {
    const directory = ownDirectory();
    const exported = await run('export', source.storage, ['--date', DATE, '--out', directory]);
    expect(exported).toMatchObject({ code: 0 });
    expect(exported.said).toMatch(/^2026-03-14 {2}[\d,]+ rows in 2 partitions\n$/);
    expect(readdirSync(join(directory, DATE)).toSorted()).toEqual([
      `${DATE}.ndjson.gz`,
      `${DATE}_00.ndjson.gz`,
      'manifest.json',
    ]);

    const target = ownStorage();
    const imported = await run('import', target, ['--in', directory]);
    expect(imported).toMatchObject({ code: 0 });
    expect(await answersOf(target)).toEqual(await answersOf(source.storage));
    expect(await differencesIn(target)).toEqual([]);
  });

  it('export a day that is written to between all pages as of one instant', async () => {
    const storage = ownStorage();
    const counting = await recordDay(storage);
    let writes = 0;
    const { storage: busy } = await proxied(storage, async ({ isQuery }) => {
      // New events and changes of old ones, at both ends and in the middle, for the first passes.
      if (isQuery && writes < 20) {
        writes += 1;
        await counting.record([
          message(EVENTS + writes),
          message(10_000 + writes),
          review(writes),
          review(EVENTS - writes),
        ]);
      }
      return NO_FAULT;
    });
    const directory = ownDirectory();
    expect(await run('export', busy, ['--date', DATE, '--out', directory])).toMatchObject({ code: 0 });

    const target = ownStorage();
    expect(await run('import', target, ['--in', directory])).toMatchObject({ code: 0 });
    expect(await differencesIn(target)).toEqual([]);
    expect(await answersOf(target)).toEqual(await answersOf(storage));
    expect(writes).toBe(20);
  });

  it('bring over a day that a producer goes on writing to, though each of them is killed on its way', async () => {
    const storage = ownStorage();
    const counting = await recordDay(storage);
    const load = { isOn: true, batches: 0 };
    const produce = async (): Promise<void> => {
      while (load.isOn) {
        load.batches += 1;
        await counting.record([message(EVENTS + load.batches), review(load.batches), review(EVENTS - load.batches)]);
      }
    };
    const produced = produce();
    onTestFinished(() => void (load.isOn = false));
    const directory = ownDirectory();
    const args = ['--date', DATE, '--out', directory];
    const exportHeld = holdAfter(4, isWholeRowPage);
    const { proxy, storage: busy } = await proxied(storage, exportHeld.rule);
    const killedExport = start('export', busy, args);
    await exportHeld.held;
    killedExport.kill();
    await killedExport.ended;

    let passes = 0;
    proxy.rule = (request) => {
      if (isBeginOfPass(request)) passes += 1;
      // The partition of the day itself, and two passes of the shard, meet the load.
      if (passes > 3) load.isOn = false;
      return NO_FAULT;
    };
    const batchesBefore = load.batches;
    expect(await run('export', busy, args)).toMatchObject({ code: 0 });
    await produced;
    expect(load.batches).toBeGreaterThan(batchesBefore);

    const target = ownStorage();
    const importHeld = holdAfter(9, ({ isTransaction }) => isTransaction);
    const { storage: slow } = await proxied(target, importHeld.rule);
    const killedImport = start('import', slow, ['--in', directory]);
    await importHeld.held;
    killedImport.kill();
    await killedImport.ended;
    expect(await run('import', target, ['--in', directory])).toMatchObject({ code: 0 });
    expect(await differencesIn(target)).toEqual([]);
    expect(await answersOf(target)).toEqual(await answersOf(storage));
  });

  it('say that a day never held still, keep what was read, and go on later', async () => {
    const storage = ownStorage();
    const counting = await recordDay(storage);
    let isBusy = true;
    let writes = 0;
    const { storage: busy } = await proxied(storage, async ({ isQuery }) => {
      if (isQuery && isBusy) await counting.record([review((writes += 1))]);
      return NO_FAULT;
    });
    const directory = ownDirectory();
    const args = ['--date', DATE, '--out', directory, '--patience', '0.02'];
    const unsettled = await run('export', busy, args);
    expect(unsettled.code).toBe(1);
    expect(unsettled.complained).toContain(`${DATE}_00 is still being written to`);
    expect(manifestIn(directory).complete).toBe(false);
    expect(await run('import', ownStorage(), ['--in', directory])).toMatchObject({ code: 2 });

    isBusy = false;
    expect(await run('export', busy, args)).toMatchObject({ code: 0 });
    expect(manifestIn(directory).complete).toBe(true);
  });

  it('go on with an export that was killed, without reading again what was read', async () => {
    const directory = ownDirectory();
    // The day's own partition has one page; of the other one, two pages come.
    const { held, rule } = holdAfter(4, isWholeRowPage);
    const { proxy, storage } = await proxied(source.storage, rule);
    const killed = start('export', storage, ['--date', DATE, '--out', directory]);
    await held;
    killed.kill();
    await killed.ended;
    expect(existsSync(join(directory, DATE, `${DATE}_00.rows.next`))).toBe(true);

    let pages = 0;
    proxy.rule = (request) => {
      if (isWholeRowPage(request)) pages += 1;
      return NO_FAULT;
    };
    expect(await run('export', storage, ['--date', DATE, '--out', directory])).toMatchObject({ code: 0 });
    const rows = manifestIn(directory).partitions.reduce((sum, partition) => sum + partition.rows, 0);
    expect(pages).toBeLessThan(Math.ceil(rows / 1_000));

    const target = ownStorage();
    expect(await run('import', target, ['--in', directory])).toMatchObject({ code: 0 });
    expect(await answersOf(target)).toEqual(await answersOf(source.storage));
  });

  it('go on with an import that was killed; the service sees the day only when it is whole', async () => {
    const directory = ownDirectory();
    await run('export', source.storage, ['--date', DATE, '--out', directory]);
    const target = ownStorage();
    const { held, rule } = holdAfter(9, ({ isTransaction }) => isTransaction);
    const { storage } = await proxied(target, rule);
    const killed = start('import', storage, ['--in', directory]);
    await held;
    killed.kill();
    await killed.ended;
    expect(await answersOf(target)).toEqual(
      questions.map(() => expect.objectContaining({ total_events: 0, active_camera_ids: [] })),
    );

    const goneOn = await run('import', target, ['--in', directory]);
    expect(goneOn.code).toBe(0);
    const there = Number(/ ([\d,]+) were there/.exec(goneOn.said)?.[1]?.replaceAll(',', ''));
    expect(there).toBeGreaterThan(0);
    expect(await differencesIn(target)).toEqual([]);
    expect(await answersOf(target)).toEqual(await answersOf(source.storage));
    expect((await run('import', target, ['--in', directory])).said).toMatch(/ 0 rows written/);
  });

  it('take an answer that was lost for what it is', async () => {
    const directory = ownDirectory();
    await run('export', source.storage, ['--date', DATE, '--out', directory]);
    const target = ownStorage();
    let transactions = 0;
    const { storage } = await proxied(target, ({ isTransaction }) => {
      if (!isTransaction) return NO_FAULT;
      transactions += 1;
      return transactions % 5 === 0 ? { kind: 'answer lost' } : NO_FAULT;
    });
    expect(await run('import', storage, ['--in', directory])).toMatchObject({ code: 0 });
    expect(await differencesIn(target)).toEqual([]);
  });

  it('write nothing where the storage has another row, one more, or another partition of the day', async () => {
    const directory = ownDirectory();
    await run('export', source.storage, ['--date', DATE, '--out', directory]);
    const foreign = [
      { partitionKey: `${DATE}_00`, rowKey: 'total', v: 1 },
      { partitionKey: `${DATE}_00`, rowKey: 'something', v: 1 },
      { partitionKey: `${DATE}_01`, rowKey: 'total', v: 1 },
    ];
    for (const row of foreign) {
      const target = ownStorage();
      const table = counterTable(target);
      await table.createTable();
      await table.createEntity(row);
      const refused = await run('import', target, ['--in', directory]);
      expect(refused.code).toBe(1);
      expect(refused.complained).toContain(row.partitionKey);
      let rows = 0;
      for await (const _ of table.listEntities()) rows += 1;
      expect(rows).toBe(1);
    }
  });

  it('refuse a damaged file before anything is written', async () => {
    const directory = ownDirectory();
    await run('export', source.storage, ['--date', DATE, '--out', directory]);
    const path = join(directory, DATE, `${DATE}_00.ndjson.gz`);
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    const target = ownStorage();
    const refused = await run('import', target, ['--in', directory]);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.complained).toContain('is damaged');
    let rows = 0;
    for await (const _ of counterTable(target).listEntities()) rows += 1;
    expect(rows).toBe(0);
  });

  it('know days without rows, days that were exported before, and the days between two', async () => {
    const directory = ownDirectory();
    const args = ['--date', '2026-03-13', '--to', '2026-03-15', '--out', directory];
    const day = (await run('export', source.storage, args)).said.split('\n').find((line) => line.startsWith(DATE));
    const again = await run('export', source.storage, args);
    expect(again.said).toBe(`2026-03-13  no rows\n${day}, exported before\n2026-03-15  no rows\n`);
    expect(again.code).toBe(0);
  });
});
