import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';

import { ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { lazyCredential } from '../../src/azure/credential.ts';
import { dayOf } from '../../src/analytics/model/day.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import { closeDays } from '../../src/analytics/retention/close-days.ts';
import { type BackupDependencies, backUpClosing, backUpDays } from '../../src/analytics/retention/back-up-days.ts';
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
const FRAMES = all(300).map((at) => frame(`c-${at % 5}`, `f-${at}`, START + BigInt(at) * 60_000_000n));
const NAMES = [`${DATE}_00.ndjson.gz`, `${DATE}_01.ndjson.gz`] as const;

const away = async () => Promise.reject(new StorageTrouble(0, { reason: 'away' }));

/** A day in two shards, and a container for its backups. */
const stage = async (name: string) => {
  const url = await blobs.container(name);
  const container = azureContainer(url, 'analytics', lazyCredential());
  const counting = new MemoryStorage().process(2);
  await counting.record(FRAMES);
  const { table, days } = counting;
  const backup: BackupDependencies = { table, days, container: async () => container };
  const lines: (readonly [string, object])[] = [];
  const note = (event: string, fields: object = {}): void => void lines.push([event, fields]);
  const log = { info: note, warn: note, error: note };
  return {
    url,
    container,
    counting,
    /** Backs up what has changed, with some parts replaced. @returns what it logs */
    backUp: async (parts: Partial<BackupDependencies> = {}) => {
      await backUpDays({ ...backup, ...parts }, log);
      return lines.splice(0);
    },
    /** Closes the days that are due, with some parts of the backup replaced. @returns what it logs */
    close: async (parts: Partial<BackupDependencies> = {}) => {
      const backUp = async (day: typeof DATE) => backUpClosing({ ...backup, ...parts }, day, log);
      await closeDays({ table, days, retentionDays: 7, backUp }, log);
      return lines.splice(0);
    },
    /** Backs up a day that is closed. @returns what it logs */
    backUpClosed: async () => {
      await backUpClosing(backup, DATE, log);
      return lines.splice(0);
    },
    /** How many events a backup holds. */
    eventsIn: async (blob: string) => {
      const bytes = Buffer.concat(await Array.fromAsync(await container.read(blob)));
      return gunzipSync(bytes).toString('utf8').trim().split('\n').length;
    },
  };
};

const eventsOf = (logged: readonly (readonly [string, object])[]): readonly string[] => logged.map(([event]) => event);

describe('the backup of days', () => {
  it('begins when a day ended two days ago, writes each shard once, and again only a shard that has changed', async () => {
    const { url, backUp, counting, eventsIn } = await stage('changes');
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.parse('2020-03-17') - 1);
    const none = { days_backed_up: 0, days_failed: 0 };
    expect(await backUp()).toEqual([['backups looked after', { days: 0, ...none }]]);
    clock.mockReturnValue(Date.parse('2020-03-17'));
    expect(await backUp()).toMatchObject([
      ['shard backed up', { shard: 0 }],
      ['shard backed up', { shard: 1 }],
      ['backups looked after', { days: 1, days_backed_up: 1, days_failed: 0 }],
    ]);
    const written = await Array.fromAsync(new ContainerClient(url).listBlobsFlat(), ({ name }) => name);
    expect(written).toEqual(NAMES.map((name) => `analytics/${name}`));
    expect((await eventsIn(NAMES[0])) + (await eventsIn(NAMES[1]))).toBe(FRAMES.length);
    expect(await backUp()).toEqual([['backups looked after', { days: 1, ...none }]]);
    await counting.record([frame('c-0', 'late', START)]);
    expect(eventsOf(await backUp())).toEqual(['shard backed up', 'backups looked after']);
  });

  it('with fewer events than the backup before is kept beside it and logged, until the day has all its events again', async () => {
    const { backUp, eventsIn, container } = await stage('fewer');
    await backUp();
    // The table was lost. A part of the day was sent again, into one shard.
    const lost = new MemoryStorage().process(1);
    await lost.record(FRAMES.slice(0, 10));
    expect(await backUp(lost)).toContainEqual(['backup has fewer events', { day: DATE, events: 10, before: 300 }]);
    expect((await eventsIn(NAMES[0])) + (await eventsIn(NAMES[1]))).toBe(300);
    expect(await eventsIn(`${DATE}_00.fewer.ndjson.gz`)).toBe(10);
    await lost.record(FRAMES);
    expect(eventsOf(await backUp(lost))).toEqual(['shard backed up', 'backups looked after']);
    expect([...(await container.list()).keys()]).toEqual([NAMES[0]]);
    expect(await eventsIn(NAMES[0])).toBe(300);
  });

  it('is whole before the event rows of a day are deleted, and is never made again from the rows that are left', async () => {
    const { counting, backUp, backUpClosed, close, eventsIn } = await stage('closing');
    const { closes = 0n } = (await counting.days.close(DATE)) ?? {};
    vi.spyOn(Date, 'now').mockReturnValue(Number(closes / 1_000n) + 2 * 3_600_000);
    Object.defineProperty(counting.table, 'now', { value: Date.now });
    expect(eventsOf(await close({ container: away }))).toEqual(['day not backed up', 'day not closed']);
    expect(eventsOf(await close())).toEqual(['shard backed up', 'shard backed up', 'day closed']);
    expect(eventsOf(await backUp())).toEqual(['backups looked after']);
    expect(await backUpClosed()).toEqual([]);
    expect(await eventsIn(NAMES[0])).toBeGreaterThan(100);
  });

  it('of two writers only one replaces the version that both have read', async () => {
    const { container } = await stage('writers');
    const writing = ['one', 'two'].map(async (value) => {
      const bytes = Readable.from([Buffer.from(value)]);
      return container.write('both', bytes, () => ({ state: 's' }), undefined, new AbortController().signal);
    });
    const writes = await Promise.allSettled(writing);
    expect(writes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });
});

/** Runs `npm run send -- --backup` for the days from the first to the last. */
const send = async (from: string, to: string, url: string, environment: NodeJS.ProcessEnv) => {
  const args = ['--backup', '--settings', NO_SETTINGS, '--from', from, '--to', to, '--url', url];
  return run('infra/cli/send.ts', args, { cwd: ownDirectory(), environment });
};

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
    const sent = async (from: string, to: string) => send(from, to, service.url, { BACKUP_CONTAINER_URL: url });
    const compared = expect.stringContaining(`${DATE}${' '.repeat(11)}300 events  300 counted\n`);
    expect(await sent(DATE, DATE)).toEqual({ code: 0, printed: compared, said: '' });
    expect(service.times).toEqual(new Map(FRAMES.map(({ eventId }) => [eventId, 1])));
    expect(await sent(`${NAMES[1]}:3`, DATE)).toEqual({ code: 0, printed: compared, said: '' });
    lost = 1;
    const lacking = expect.stringContaining('300 events  299 counted: events are missing\n');
    expect(await sent(DATE, DATE)).toMatchObject({ code: 1, printed: lacking });
    const none = { code: 2, said: 'There is no backup of analytics for these days.\n' };
    expect(await sent('2020-03-01', '2020-03-13')).toMatchObject(none);
    expect(await sent('2020-03-15', '2020-03-31')).toMatchObject(none);
    const other = await send(DATE, DATE, service.url, { BACKUP_CONTAINER_URL: url, TABLES_PREFIX: 'Other' });
    expect(other).toMatchObject({ code: 2, said: 'There is no backup of Otheranalytics for these days.\n' });
  });

  it.each([
    [{}, 'BACKUP_CONTAINER_URL is not set.\n'],
    [{ BACKUP_CONTAINER_URL: 'https://a.invalid' }, 'BACKUP_CONTAINER_URL is not the URL of a container.\n'],
  ])('says what is missing: %o', async (environment, said) => {
    expect(await send(DATE, DATE, 'http://localhost', environment)).toMatchObject({ code: 2, said });
  });
});
