import { existsSync, readFileSync } from 'node:fs';

import { expect, it } from 'vitest';
import { parse } from 'yaml';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

const everywhere = (command: string) => ({ posix: { run: command }, windows: { run: command } });

it('azure.yaml checks the values, makes the package and deploys its folder, on every system', () => {
  expect(parse(read('azure.yaml'))).toMatchObject({
    // The first whose `down` deletes nothing that is not of the deployment.
    requiredVersions: { azd: '>= 1.24.1' },
    hooks: { preprovision: everywhere('node infra/azure/check-values.ts') },
    infra: { path: 'infra/azure', module: 'main' },
    services: {
      api: {
        host: 'function',
        dist: 'package',
        // azd refuses a build that is not remote together with node_modules in .funcignore.
        remoteBuild: false,
        hooks: { prepackage: everywhere('npm run package') },
      },
    },
  });
  expect(read('.funcignore')).not.toMatch(/^\/?node_modules\/?$/m);
  expect(read('infra/azure/README.md')).toContain(' 1.24.1 or later');
  expect(existsSync(new URL('infra/azure/main.bicep', root))).toBe(true);
  expect(read('infra/azure/modules/app.bicep')).toContain("'azd-service-name': 'api'");
});
