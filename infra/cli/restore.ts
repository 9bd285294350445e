/**
 * `npm run restore`: brings backed-up days into a table or into a running app, and audits them. infra/cli/send/README.md tells how to use it.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';

import { z } from 'zod';

import { RecorderUnavailable } from '../../src/analytics/errors.ts';
import { lazyCredential } from '../../src/azure/credential.ts';
import { containerUrl } from '../../src/settings/rules.ts';
import { azureContainer } from '../../src/storage/azure-container.ts';
import type { Backup, BackupContainer } from '../../src/storage/backup-container.ts';
import { StorageTrouble } from '../../src/storage/errors.ts';
import { chosenStorage } from './chosen-storage.ts';
import { CommandError, dayOption, numberOption, portOption, runCommand, textOption } from './command-line.ts';
import { grouped } from './grouped.ts';
import { Progress } from './progress.ts';
import { isMissing, replaceFile } from './replace-file.ts';
import { intoApp } from './restore/into-app.ts';
import { intoTable } from './restore/into-table.ts';
import type { Destination } from './restore/destination.ts';
import { storageFailure } from './chosen-storage.ts';
import { readTarget } from './send/options.ts';
import { mergeSettings, readSettingsFile } from './start/local-settings.ts';

const values = z
  .object({
    from: dayOption.optional(),
    to: dayOption.optional(),
    backup: z.string().min(1, '--backup needs a name.'),
    url: textOption('--url needs a URL.'),
    'key-file': textOption('--key-file needs a file.'),
    port: portOption,
    settings: textOption('--settings needs a file.'),
    batch: numberOption('batch', 1, 5_000),
  })
  .refine(({ from = '', to = '9999' }) => from <= to, '--to is before --from.');

type RestoreOptions = z.infer<typeof values>;

const RESTORE = {
  help: `npm run restore -- [--from YYYY-MM-DD] [--to YYYY-MM-DD] [--backup TABLE] [--url URL] [--key-file FILE] [--settings FILE]
  Brings the backups of days into the table that the settings name, which is created if it is missing, and audits each of them.
  BACKUP_CONTAINER_URL, in the environment or in the settings file, names the container.
  --from, --to       the first and the last day; all by default
  --backup TABLE     of which table the backups are; analytics by default
  --url URL          a running app, in place of a table: the days are sent to it
  --key-file FILE    holds its function key; FUNCTION_KEY by default
  --port N           the local run whose storage is meant if no settings name a storage; 7071 by default
  --settings FILE    a settings file; local.settings.json by default, if it exists
  --batch N          events in a request or transaction, 1 to 5000; 1000 by default

Stopped in any way, the same command goes on with the shard that was under way: restore.done.json, in this directory, says which are done.
Exit code 0: every day is there and its counters are right. 1: something is missing or differs. 2: it could not be carried out.`,
  options: {
    from: { type: 'string' },
    to: { type: 'string' },
    backup: { type: 'string', default: 'analytics' },
    url: { type: 'string' },
    'key-file': { type: 'string' },
    port: { type: 'string', default: '7071' },
    settings: { type: 'string' },
    batch: { type: 'string', default: '1000' },
  },
  values,
} as const;

const DONE_FILE = 'restore.done.json';
const TRIES = 8;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

let tableName = 'analytics';

const containerOf = async ({ settings, backup }: RestoreOptions): Promise<readonly [BackupContainer, string]> => {
  const { BACKUP_CONTAINER_URL: url } = mergeSettings(process.env, await readSettingsFile(settings));
  const parsed = containerUrl.safeParse(url);
  if (url === undefined || !parsed.success) {
    throw new CommandError(
      `BACKUP_CONTAINER_URL ${url === undefined ? 'is not set' : 'is not the URL of a container'}.`,
    );
  }
  const { origin, pathname } = new URL(parsed.data);
  return [azureContainer(parsed.data, backup, lazyCredential()), `${origin}${pathname}/${backup}`];
};

const destinationOf = async (options: RestoreOptions): Promise<Destination> => {
  const { url, port, settings } = options;
  if (url !== undefined) {
    return intoApp(await readTarget(url, options['key-file'], process.env), (text) => console.error(text));
  }
  const storage = await chosenStorage(port, settings);
  tableName = `${storage.prefix}analytics`;
  return intoTable(storage);
};

/** A backup, the day that it is of, and how many events it has. */
interface Shard extends Backup {
  readonly name: string;
  readonly day: string;
  readonly events: number;
}

const shardsIn = async (container: BackupContainer, { from, to }: RestoreOptions) => {
  const all = [...(await container.list())].map(([name, { etag, facts }]): Shard => {
    return { name, etag, facts, day: name.slice(0, 10), events: Number(facts['events'] ?? 0) };
  });
  return all
    .filter(({ day }) => (from ?? '') <= day && day <= (to ?? '9999'))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
};

/** The texts of the events of a backup, so many at a time. */
async function* batchesIn(container: BackupContainer, name: string, most: number): AsyncGenerator<readonly string[]> {
  const bytes = Readable.from(await container.read(name));
  const text = bytes.pipe(createGunzip());
  bytes.on('error', (error) => text.destroy(error));
  let batch: string[] = [];
  for await (const line of createInterface({ input: text, crlfDelay: Infinity })) {
    if (line === '') continue;
    batch.push(line);
    if (batch.length < most) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Which backups an earlier run has brought to the same destination. */
class DoneShards {
  readonly #key: string;
  readonly #all: Record<string, readonly string[]>;

  constructor(key: string, all: Record<string, readonly string[]>) {
    this.#key = key;
    this.#all = all;
  }

  static async read(source: string, destination: string): Promise<DoneShards> {
    const key = createHash('sha256').update(`${source} ${destination}`).digest('hex').slice(0, 16);
    try {
      const text = await readFile(DONE_FILE, 'utf8');
      return new DoneShards(key, z.record(z.string(), z.array(z.string())).parse(JSON.parse(text)));
    } catch (error) {
      if (isMissing(error)) return new DoneShards(key, {});
      throw new CommandError(`${DONE_FILE} is damaged: delete it, and everything is brought again, which is safe.`);
    }
  }

  has({ name, etag }: Shard): boolean {
    return this.#all[this.#key]?.includes(`${name} ${etag}`) ?? false;
  }

  async add({ name, etag }: Shard): Promise<void> {
    this.#all[this.#key] = [...(this.#all[this.#key] ?? []), `${name} ${etag}`];
    await replaceFile(DONE_FILE, JSON.stringify(this.#all, null, 2));
  }
}

/** Storage and apps have bad moments; what was taken already is taken as unchanged. */
const patiently = async <Value>(work: () => Promise<Value>, note: (text: string) => void): Promise<Value> => {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof CommandError || tried === TRIES) throw error;
      if (!(error instanceof StorageTrouble) && !(error instanceof RecorderUnavailable)) throw error;
      const ms = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** tried);
      note(`The storage does not take it now: again in ${Math.round(ms / 1_000)} s.`);
      await delay(ms);
    }
  }
};

const restore = async (options: RestoreOptions): Promise<number> => {
  const [container, source] = await containerOf(options);
  const shards = await shardsIn(container, options);
  if (shards.length === 0) throw new CommandError(`There is no backup of ${options.backup} for these days.`);
  const destination = await destinationOf(options);
  const done = await DoneShards.read(source, destination.name);
  const total = Math.max(
    1,
    shards.reduce((sum, { events }) => sum + events, 0),
  );
  const days = Map.groupBy(shards, ({ day }) => day);
  const progress = new Progress('restore', 'events');
  let [before, count] = [0, 0];
  const refused: string[] = [];
  try {
    for (const shard of shards) {
      const shardCount = days.get(shard.day)?.length ?? 1;
      if (done.has(shard)) progress.note(`${shard.name} was brought by an earlier run.`);
      else {
        let own = 0;
        for await (const batch of batchesIn(container, shard.name, options.batch)) {
          const wrong = await patiently(
            async () => destination.take(batch, shardCount),
            (text) => progress.note(text),
          );
          refused.push(...wrong.map((text) => `${shard.name}: ${text}`));
          own += batch.length;
          count += batch.length;
          progress.update({ part: Math.min(1, (before + Math.min(own, shard.events)) / total), count });
        }
        if (refused.length === 0) await done.add(shard);
      }
      before += shard.events;
    }
  } finally {
    progress.end();
  }
  for (const text of refused.slice(0, 20)) console.error(text);
  let isRight = refused.length === 0;
  for (const [day, own] of days) {
    const events = own.reduce((sum, one) => sum + one.events, 0);
    const missing = own.reduce((sum, { facts }) => sum + Number(facts['unreadable'] ?? 0), 0);
    const { isRight: isDayRight, text } = await destination.audit(day, events);
    isRight &&= isDayRight;
    console.log(`${day}  ${grouped(events).padStart(12)} events  ${text}`);
    if (missing > 0) console.log(`${day}  ${grouped(missing)} rows could not be read when it was backed up`);
  }
  console.log(isRight ? 'Every day is there.' : 'Not everything is there.');
  return isRight ? 0 : 1;
};

await runCommand(RESTORE, restore, {
  exitCode: 2,
  describe: (error) => storageFailure(error, tableName),
});
