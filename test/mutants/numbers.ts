/**
 * `npm run mutants`: multiplies and divides each number of calling by ten, one at a time. Then it runs the unit tests of calls and of the settings,
 * and the world of calls if these pass. Prints each number that no test holds. Exits with 1 after any such number.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';

import pLimit from 'p-limit';
import { parseSync, Visitor } from 'vite';
import { z } from 'zod';

import { numberOption, runCommand } from '../../infra/cli/command-line.ts';

const COMMAND = {
  help: `npm run mutants -- [--of TEXT] [--workers N]
  Changes each number of calling, one at a time, and prints the numbers that no test holds.
  --of TEXT    only numbers of files whose path has this text
  --workers N  how many run at the same time, 1 to 16; 2 by default`,
  values: z.object({ of: z.string().default(''), workers: numberOption('workers', 1, 16).default(2) }),
} as const;

/** A number of the source in another size. */
export interface Mutant {
  readonly file: string;
  /** The number is between these offsets. */
  readonly start: number;
  readonly end: number;
  readonly value: number;
}

/** Each number of a file except 0, times ten and a tenth. */
const mutantsOf = (file: string): readonly Mutant[] => {
  const mutants: Mutant[] = [];
  let typeEndsAt = 0;
  const visitor = new Visitor({
    // Types are gone when the tests run.
    TSLiteralType({ end }) {
      typeEndsAt = end;
    },
    Literal({ value, start, end }) {
      if (typeof value !== 'number' || value === 0 || start < typeEndsAt) return;
      mutants.push({ file, start, end, value: value * 10 }, { file, start, end, value: value / 10 });
    },
  });
  visitor.visit(parseSync(file, readFileSync(file, 'utf8')).program);
  return mutants;
};

/** Runs tests with a mutant; without one if it is undefined. */
const passes = async (paths: readonly string[], mutant?: Mutant): Promise<boolean> => {
  // The world replaces modules of Node's, and so needs its own modules.
  const isolated = paths === WORLD ? [] : ['--no-isolate'];
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--bail=1', '--config=test/mutants/vitest.config.ts'];
  const env = { ...process.env, ...(mutant && { MUTANT: JSON.stringify(mutant) }) };
  const child = spawn(process.execPath, [...vitest, ...isolated, ...paths], { env, stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  return code === 0;
};

const UNITS = ['test/calls', 'test/settings.test.ts'];
const WORLD = ['test/worlds/calls'];

/** Runs the tests of a mutant's file, all unit tests and the world, until one fails. */
const survives = async (mutant: Mutant): Promise<boolean> => {
  const own = mutant.file.replace(/^src(.*)\.ts$/, 'test$1.test.ts');
  if (existsSync(own) && !(await passes([own], mutant))) return false;
  if (!(await passes(UNITS, mutant)) || !(await passes(WORLD, mutant))) return false;
  const before = readFileSync(mutant.file, 'utf8').slice(0, mutant.end);
  const text = before.slice(mutant.start);
  console.log(`${mutant.file}:${before.split('\n').length}: ${text} → ${mutant.value}: no test fails`);
  return true;
};

await runCommand(COMMAND, async ({ of, workers }) => {
  if (!((await passes(UNITS)) && (await passes(WORLD)))) {
    console.error('The tests fail without any change.');
    return 2;
  }
  const files = globSync(['src/calls/**/*.ts', 'src/settings/{phone,twilio}.ts']).filter((file) => file.includes(of));
  const mutants = files.toSorted().flatMap(mutantsOf);
  const limit = pLimit(workers);
  const survivors = (await limit.map(mutants, survives)).filter(Boolean).length;
  console.log(`${mutants.length} mutants, ${survivors} that no test notices.`);
  return survivors === 0 ? 0 : 1;
});
