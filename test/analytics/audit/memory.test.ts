import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';
import { z } from 'zod';

const packageSchema = z.object({ scripts: z.object({ audit: z.string() }) });
const root = new URL('../../../', import.meta.url);
const { scripts } = packageSchema.parse(JSON.parse(readFileSync(new URL('package.json', root), 'utf8')));

it('an audit of a day of 5 million events of 5,000 cameras needs less than 300 MB of memory in its busiest hour', async () => {
  const [command, ...args] = scripts.audit.split(' ');
  expect([command, args.pop()]).toEqual(['node', 'infra/cli/audit.ts']);
  const { stdout } = await promisify(execFile)(process.execPath, [...args, 'test/analytics/audit/audit-busy-hour.ts'], {
    cwd: root,
  });
  // 125 to 220 MB, as the garbage is collected. 360 MB without the options of node.
  expect(Number(stdout)).toBeLessThan(300);
  expect(Number(stdout)).toBeGreaterThan(50);
});
