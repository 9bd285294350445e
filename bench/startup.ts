import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { z } from 'zod';

import { bundle } from '../infra/build/bundle.ts';
import { demandAtMost, p50, ratio, report, sized } from './measure.ts';
import { moved } from './movement.ts';
import { PHONE, Stage } from './stage.ts';

const ROUNDS = sized(25, 1);
const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Loads a bundle as the Functions worker does and prints the milliseconds since Node began to boot. */
const LOADER = `
const Module = require('node:module');
const core = { registerFunction() {}, registerHook() {}, setProgrammingModel() {}, log() {} };
const load = Module._load;
Module._load = (request, ...rest) => (request === '@azure/functions-core' ? core : load(request, ...rest));
console.info = console.warn = () => undefined;
require(process.argv[2]);
console.log(performance.now());
process.exit();
`;

const ENVIRONMENT = {
  ...PHONE,
  TABLES_CONNECTION_STRING: 'UseDevelopmentStorage=true',
  CALLBACK_BASE_URL: 'http://127.0.0.1:9',
};

const readPackages = async (): Promise<readonly string[]> => {
  const manifest: unknown = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const { dependencies } = z.object({ dependencies: z.record(z.string(), z.string()) }).parse(manifest);
  return Object.keys(dependencies);
};

/** A bundle of all SDKs and one registration, which makes @azure/functions ask for the worker as the service's own do. */
const bundleSdks = async (directory: string): Promise<string> => {
  const entry = join(directory, 'sdks.ts');
  const outfile = join(directory, 'sdks.cjs');
  const sdks = (await readPackages()).filter((name) => name.startsWith('@azure/'));
  await writeFile(
    entry,
    [
      ...sdks.map((sdk, index) => `export * as sdk${index} from '${sdk}';`),
      "import { app } from '@azure/functions';",
      "app.http('one', { handler: () => ({}) });",
    ].join('\n'),
  );
  await bundle({ entry, outfile, debug: false });
  return outfile;
};

/** Loads a bundle in a new process. @returns milliseconds since Node began to boot */
const bootMs = async (loader: string, path: string): Promise<number> => {
  const { stdout } = await promisify(execFile)(process.execPath, [loader, path], { env: ENVIRONMENT });
  moved();
  return Number(stdout);
};

/** The bound of the ratio. */
const MAX_AGAINST_SDKS = 1.5;

/** How long a cold start takes, from Node's boot to the functions registered, against a bundle that only imports all its SDKs. */
export const startupBench = async (): Promise<void> => {
  // Inside the repository, so that the SDKs are found from there.
  await mkdir(join(ROOT, 'dist'), { recursive: true });
  const directory = await mkdtemp(join(ROOT, 'dist', 'startup-'));
  try {
    const loader = join(directory, 'loader.cjs');
    await writeFile(loader, LOADER);
    const [service, sdks] = [(await Stage.built()).bundle, await bundleSdks(directory)];
    const [own, base]: [number[], number[]] = [[], []];
    // In turn, so that other load on the machine hits both alike.
    for (let round = 0; round < ROUNDS; round += 1) {
      own.push(await bootMs(loader, service));
      base.push(await bootMs(loader, sdks));
    }
    const figures = { 'the service, ms': p50(own), 'all its SDKs, ms': p50(base) };
    report(`From Node ${process.version}'s boot to the functions registered, median of ${ROUNDS}`, [figures]);
    demandAtMost(['The service against its SDKs', ratio(own, base), MAX_AGAINST_SDKS]);
  } finally {
    await rm(directory, { recursive: true });
  }
};
