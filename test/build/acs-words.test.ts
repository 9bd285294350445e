import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

const CALLS = fileURLToPath(new URL('../../src/calls/', import.meta.url));

/** `ACS` as a word, and the same at the beginning or inside of a name. */
const ACS = /\bacs\b|\bacs(?=[A-Z])|Acs(?![a-z])|ACS/;

it('calls names ACS inside calls/acs only', () => {
  const naming = globSync('**/*.ts', { cwd: CALLS }).filter((path) =>
    ACS.test(readFileSync(`${CALLS}${path}`, 'utf8')),
  );
  expect(naming).not.toEqual([]);
  expect(naming.filter((path) => !/^acs[\\/]/.test(path))).toEqual([]);
});
