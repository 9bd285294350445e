/**
 * `node --import tsx test/bench/startup.ts`: how long a cold start takes, from Node's boot to the functions registered,
 * for the release bundle and for bundles that only import SDKs: those that the service loads when it starts, and all
 * of them. Prints the medians and the service's ratio to each.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { z } from 'zod';

import { bundle } from '../../infra/bundle.ts';
import { percentile, report, rounded } from './measure.ts';
import { sized } from './size.ts';

const ROUNDS = sized(25, 1);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The service loads it when it first needs a token of its own identity. */
const LOADED_LATER = '@azure/identity';

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
  SERVICE_NAME: 'Bench',
  TABLES_CONNECTION_STRING: 'UseDevelopmentStorage=true',
  ACS_CONNECTION_STRING: 'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
  ACS_SOURCE_PHONE_NUMBER: '+12065550199',
  ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://speech.invalid/',
  CALLBACK_BASE_URL: 'http://127.0.0.1:9',
};

const readPackages = async (): Promise<readonly string[]> => {
  const manifest: unknown = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const { dependencies } = z.object({ dependencies: z.record(z.string(), z.string()) }).parse(manifest);
  return Object.keys(dependencies);
};

/** A bundle of SDKs and one registration, which makes @azure/functions ask for the worker as the service's own do. */
const bundleSdks = async (directory: string, name: string, sdks: readonly string[]): Promise<string> => {
  const entry = join(directory, `${name}.ts`);
  const outfile = join(directory, `${name}.cjs`);
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

const bootMilliseconds = async (loader: string, path: string): Promise<number> => {
  const { stdout } = await promisify(execFile)(process.execPath, [loader, path], { env: ENVIRONMENT });
  return Number(stdout);
};

const bench = async (): Promise<void> => {
  const packages = await readPackages();
  const sdks = packages.filter((name) => name.startsWith('@azure/'));
  // Inside the repository, so that the SDKs are found from there.
  await mkdir(join(ROOT, 'dist'), { recursive: true });
  const directory = await mkdtemp(join(ROOT, 'dist', 'startup-'));
  try {
    const loader = join(directory, 'loader.cjs');
    const service = join(directory, 'service.cjs');
    await writeFile(loader, LOADER);
    await bundle({ outfile: service, debug: false });
    const atStart = sdks.filter((name) => name !== LOADED_LATER);
    const measured: readonly { readonly name: string; readonly path: string; readonly times: number[] }[] = [
      { name: 'the service', path: service, times: [] },
      { name: 'all its packages', path: await bundleSdks(directory, 'packages', packages), times: [] },
      { name: 'all its SDKs', path: await bundleSdks(directory, 'all', sdks), times: [] },
      { name: 'the SDKs it loads at the start', path: await bundleSdks(directory, 'at-start', atStart), times: [] },
    ];

    // In turn, so that whatever else the machine does hits all alike.
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { path, times } of measured) times.push(await bootMilliseconds(loader, path));
    }
    const own = percentile(measured[0]?.times ?? [], 0.5);
    report(
      `From Node ${process.version}'s boot to the functions registered, median of ${ROUNDS}, ms`,
      measured.map(({ name, times }) => {
        const middle = percentile(times, 0.5);
        return { what: name, median: rounded(middle, 0), 'the service against it': rounded(own / middle) };
      }),
    );
  } finally {
    await rm(directory, { recursive: true });
  }
};

await bench();
