import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, inject, it } from 'vitest';
import { z } from 'zod';

import { ownTablesPrefix } from '../../harness/app.ts';

const KEPT_HEAP = fileURLToPath(new URL('kept-heap.ts', import.meta.url));

it('the rows that a process remembers take as much memory as is counted for them, within a quarter', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    // Code that is thrown away, and compiled again, is no row.
    '--no-flush-bytecode',
    `--import=${import.meta.resolve('tsx')}`,
    KEPT_HEAP,
    inject('tablesConnectionString'),
    `${ownTablesPrefix()}heap`,
  ]);
  const ratios = z.record(z.string(), z.number()).parse(JSON.parse(stdout));
  const wrong = Object.entries(ratios).filter(([, ratio]) => ratio < 0.75 || ratio > 1.25);
  expect(wrong).toEqual([]);
  expect(Object.keys(ratios)).toContain('frames, one a request');
});
