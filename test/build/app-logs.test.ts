import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { demandCleanLogs } from '../harness/app-logs.ts';
import { ownDirectory } from '../harness/own-directory.ts';

/** What the check says of a log with this line. */
const verdictOn = (line: string): string => {
  const directory = ownDirectory();
  writeFileSync(join(directory, 'app.log'), `Functions host ready\n${line}\n`);
  try {
    demandCleanLogs(directory);
    return 'may';
  } catch (error) {
    return String(error).includes('must not') ? 'must not' : 'cannot';
  }
};

it.each([
  ['must not', '{"event":"call placed","recipient":"+12065550100"}'],
  ['must not', 'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA=='],
  ['must not', 'Error: Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='],
  ['must not', '{"authorization":"Bearer x"}'],
  ['must not', '{"token":"eyJhbGciOiJSUzI1NiJ9"}'],
  ['may', '{"event":"call placed","recipient":"+*******0100","at":"2026-11-21T08:00:00+00:00"}'],
])('what a log %s hold: %s', (verdict, line) => {
  expect(verdictOn(line)).toBe(verdict);
});
