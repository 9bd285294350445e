import { readdirSync, readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

const CALLS = new URL('../../src/calls/', import.meta.url);

/** `ACS` as a word, and the same at the beginning or inside of a name. */
const ACS = /\bacs\b|\bacs(?=[A-Z])|Acs(?![a-z])|ACS/;

const linesWithAcs = (path: string): readonly string[] =>
  readFileSync(new URL(path, CALLS), 'utf8')
    .split('\n')
    .flatMap((line, index) => (ACS.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : []));

const paths = readdirSync(CALLS, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.ts'));

it('calls names ACS inside calls/acs only', () => {
  const [inside, outside] = [true, false].map((isInside) =>
    paths.filter((path) => path.startsWith('acs/') === isInside).flatMap(linesWithAcs),
  );

  expect(inside).not.toEqual([]);
  expect(outside).toEqual([]);
});
