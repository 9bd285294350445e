import { gunzipSync } from 'node:zlib';

import { ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { lazyCredential } from '../../src/azure/credential.ts';
import { dayOf } from '../../src/analytics/model/day.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import { closeDays } from '../../src/analytics/retention/close-days.ts';
import { type BackupDependencies, backUpClosing, backUpDays } from '../../src/analytics/retention/back-up-days.ts';
import type { Log } from '../../src/log.ts';
import { azureContainer } from '../../src/storage/azure-container.ts';
import { StorageTrouble } from '../../src/storage/errors.ts';
import { all, frame, MemoryStorage } from '../analytics/counting.ts';
import { type Blobs, startBlobs } from '../harness/blobs.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { NO_SETTINGS, run } from './running.ts';
import { ScriptedService } from './scripted-service.ts';

let blobs: Blobs;
beforeAll(async () => {
  blobs = await startBlobs();
});
afterAll(() => blobs.stop());

// Long ago, by the clock of every machine.
const START = BigInt(Date.parse('2020-03-14')) * 1_000n;
const DATE = dayOf(instantFrom(START));
const EVENTS = 300;
const FRAMES = all(EVENTS).map((at) => frame(`c-${at % 5}`, `f-${at}`, START + BigInt(at) * 60_000_000n));
const NAMES = [`${DATE}_00.ndjson.gz`, `${DATE}_01.ndjson.gz`] as const;

const away = async (): Promise<never> => {
  throw new StorageTrouble(0, { reason: 'away' });
};

/** A day in two shards, and a container for its backups. */
const stage = async (name: string) => {
  const url = await blobs.container(name);
  const counting = new MemoryStorage().process(2);
  await counting.record(FRAMES);
  const lines: (readonly [string, object])[] = [];
  const note = (event: string, fields: object = {}): void => void lines.push([event, fields]);
  const log: Log = { info: note, warn: note, error: note };
  const container = async () => azureContainer(url, 'analytics', lazyCredential());
  const backup: BackupDependencies = { table: counting.table, days: counting.days, container };
  return {
    url,
    counting,
    backup,
    log,
    container,
    /** The lines that were logged since the last call. */
    logged: () => lines.splice(0),
    /** Backs up, with some parts replaced. @returns how many shards were backed up */
    backUp: async (parts: Partial<BackupDependencies> = {}) => {
      await backUpDays({ ...backup, ...parts }, log);
      return lines.filter(([event]) => event === 'shard backed up').length;
    },
    linesIn: async (blob: string) => {
      const bytes = Buffer.concat(await Array.fromAsync(await (await container()).read(blob)));
      return gunzipSync(bytes).toString('utf8').trim().split('\n');
    },
  };
};

describe('the backup of days', () => {
  it('writes each shard once, and again only a shard that has changed', async () => {
    const { url, backUp, counting, linesIn, logged } = await stage('changes');
    expect(await backUp()).toBe(2);
    const written = await Array.fromAsync(new ContainerClient(url).listBlobsFlat(), ({ name }) => name);
    expect(written).toEqual(NAMES.map((name) => `analytics/${name}`));
    expect(logged().at(-1)).toEqual(['backups looked after', { days: 1, days_backed_up: 1, days_failed: 0 }]);
    const backedUp = (await Promise.all(NAMES.map(linesIn))).flat();
    expect(backedUp).toHaveLength(EVENTS);
    expect(await backUp()).toBe(0);
    await counting.record([frame('c-0', 'late', START)]);
    expect(await backUp()).toBe(1);
  });

  it('begins when the day ended two days ago', async () => {
    const { backUp } = await stage('young');
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.parse('2020-03-17') - 1);
    expect(await backUp()).toBe(0);
    clock.mockReturnValue(Date.parse('2020-03-17'));
    expect(await backUp()).toBe(2);
  });

  it('with fewer events than the backup before is kept beside it and logged, until the day has all its events again', async () => {
    const { backUp, linesIn, logged, container } = await stage('fewer');
    await backUp();
    // The table was lost. A part of the day was sent again, into one shard.
    const lost = new MemoryStorage().process(1);
    await lost.record(FRAMES.slice(0, 10));
    logged();
    await backUp(lost);
    expect(logged()).toContainEqual(['backup has fewer events', { day: DATE, events: 10, before: EVENTS }]);
    expect((await Promise.all(NAMES.map(linesIn))).flat()).toHaveLength(EVENTS);
    expect(await linesIn(`${DATE}_00.fewer.ndjson.gz`)).toHaveLength(10);
    await lost.record(FRAMES);
    await backUp(lost);
    expect(logged().map(([event]) => event)).toEqual(['shard backed up', 'backups looked after']);
    expect([...(await (await container()).list()).keys()]).toEqual([NAMES[0]]);
    expect(await linesIn(NAMES[0])).toHaveLength(EVENTS);
  });

  it('is whole before the event rows of a day are deleted, and is never made again from the rows that are left', async () => {
    const { counting, backup, backUp, log, logged, linesIn } = await stage('closing');
    const close = async (parts: Partial<BackupDependencies> = {}) => {
      const saved = async (day: typeof DATE) => backUpClosing({ ...backup, ...parts }, day, log);
      await closeDays({ table: counting.table, days: counting.days, retentionDays: 7, backUp: saved }, log);
      return logged().map(([event]) => event);
    };
    const { closes = 0n } = (await counting.days.close(DATE)) ?? {};
    vi.spyOn(Date, 'now').mockReturnValue(Number(closes / 1_000n) + 2 * 3_600_000);
    Object.defineProperty(counting.table, 'now', { value: Date.now });
    expect(await close({ container: away })).toEqual(['day not backed up', 'day not closed']);
    expect(await close()).toEqual(['shard backed up', 'shard backed up', 'day closed']);
    expect(await backUp()).toBe(0);
    await backUpClosing(backup, DATE, log);
    expect((await linesIn(NAMES[0])).length).toBeGreaterThan(100);
  });

  it('of two writers only one replaces the version that both have read', async () => {
    const container = await (await stage('writers')).container();
    const writes = await Promise.allSettled(
      ['one', 'two'].map(async (value) => {
        const bytes = (async function* () {
          yield Buffer.from(value);
        })();
        return container.write('both', bytes, () => ({ state: 's' }), undefined, new AbortController().signal);
      }),
    );
    expect(writes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });
});

const send = async (args: readonly string[], environment: NodeJS.ProcessEnv) =>
  run('infra/cli/send.ts', ['--backup', '--settings', NO_SETTINGS, ...args], { cwd: ownDirectory(), environment });

describe('npm run send -- --backup', () => {
  it('sends the events of every shard of the chosen days, and compares the count of each day, even if it is resumed', async () => {
    const { url, backUp } = await stage('restored');
    await backUp();
    let lost = 0;
    const service = await ScriptedService.start(({ path }) =>
      path === `/api/analytics/day?date=${DATE}`
        ? { status: 200, body: JSON.stringify({ total_events: service.times.size - lost }) }
        : 'record',
    );
    const environment = { BACKUP_CONTAINER_URL: url };
    const args = ['--from', DATE, '--to', DATE, '--url', service.url];
    const compared = `${DATE}${' '.repeat(11)}300 events  300 counted`;
    const { code, printed, said } = await send(args, environment);
    expect([code, said]).toEqual([0, '']);
    expect(printed).toContain(`${compared}\n`);
    expect(service.times).toEqual(new Map(FRAMES.map(({ eventId }) => [eventId, 1])));

    const resumed = await send(args.with(1, `${NAMES[1]}:3`), environment);
    expect([resumed.code, resumed.printed]).toEqual([0, expect.stringContaining(`${compared}\n`)]);
    lost = 1;
    const lacking = await send(args, environment);
    expect(lacking.printed).toContain('300 events  299 counted: events are missing\n');
    expect(lacking.code).toBe(1);
    const none = await send(args.with(1, '2020-01-01').with(3, '2020-01-31'), environment);
    expect([none.code, none.said]).toEqual([2, 'There is no backup of analytics for these days.\n']);
  });

  it.each([
    [{}, 'BACKUP_CONTAINER_URL is not set.\n'],
    [{ BACKUP_CONTAINER_URL: 'https://a.invalid' }, 'BACKUP_CONTAINER_URL is not the URL of a container.\n'],
  ])('says what is missing: %o', async (environment, complaint) => {
    const { code, said } = await send([], environment);
    expect([code, said]).toEqual([2, complaint]);
  });
});
