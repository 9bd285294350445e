import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

import { z } from 'zod';

import { isDay } from '../../src/analytics/model/day.ts';
import { isMissing, replaceFile } from '../replace-file.ts';
import { ArchiveError } from './archive-error.ts';

const partitionSchema = z.strictObject({
  partition: z.string().regex(/^\d{4}-\d{2}-\d{2}(_\w{1,40})?$/),
  rows: z.int().min(0),
  /** The instant at which the partition held exactly these rows, UTC. */
  as_of: z.iso.datetime(),
  /** Of the file `<partition>.ndjson.gz`. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const manifestSchema = z.strictObject({
  version: z.literal(1),
  day: z.string().refine(isDay),
  /** False while partitions are missing: such a directory can be gone on with and not be imported. */
  complete: z.boolean(),
  partitions: z.array(partitionSchema),
});

/** What a directory holds of a day. */
export type Manifest = z.infer<typeof manifestSchema>;

/** What it holds of a partition. */
export type PartitionEntry = Manifest['partitions'][number];

const manifestPath = (directory: string): string => join(directory, 'manifest.json');

/** The file of a partition. */
export const archivePath = (directory: string, partition: string): string => join(directory, `${partition}.ndjson.gz`);

/**
 * The manifest of a day's directory; undefined where there is none.
 *
 * @throws {ArchiveError} where the file is something else
 */
export const readManifest = async (directory: string): Promise<Manifest | undefined> => {
  const path = manifestPath(directory);
  try {
    return manifestSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw new ArchiveError(`${path} is not a manifest of this command.`, { cause: error });
  }
};

/** Writes the manifest, whole or not at all. */
export const writeManifest = async (directory: string, manifest: Manifest): Promise<void> => {
  await mkdir(directory, { recursive: true });
  await replaceFile(manifestPath(directory), `${JSON.stringify(manifest, undefined, 2)}\n`);
};

/** The SHA-256 of a file, in hexadecimal. */
export const sha256Of = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
};
