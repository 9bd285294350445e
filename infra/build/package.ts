import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { z } from 'zod';

import { buildApp } from './bundle.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const manifestSchema = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string(),
  main: z.string(),
  engines: z.record(z.string(), z.string()),
});

/**
 * Makes the deployable folder: host.json, the release bundle with its source map, the dashboard's page, and a package.json that names the bundle. This
 * package.json has no dependencies, because the bundle holds them, and no scripts, because a deployment would run them.
 *
 * @param directory what it held before is removed
 */
export const makePackage = async (directory: string): Promise<void> => {
  const manifest = manifestSchema.parse(JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')));
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  await buildApp({ outfile: join(directory, manifest.main), debug: false });
  await copyFile(join(ROOT, 'host.json'), join(directory, 'host.json'));
  await writeFile(join(directory, 'package.json'), `${JSON.stringify({ private: true, ...manifest }, null, 2)}\n`);
};
