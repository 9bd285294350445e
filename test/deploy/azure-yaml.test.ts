import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';
import { parse } from 'yaml';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const everywhere = (command: string) => ({ posix: { run: command }, windows: { run: command } });

it('azure.yaml checks the values, makes the package and deploys its folder, on every system', () => {
  expect(parse(read('azure.yaml'))).toMatchObject({
    // The first whose `down` deletes nothing that is not of the deployment.
    requiredVersions: { azd: `>= ${/ (\d+\.\d+\.\d+) or later/.exec(read('infra/azure/README.md'))?.[1]}` },
    hooks: { preprovision: everywhere('node infra/azure/check-values.ts') },
    // azd refuses a build that is not remote together with node_modules in .funcignore.
    services: { api: { dist: 'package', remoteBuild: false, hooks: { prepackage: everywhere('npm run package') } } },
  });
  expect(read('.funcignore')).not.toMatch(/^\/?node_modules\/?$/m);
  expect(read('infra/azure/modules/app.bicep')).toContain("'azd-service-name': 'api'");
});
