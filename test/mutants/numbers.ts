/**
 * `npm run mutants`: multiplies and divides each number of calling by ten, one at a time, in a copy of the source. Then it runs the unit tests
 * of calls and of the settings, and the world of calls if these pass. Prints each number that no test holds. Exits with 1 after any such number.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { parseSync, Visitor } from 'vite';
import { z } from 'zod';

import { flagOption, numberOption, runCommand } from '../../infra/cli/command-line.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Paths of tests, which are run together. */
type Tests = readonly (readonly string[])[];

/** Where the numbers stand. */
const PLACES = [
  'src/calls/rules',
  'src/calls/state',
  'src/calls/model',
  'src/calls/store',
  'src/calls/run',
  'src/calls/providers',
  'src/calls/phone.ts',
  'src/settings/phone.ts',
  'src/settings/twilio.ts',
];

/** These run one after the other until one fails: the tests of the file, of its folder, all unit tests, the world. */
const UNITS = ['test/calls', 'test/settings.test.ts'];
const WORLDS = ['test/worlds/calls'];
const ownTests = (file: string): Tests =>
  [file.replace(/\.ts$/, '.test.ts'), dirname(file)]
    .map((path) => path.replace(/^src/, 'test'))
    .flatMap((path) => (path.startsWith('test/calls/') && existsSync(join(ROOT, path)) ? [[path]] : []));

/** The parts of the copy. */
const NEEDED = ['src', 'infra', 'test', 'package.json', 'tsconfig.json', 'host.json', 'local.settings.json.example'];

const MUTANTS = {
  help: `npm run mutants -- [--of TEXT] [--units] [--workers N]
  Changes each number of calling, one at a time, and tells which of them no test holds.
  --of TEXT    only numbers of files whose path has this text
  --units      runs the unit tests alone, without the world of calls
  --workers N  how many are tried at the same time, 1 to 16; 2 by default`,
  values: z.object({
    of: z.string().default(''),
    units: flagOption,
    workers: numberOption('workers', 1, 16).default(2),
  }),
} as const;

/** A number of the source, and what it becomes. */
interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  readonly changed: string;
}

const filesIn = async (place: string): Promise<readonly string[]> =>
  (await stat(join(ROOT, place))).isDirectory()
    ? (await readdir(join(ROOT, place), { recursive: true }))
        .filter((name) => name.endsWith('.ts'))
        .map((name) => `${place}/${name}`)
    : [place];

/** Each number of a file, but 0, times ten and a tenth. */
const mutantsOf = async (file: string): Promise<readonly Mutant[]> => {
  const source = await readFile(join(ROOT, file), 'utf8');
  const mutants: Mutant[] = [];
  let typeEndsAt = 0;
  const visitor = new Visitor({
    // Types are gone when the tests run.
    TSLiteralType({ end }) {
      typeEndsAt = end;
    },
    Literal(node) {
      if (typeof node.value !== 'number' || node.value === 0 || node.start < typeEndsAt) return;
      const line = source.slice(0, node.start).split('\n').length;
      const text = source.slice(node.start, node.end);
      for (const value of [node.value * 10, node.value / 10]) {
        mutants.push({
          file,
          line,
          text: `${text} → ${value}`,
          changed: `${source.slice(0, node.start)}${value}${source.slice(node.end)}`,
        });
      }
    },
  });
  visitor.visit(parseSync(file, source).program);
  return mutants;
};

const copyOfSource = async (): Promise<string> => {
  const copy = await mkdtemp(join(tmpdir(), 'mutants-'));
  for (const name of NEEDED) await cp(join(ROOT, name), join(copy, name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
};

const passes = (copy: string, paths: readonly string[]): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
    // The world replaces modules of Node's, and so needs its own modules.
    const isolated = paths === WORLDS ? [] : ['--no-isolate'];
    const args = [vitest, 'run', '--bail=1', ...isolated, '--config', 'test/mutants/vitest.config.ts', ...paths];
    const child = spawn(process.execPath, args, { cwd: copy, stdio: 'ignore' });
    child.on('error', reject);
    child.on('exit', (code) => resolve(code === 0));
  });

const survives = async (copy: string, tests: Tests): Promise<boolean> => {
  for (const paths of tests) if (!(await passes(copy, paths))) return false;
  return true;
};

/** Tries mutants until none is left. @returns the mutants that no test noticed */
const tryMutants = async (mutants: Iterator<Mutant>, tests: Tests): Promise<readonly Mutant[]> => {
  const copy = await copyOfSource();
  const survivors: Mutant[] = [];
  try {
    for (let next = mutants.next(); next.done !== true; next = mutants.next()) {
      const { file, line, text, changed } = next.value;
      const path = join(copy, file);
      const source = await readFile(path, 'utf8');
      await writeFile(path, changed);
      if (await survives(copy, [...ownTests(file), ...tests])) {
        survivors.push(next.value);
        console.log(`${file}:${line}: ${text}: no test fails`);
      }
      await writeFile(path, source);
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
  return survivors;
};

await runCommand(MUTANTS, async ({ of, units, workers }) => {
  const tests = units ? [UNITS] : [UNITS, WORLDS];
  const copy = await copyOfSource();
  const isGreen = await survives(copy, tests);
  await rm(copy, { recursive: true, force: true });
  if (!isGreen) {
    console.error('The tests fail without any change.');
    return 2;
  }
  const files = (await Promise.all(PLACES.map(filesIn))).flat().filter((file) => file.includes(of));
  const mutants = (await Promise.all(files.map(mutantsOf))).flat();
  const each = mutants.values();
  const survivors = (await Promise.all(Array.from({ length: workers }, () => tryMutants(each, tests)))).flat();
  console.log(`${mutants.length} mutants, ${survivors.length} that no test notices.`);
  return survivors.length === 0 ? 0 : 1;
});
