import { expect, it } from 'vitest';
import { parse } from 'yaml';

import { readText } from '../docs/markdown.ts';

const everywhere = (command: string) => ({ posix: { run: command }, windows: { run: command } });

/** The first azd whose `down` deletes nothing that is not of the deployment, after 1.23.12, which was the first that did. */
const FIRST_GOOD = '1.24.1';

it('azure.yaml checks the values, makes the package and deploys its folder, on every system', () => {
  expect(parse(readText('azure.yaml'))).toMatchObject({
    requiredVersions: { azd: `>= ${FIRST_GOOD}` },
    hooks: { preprovision: everywhere('node infra/azure/check-values.ts') },
    // azd refuses a build that is not remote together with node_modules in .funcignore.
    services: { api: { dist: 'package', remoteBuild: false, hooks: { prepackage: everywhere('npm run package') } } },
  });
  expect(/ azd before (\d+\.\d+\.\d+),/.exec(readText('infra/azure/README.md'))?.[1]).toBe(FIRST_GOOD);
  expect(readText('.funcignore')).not.toMatch(/^\/?node_modules\/?$/m);
  expect(readText('infra/azure/modules/app.bicep')).toContain("'azd-service-name': 'api'");
});
