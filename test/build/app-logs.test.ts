import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { demandCleanLogs } from '../harness/app-logs.ts';
import { ownDirectory } from '../harness/own-directory.ts';

/** Checks a log with this line. */
const check = (line: string) => () => {
  const directory = ownDirectory();
  writeFileSync(join(directory, 'app.log'), `Functions host ready\n${line}\n`);
  demandCleanLogs(directory);
};

it.each([
  '{"event":"call placed","recipient":"+12065550100"}',
  'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
  'Error: Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
  '{"authorization":"Bearer x"}',
  '{"token":"eyJhbGciOiJSUzI1NiJ9"}',
])('the logs of the apps must not hold %s', (line) => {
  expect(check(line)).toThrow('must not');
  expect(check('{"recipient":"+*******0100","at":"2026-11-21T08:00:00+00:00"}')).not.toThrow();
});
