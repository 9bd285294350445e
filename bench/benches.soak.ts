import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

const RUN = fileURLToPath(new URL('run.ts', import.meta.url));

it('every benchmark runs to its end, at a tiny size', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), RUN, '--seconds', '1', '--instances', '1'],
    { env: { ...process.env, BENCH_TINY: '1' } },
  );
  expect(stdout).toContain('times naive');
  expect(stdout).not.toContain('NaN');
});
