import { readdir } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';

import { ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { dayOf } from '../../src/analytics/model/day.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import { backUpDays } from '../../src/analytics/retention/back-up-days.ts';
import { shardPartition } from '../../src/analytics/rows/keys.ts';
import { lazyCredential } from '../../src/azure/credential.ts';
import { azureContainer } from '../../src/storage/azure-container.ts';
import { all, frame, MemoryStorage, SILENT } from '../analytics/counting.ts';
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
const ALL = [...FRAMES, frame('c-0', 'removed', START, { removed: true })];
const HOURS = [0, 1].flatMap((shard) => all(5).map((hour) => `${shardPartition(DATE, shard)}/0${hour}.ndjson.gz`));

/** A container for the backups of a table. */
const containerOf = async (name: string, folder = 'analytics2') => {
  const url = await blobs.container(name);
  return { url, container: azureContainer(url, folder, lazyCredential()) };
};

/** A day in two shards that is backed up in its own container. */
const backedUp = async (name: string) => {
  const { url, container } = await containerOf(name);
  const counting = new MemoryStorage().process(2);
  await counting.record(ALL);
  await backUpDays({ table: counting.table, shards: 2, container: async () => container }, SILENT);
  return { url, container };
};

describe('a container of backups', () => {
  it('has a file for each hour of each shard, in the folder of the table', async () => {
    const { url, container } = await backedUp('files');
    const written = await Array.fromAsync(new ContainerClient(url).listBlobsFlat(), ({ name }) => name);
    expect(written).toEqual(HOURS.map((name) => `analytics2/${name}`));
    const listed = await container.list(`${shardPartition(DATE, 1)}/`);
    expect([...listed.keys()]).toEqual(HOURS.slice(5));
    const texts = await Promise.all(HOURS.map(async (name) => gunzipSync(await container.read(name)).toString()));
    expect(texts.join('').trim().split('\n')).toHaveLength(ALL.length);
    const counted = [...(await container.list()).values()].map(({ facts }) => Number(facts['events']));
    expect(counted.reduce((sum, events) => sum + events, 0)).toBe(ALL.length);
  });

  it('lets only one of two writers replace the version that both have read', async () => {
    const { container } = await containerOf('writers');
    for (const round of ['new', 'replaced']) {
      const etag = (await container.list()).get('both')?.etag;
      const write = async (value: string) => container.write('both', Buffer.from(value), { round }, etag);
      const writes = await Promise.allSettled([write('one'), write('two')]);
      expect(writes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      expect((await container.list()).get('both')?.facts).toEqual({ round });
    }
  });
});

/** Runs `npm run send -- --backup` for the days from the first to the last. */
const send = async (from: string, to: string, url: string, environment: NodeJS.ProcessEnv, cwd = ownDirectory()) => {
  const args = ['--backup', '--settings', NO_SETTINGS, '--from', from, '--to', to, '--url', url];
  return run('infra/cli/send.ts', args, { cwd, environment });
};

describe('npm run send -- --backup', () => {
  it('sends every hour of every shard of the chosen days, compares the count of each day, and resumes at an hour', async () => {
    const { url } = await backedUp('restored');
    let lost = 0;
    const service = await ScriptedService.start(({ path }) =>
      path === `/api/analytics/day?date=${DATE}`
        ? { status: 200, body: JSON.stringify({ total_events: service.times.size - 1 - lost }) }
        : 'record',
    );
    const environment = { BACKUP_CONTAINER_URL: url, COUNTER_SHARDS: '2' };
    const sent = async (from: string, to: string) => send(from, to, service.url, environment);
    const compared = expect.stringContaining(`${DATE}${' '.repeat(11)}300 events  300 counted\n`);
    expect(await sent(DATE, DATE)).toEqual({ code: 0, printed: compared, said: '' });
    expect(service.times).toEqual(new Map(ALL.map(({ eventId }) => [eventId, 1])));
    expect(await sent(`${HOURS[9]}:3`, DATE)).toEqual({ code: 0, printed: compared, said: '' });
    expect([...service.times.values()].filter((times) => times === 2).length).toBeLessThan(40);
    lost = 1;
    const lacking = expect.stringContaining('300 events  299 counted: events are missing\n');
    expect(await sent(DATE, DATE)).toMatchObject({ code: 1, printed: lacking });
    const none = { code: 2, said: 'There is no backup of analytics2 for these days.\n' };
    expect(await sent('2020-03-01', '2020-03-13')).toMatchObject(none);
    expect(await sent('2020-03-15', '2020-03-31')).toMatchObject(none);
  });

  it('puts the events that the service refuses into the working directory', async () => {
    const { url } = await backedUp('refused');
    const errors = [{ index: 0, code: 'too_many', detail: 'too many cameras' }];
    const service = await ScriptedService.start(({ path, body }) =>
      path.startsWith('/api/analytics/day')
        ? { status: 200, body: JSON.stringify({ total_events: 300 }) }
        : { status: 400, body: JSON.stringify({ errors, recorded: JSON.parse(body).length - 1, unchanged: 0 }) },
    );
    const cwd = ownDirectory();
    const environment = { BACKUP_CONTAINER_URL: url, COUNTER_SHARDS: '2' };
    await send(`${HOURS[9]}:1`, DATE, service.url, environment, cwd);
    expect(await readdir(cwd)).toEqual([`${HOURS[9]?.replace('/', '-')}.rejected.ndjson`]);
  });

  it.each([
    [300, 0],
    [299, 1],
  ])(
    'says once that a day is closed, leaves out its backups, and compares its count: %i, exit code %i',
    async (total_events, code) => {
      const { url } = await backedUp(`closed-${code}`);
      const service = await ScriptedService.start(({ path, body }) => {
        if (path.startsWith('/api/analytics/day')) return { status: 200, body: JSON.stringify({ total_events }) };
        const errors = all(JSON.parse(body).length).map((index) => ({
          index,
          code: 'day_closed',
          detail: 'is closed',
        }));
        return { status: 400, body: JSON.stringify({ errors, recorded: 0, unchanged: 0 }) };
      });
      const cwd = ownDirectory();
      const sent = await send(DATE, DATE, service.url, { BACKUP_CONTAINER_URL: url, COUNTER_SHARDS: '2' }, cwd);
      const said = `${DATE} is closed: the service takes no events of it. Its backups are left out.\n`;
      expect(sent).toEqual({ code, said, printed: expect.stringContaining(`300 events  ${total_events} counted`) });
      // One with events, and one about the count.
      expect([service.requests, await readdir(cwd)]).toEqual([2, []]);
    },
  );

  it.each([
    [{}, 'BACKUP_CONTAINER_URL is not set.\n'],
    [{ BACKUP_CONTAINER_URL: 'https://a.invalid' }, 'BACKUP_CONTAINER_URL is not the URL of a container.\n'],
    [{ COUNTER_SHARDS: '65' }, 'COUNTER_SHARDS must be an integer from 1 to 64.\n'],
  ])('says what is missing: %o', async (environment, said) => {
    expect(await send(DATE, DATE, 'http://localhost', environment)).toMatchObject({ code: 2, said });
  });

  it('reads the folder of the table that the settings name', async () => {
    const { url } = await containerOf('folders');
    for (const [environment, folder] of [
      [{ TABLES_PREFIX: 'Other' }, 'Otheranalytics'],
      [{ COUNTER_SHARDS: '8' }, 'analytics8'],
    ] as const) {
      const sent = await send(DATE, DATE, 'http://localhost', { BACKUP_CONTAINER_URL: url, ...environment });
      expect(sent).toMatchObject({ code: 2, said: `There is no backup of ${folder} for these days.\n` });
    }
  });
});
