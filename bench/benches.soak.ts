import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

const RUN = fileURLToPath(new URL('run.ts', import.meta.url));

it('every benchmark runs to its end, at a tiny size', async () => {
  const command = ['--import', import.meta.resolve('tsx'), RUN, '--seconds', '1'];
  const environment = { ...process.env, BENCH_TINY: '1' };
  const { stdout } = await promisify(execFile)(process.execPath, command, { env: environment });
  expect(stdout).toContain('of the bare SDK');
  expect(stdout).not.toContain('NaN');
});
