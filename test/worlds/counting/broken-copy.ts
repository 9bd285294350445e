import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A text of a source file below `src/analytics`, which is there once, and what breaks the rule. */
export type Change = readonly [file: string, text: string, broken: string];

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A copy of the source in which a rule is broken. The caller deletes it. */
export const brokenCopy = (changes: readonly Change[]): string => {
  const copy = mkdtempSync(join(tmpdir(), 'broken-rule-'));
  const needed = [
    'src',
    'test/worlds',
    'test/analytics/counting-service.ts',
    'test/storage',
    'infra/cli/demo/random.ts',
    'package.json',
  ];
  for (const name of [...needed, 'tsconfig.json']) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  for (const [name, text, broken] of changes) {
    const file = join(copy, 'src/analytics', name);
    const parts = readFileSync(file, 'utf8').split(text);
    if (parts.length !== 2) throw new Error(`${name} has not once: ${text}`);
    writeFileSync(file, parts.join(broken));
  }
  return copy;
};
