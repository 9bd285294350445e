import { existsSync, readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const root = new URL('../../', import.meta.url);
const text = readFileSync(new URL('azure.yaml', root), 'utf8');
const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('#'));

/** The values of the file by their path; it is plain nested mappings, no more of YAML than that. */
const values = ((): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  const path: string[] = [];
  for (const line of lines) {
    const [, indent = '', key = '', value = ''] = /^( *)([A-Za-z]+): ?(.*)$/.exec(line) ?? [];
    path.splice(indent.length / 2, path.length, key);
    if (value !== '') found.set(path.join('.'), value);
  }
  return found;
})();

describe('azure.yaml', () => {
  it('is nested mappings, indented by two spaces', () => {
    let depth = 0;
    for (const line of lines) {
      const [, indent = '', , value] = /^((?: {2})*)([A-Za-z]+):(?: (\S.*))?$/.exec(line) ?? [];
      expect(line).toMatch(/^(?: {2})*[A-Za-z]+:(?: \S.*)?$/);
      expect(indent.length / 2).toBeLessThanOrEqual(depth);
      depth = indent.length / 2 + (value === undefined ? 1 : 0);
    }
  });

  it('deploys the folder that npm run package makes, on every system', () => {
    const { scripts } = z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(readFileSync(new URL('package.json', root), 'utf8')));
    expect(scripts['package']).toBeDefined();
    expect(values.get('services.api.host')).toBe('function');
    expect(values.get('services.api.dist')).toBe('package');
    expect(values.get('services.api.remoteBuild')).toBe('false');
    expect(values.get('services.api.hooks.prepackage.posix.run')).toBe('npm run package');
    expect(values.get('services.api.hooks.prepackage.windows.run')).toBe('npm run package');
  });

  it('points at the Bicep, whose app carries the name of the service', () => {
    const folder = new URL(`${values.get('infra.path') ?? ''}/`, root);
    expect(existsSync(new URL(`${values.get('infra.module') ?? ''}.bicep`, folder))).toBe(true);
    expect(readFileSync(new URL('modules/app.bicep', folder), 'utf8')).toContain("'azd-service-name': 'api'");
  });
});
