/**
 * `npm run mutants`: multiplies and divides each number of calling by ten, one at a time. Then it runs the unit tests of calls and of the settings,
 * and the world of calls if these pass. Prints each number that no test holds. Exits with 1 after any such number.
 */
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { parseSync, Visitor } from 'vite';
import { startVitest } from 'vitest/node';
import { z } from 'zod';

import { runCommand } from '../../infra/cli/command-line.ts';

const COMMAND = {
  help: `npm run mutants -- [--of TEXT]
  Changes each number of calling, one at a time, and prints the numbers that no test holds.
  --of TEXT  only numbers of files whose path has this text`,
  values: z.object({ of: z.string().default('') }),
} as const;

/** A number of the source in another size. */
interface Mutant {
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

const UNITS = ['test/calls', 'test/settings.test.ts'];
/** It replaces modules of Node's, and so needs its own modules. */
const WORLD = ['test/worlds/calls'];

/** Runs tests with a mutant, which replaces its number while the source is loaded; without one if it is undefined. */
const passes = async (tests: readonly string[], mutant?: Mutant): Promise<boolean> => {
  const transform = (code: string, path: string): string | undefined =>
    mutant && path === resolve(mutant.file)
      ? `${code.slice(0, mutant.start)}${mutant.value}${code.slice(mutant.end)}`
      : undefined;
  const vitest = await startVitest(
    'test',
    [...tests],
    {
      config: false,
      watch: false,
      reporters: [{}],
      bail: 1,
      // A cached module has no number replaced, or the number of another mutant.
      fsModuleCache: false,
      isolate: tests === WORLD,
      maxWorkers: 2,
      setupFiles: ['test/harness/fixed-examples.ts'],
      testTimeout: 180_000,
      restoreMocks: true,
      unstubEnvs: true,
    },
    { plugins: [{ name: 'mutant', enforce: 'pre', transform }] },
  );
  const isGreen = vitest.state.getCountOfFailedTests() === 0 && vitest.state.getUnhandledErrors().length === 0;
  await vitest.close();
  return isGreen;
};

/** Runs all unit tests and then the world, until one fails. */
const survives = async (mutant?: Mutant): Promise<boolean> =>
  (await passes(UNITS, mutant)) && (await passes(WORLD, mutant));

await runCommand(COMMAND, async ({ of }) => {
  if (!(await survives())) {
    console.error('The tests fail without any change.');
    return 2;
  }
  const files = globSync(['src/calls/**/*.ts', 'src/settings/{phone,twilio}.ts']).filter((file) => file.includes(of));
  const mutants = files.toSorted().flatMap(mutantsOf);
  let survivors = 0;
  for (const mutant of mutants) {
    if (!(await survives(mutant))) continue;
    survivors += 1;
    const before = readFileSync(mutant.file, 'utf8').slice(0, mutant.end);
    const place = `${mutant.file}:${before.split('\n').length}`;
    console.log(`${place}: ${before.slice(mutant.start)} → ${mutant.value}: no test fails`);
  }
  console.log(`${mutants.length} mutants, ${survivors} that no test notices.`);
  return survivors === 0 ? 0 : 1;
});
