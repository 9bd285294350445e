import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { demandCleanLogs } from '../harness/app-logs.ts';

const written = (line: string): string => {
  const directory = mkdtempSync(join(tmpdir(), 'app-logs-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'app.log'), `Functions host ready\n${line}\n`);
  return directory;
};

it.each([
  '{"event":"call placed","recipient":"+12065550100"}',
  'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
  'Error: Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
  '{"authorization":"Bearer x"}',
  '{"token":"eyJhbGciOiJSUzI1NiJ9"}',
])('finds what no log may hold: %s', (line) => {
  expect(() => demandCleanLogs(written(line))).toThrow('must not');
});

it('lets pass what a log may hold', () => {
  const line = '{"event":"call placed","recipient":"+*******0100","at":"2026-11-21T08:00:00+00:00"}';
  expect(() => demandCleanLogs(written(line))).not.toThrow();
});
