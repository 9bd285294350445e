import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';

import { tableOfShards } from '../../../src/analytics/rows/keys.ts';
import { lazyCredential } from '../../../src/azure/credential.ts';
import { settingSchemas } from '../../../src/settings.ts';
import { containerUrl } from '../../../src/settings/rules.ts';
import { azureContainer } from '../../../src/storage/azure-container.ts';
import { CommandError } from '../command-line.ts';
import { mergeSettings, readSettingsFile } from '../start/local-settings.ts';
import { STDIN } from './options.ts';

/** A source of events: a file, standard input, or the backup of an hour of a shard of a day. */
export interface Source {
  /** The path of a file, `-` for standard input, or the name of a backup. */
  readonly name: string;
  /** Its share of the work: bytes of a file, events of a backup. Undefined for standard input and a pipe. */
  readonly size: number | undefined;
  /** Opens it for reading once. */
  open(): Promise<Readable>;
  readonly backup?: BackupFacts;
}

export interface BackupFacts {
  /** The UTC day, `YYYY-MM-DD`. */
  readonly day: string;
  /** The events that it holds and that count. Removed events do not count, and a backup next to a larger backup of the same hour has 0 here. */
  readonly events: number;
  /** The rows that could not be read when it was written. */
  readonly unreadable: number;
}

/** @throws {CommandError} if a file cannot be read */
export const fileSource = async (name: string): Promise<Source> => {
  if (name === STDIN) return { name, size: undefined, open: async () => process.stdin };
  const found = await access(name, constants.R_OK).then(
    async () => stat(name),
    (error: unknown) => {
      throw new CommandError(`${name} cannot be read.`, { cause: error });
    },
  );
  return { name, size: found.isFile() ? found.size : undefined, open: async () => createReadStream(name) };
};

/** The name of the backup of an hour: `2026-11-20.00/08.ndjson.gz`. A backup that was kept next to a larger backup has a longer name. */
const BACKUP_NAME = /^\d{4}-\d\d-\d\d\.\d\d\/\d\d\.ndjson\.gz$/;

/**
 * The backups of some days, in the order of their names: day by day, shard by shard, hour by hour.
 *
 * @param settingsFile may name the container, and the prefix and the shards of the table, as the environment may
 * @throws {CommandError} if the container is not named, or has no backup of these days
 * @throws {StorageTrouble}
 */
export const backupSources = async (
  firstDay: string | undefined,
  lastDay: string | undefined,
  settingsFile: string | undefined,
): Promise<readonly Source[]> => {
  const settings = mergeSettings(process.env, await readSettingsFile(settingsFile));
  const { BACKUP_CONTAINER_URL: url, TABLES_PREFIX: prefix = '' } = settings;
  const shards = settingSchemas.COUNTER_SHARDS.safeParse(settings['COUNTER_SHARDS']);
  if (!shards.success) throw new CommandError(`COUNTER_SHARDS ${shards.error.issues[0]?.message}.`);
  const folder = `${prefix}${tableOfShards(shards.data)}`;
  const { data } = containerUrl.safeParse(url);
  if (data === undefined) {
    const fault = url === undefined ? 'is not set' : 'is not the URL of a container';
    throw new CommandError(`BACKUP_CONTAINER_URL ${fault}.`);
  }
  const container = azureContainer(data, folder, lazyCredential());
  const sources = [...(await container.list())].map(([name, { facts }]): Source => {
    const size = Number(facts['events'] ?? 0);
    const events = BACKUP_NAME.test(name) ? size - Number(facts['removed'] ?? 0) : 0;
    const backup = { day: name.slice(0, 10), events, unreadable: Number(facts['unreadable'] ?? 0) };
    return { name, size, open: async () => Readable.from([await container.read(name)]), backup };
  });
  const chosen = sources.filter(
    ({ backup: { day = '' } = {} }) => (firstDay ?? '') <= day && day <= (lastDay ?? '9999'),
  );
  if (chosen.length === 0) throw new CommandError(`There is no backup of ${folder} for these days.`);
  return chosen.toSorted((one, other) => (one.name < other.name ? -1 : 1));
};
