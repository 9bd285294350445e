import { gunzipSync } from 'node:zlib';

import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';

import { lazyCredential } from '../../src/azure/credential.ts';
import { closeDays } from '../../src/analytics/retention/close-days.ts';
import { backUpClosing, backUpDays } from '../../src/analytics/retention/back-up-days.ts';
import type { Log } from '../../src/log.ts';
import { azureContainer } from '../../src/storage/azure-container.ts';
import { startApp, testEnvironment } from '../harness/app.ts';
import { type Blobs, startBlobs } from '../harness/blobs.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { until } from '../harness/until.ts';
import { CountingStorage } from '../analytics/azurite.ts';
import { frame } from '../analytics/counting.ts';
import { DAY } from '../analytics/oracle.ts';
import { dayOf } from '../../src/analytics/model/day.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import { StorageTrouble } from '../../src/storage/errors.ts';
import { NO_SETTINGS } from './npm-start.ts';
import { run, start } from './send/running.ts';
import { ScriptedService } from './send/scripted-service.ts';

let blobs: Blobs;
beforeAll(async () => {
  blobs = await startBlobs();
});
afterAll(() => blobs.stop());

const EVENTS = 300;
// Long ago, by whatever clock.
const START = BigInt(Date.parse('2026-03-14')) * 1_000n;
const DATE = dayOf(instantFrom(START));
const WHOLE_DAY = { start: START, end: START + DAY - 1n };
const prefixOf = (storage: CountingStorage): string => storage.client().tableName.replace(/analytics$/, '');

const away = async (): Promise<never> => {
  throw new StorageTrouble(0, { reason: 'away' });
};
const facts = () => ({ state: 's' });
async function* text(value: string) {
  yield Buffer.from(value);
}

/** A day in two shards, and its backup. */
const stage = async (name: string) => {
  const url = await blobs.container(name);
  const storage = new CountingStorage();
  const counting = storage.process(2);
  await counting.record(
    Array.from({ length: EVENTS }, (_, index) =>
      frame(`c-${index % 5}`, `f-${index}`, START + BigInt(index) * 60_000_000n),
    ),
  );
  const lines: (readonly [string, object])[] = [];
  const note = (event: string, fields: object = {}): void => void lines.push([event, fields]);
  const log: Log = { info: note, warn: note, error: note };
  const container = async () => azureContainer(url, 'analytics', lazyCredential());
  const backup = { table: counting.table, days: counting.days, container };
  return {
    url,
    counting,
    backup,
    lines,
    log,
    backUp: async () => {
      lines.length = 0;
      await backUpDays(backup, log);
      return lines.filter(([event]) => event === 'shard backed up').map(([, fields]) => fields);
    },
  };
};

const linesIn = async (container: Awaited<ReturnType<typeof stage>>['backup']['container'], name: string) => {
  const chunks: Buffer[] = [];
  for await (const chunk of await (await container()).read(name)) chunks.push(chunk);
  return gunzipSync(Buffer.concat(chunks)).toString('utf8').trim().split('\n');
};

describe('the backup of days', () => {
  it('writes each shard once, and again only what has changed', async () => {
    const { backUp, counting, backup, lines } = await stage('changes');
    const first = await backUp();
    expect(first).toMatchObject([{ shard: 0 }, { shard: 1 }]);
    expect(lines.at(-1)).toEqual(['backups looked after', { days: 1, days_backed_up: 1, days_failed: 0 }]);
    const [zero, one] = await Promise.all(
      [0, 1].map((shard) => linesIn(backup.container, `${DATE}_0${shard}.ndjson.gz`)),
    );
    expect([...(zero ?? []), ...(one ?? [])]).toHaveLength(EVENTS);
    expect(await backUp()).toEqual([]);
    await counting.record([frame('c-0', 'late', START)]);
    expect(await backUp()).toHaveLength(1);
    expect(await backUp()).toEqual([]);
  });

  it('with fewer events than the one before is kept beside it and told, until the day has all its events again', async () => {
    const { backUp, backup, log, lines } = await stage('fewer');
    await backUp();
    // The table was lost. A part of the day was sent again, into one shard.
    const lost = new CountingStorage().process(1);
    const some = Array.from({ length: EVENTS }, (_, index) =>
      frame(`c-${index % 5}`, `f-${index}`, START + BigInt(index) * 60_000_000n),
    );
    await lost.record(some.slice(0, 10));
    const backUpAgain = async () => backUpDays({ ...backup, table: lost.table, days: lost.days }, log);
    const names = async () => [...(await (await backup.container()).list()).keys()];
    lines.length = 0;
    await backUpAgain();
    expect(lines).toContainEqual(['backup has fewer events', { day: DATE, events: 10, before: EVENTS }]);
    const both = await Promise.all(
      ['00', '01'].map(async (shard) => linesIn(backup.container, `${DATE}_${shard}.ndjson.gz`)),
    );
    expect(both.flat()).toHaveLength(EVENTS);
    expect(await linesIn(backup.container, `${DATE}_00.fewer.ndjson.gz`)).toHaveLength(10);
    await lost.record(some);
    lines.length = 0;
    await backUpAgain();
    expect(lines.map(([event]) => event)).toEqual(['shard backed up', 'backups looked after']);
    expect(await names()).toEqual([`${DATE}_00.ndjson.gz`]);
    expect(await linesIn(backup.container, `${DATE}_00.ndjson.gz`)).toHaveLength(EVENTS);
  });

  it('is whole before the event rows of a day are deleted, and is never made again from what is left of them', async () => {
    const { counting, backup, backUp, lines, log } = await stage('closing');
    const closing = {
      table: counting.table,
      days: counting.days,
      retentionDays: 7,
      backUp: async (day: typeof DATE) => backUpClosing(backup, day, log),
    };
    // The container is away: the day stays as it is.
    const { closes = 0n } = (await counting.days.close(DATE)) ?? {};
    vi.spyOn(Date, 'now').mockReturnValue(Number(closes / 1_000n) + 2 * 3_600_000);
    Object.defineProperty(counting.table, 'now', { value: Date.now });
    const gone = {
      ...closing,
      backUp: async (day: typeof DATE) => backUpClosing({ ...backup, container: away }, day, log),
    };
    await closeDays(gone, log);
    expect(lines.map(([event]) => event)).toEqual(['day not backed up', 'day not closed']);
    lines.length = 0;
    await closeDays(closing, log);
    expect(lines.map(([event]) => event)).toEqual(['shard backed up', 'shard backed up', 'day closed']);
    expect(await backUp()).toEqual([]);
    await backUpClosing(backup, DATE, log);
    expect((await linesIn(backup.container, `${DATE}_00.ndjson.gz`)).length).toBeGreaterThan(100);
  }, 60_000);

  it('of two writers only one replaces what both have read', async () => {
    const { backup } = await stage('writers');
    const container = await backup.container();
    const { signal } = new AbortController();
    const writes = await Promise.allSettled(
      ['one', 'two'].map(async (value) => container.write('both', text(value), facts, undefined, signal)),
    );
    expect(writes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });
});

describe('npm run send -- --backup', () => {
  it('brings every day into an app with another table, also after a kill, and compares the counts', async () => {
    const { url, counting, backUp } = await stage('restored');
    await backUp();
    const target = new CountingStorage();
    const environment = { ...testEnvironment(), TABLES_PREFIX: prefixOf(target) };
    const app = await startApp({ environment, runsSchedules: false });
    onTestFinished(async () => app.stop());
    const options = { cwd: ownDirectory(), environment: { BACKUP_CONTAINER_URL: url } };
    const args = ['--backup', '--settings', NO_SETTINGS, '--from', DATE, '--to', DATE, '--url', app.url];
    const killed = start('send', [...args, '--batch', '5', '--requests', '1'], options);
    await until(async () => (await target.process().answer(WHOLE_DAY)).total_events > 0, 'the first events');
    killed.child.kill('SIGKILL');
    await killed.ended;

    const { code, printed, said } = await run('send', args, options);
    expect([code, said]).toEqual([0, '']);
    expect(printed).toContain(`${DATE}${' '.repeat(11)}300 events  300 counted\n`);
    expect(await target.process().answer(WHOLE_DAY)).toEqual(await counting.answer(WHOLE_DAY));

    // Resumed in its second backup, the count is still compared with all of the day.
    const resumed = args.with(4, `${DATE}_01.ndjson.gz:3`);
    expect((await run('send', resumed, options)).printed).toContain('300 events  300 counted\n');
  }, 60_000);

  it('fails if the service has counted fewer events than the backups hold', async () => {
    const { url, backUp } = await stage('lacking');
    await backUp();
    const service = await ScriptedService.start(({ path }) =>
      path.startsWith('/api/analytics/day') ? { status: 200, body: '{"total_events":299}' } : 'record',
    );
    const { code, printed } = await run('send', ['--backup', '--settings', NO_SETTINGS, '--url', service.url], {
      cwd: ownDirectory(),
      environment: { BACKUP_CONTAINER_URL: url },
    });
    expect([code, printed]).toEqual([1, expect.stringContaining('300 events  299 counted: events are missing\n')]);
  });

  it.each([
    [{}, 'BACKUP_CONTAINER_URL is not set.\n'],
    [{ BACKUP_CONTAINER_URL: 'https://a.invalid' }, 'BACKUP_CONTAINER_URL is not the URL of a container.\n'],
  ])('says what is missing: %o', async (environment, complaint) => {
    const args = ['--backup', '--settings', NO_SETTINGS];
    const { code, said } = await run('send', args, { cwd: ownDirectory(), environment });
    expect([code, said]).toEqual([2, complaint]);
  });
});
