import { existsSync, readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const root = new URL('../../', import.meta.url);
const text = readFileSync(new URL('azure.yaml', root), 'utf8');

const hookSchema = z.object({ posix: z.object({ run: z.string() }), windows: z.object({ run: z.string() }) });
const { requiredVersions, hooks, infra, services } = z
  .object({
    hooks: z.object({ preprovision: hookSchema }),
    requiredVersions: z.object({ azd: z.string() }),
    infra: z.object({ path: z.string(), module: z.string() }),
    services: z.object({
      api: z.object({
        host: z.literal('function'),
        dist: z.string(),
        remoteBuild: z.boolean(),
        hooks: z.object({ prepackage: hookSchema }),
      }),
    }),
  })
  .parse(parse(text));

/** Whether azd takes .funcignore together with azure.yaml. */
const goesTogether = (remoteBuild: boolean, funcignore: string): boolean =>
  remoteBuild || !funcignore.split('\n').some((line) => /^\/?node_modules\/?$/.test(line.trim()));

describe('azure.yaml', () => {
  it('asks for an azd whose `down` deletes nothing that is not of the deployment', () => {
    expect(requiredVersions.azd).toBe('>= 1.24.1');
    expect(readFileSync(new URL('infra/azure/README.md', root), 'utf8')).toContain(' 1.24.1 or later');
  });

  it('checks the values before anything is made of them, on every system', () => {
    const { posix, windows } = hooks.preprovision;
    expect([posix.run, windows.run]).toEqual(Array.from({ length: 2 }, () => 'node infra/azure/check-values.ts'));
  });

  it('goes together with .funcignore: azd refuses a build that is not remote where node_modules is left out', () => {
    expect(goesTogether(services.api.remoteBuild, readFileSync(new URL('.funcignore', root), 'utf8'))).toBe(true);
    expect(goesTogether(false, 'src\nnode_modules\n')).toBe(false);
  });

  it('deploys the folder that npm run package makes, on every system', () => {
    const { scripts } = z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(readFileSync(new URL('package.json', root), 'utf8')));
    expect(scripts['package']).toBeDefined();
    expect(services.api.dist).toBe('package');
    expect(services.api.remoteBuild).toBe(false);
    expect(services.api.hooks.prepackage.posix.run).toBe('npm run package');
    expect(services.api.hooks.prepackage.windows.run).toBe('npm run package');
  });

  it('points at the Bicep, whose app carries the name of the service', () => {
    const folder = new URL(`${infra.path}/`, root);
    expect(existsSync(new URL(`${infra.module}.bicep`, folder))).toBe(true);
    expect(readFileSync(new URL('modules/app.bicep', folder), 'utf8')).toContain("'azd-service-name': 'api'");
  });
});
