/** `npm run package`: makes the folder `package/`, the deployment to Azure. */
import { z } from 'zod';

import { runCommand } from './command-line.ts';
import { makePackage } from '../build/package.ts';

const PACKAGE = {
  help: `npm run package
  Makes the folder package/, the deployment to Azure: host.json, the release bundle, the page and a package.json without dependencies.`,
  values: z.object({}),
} as const;

await runCommand(PACKAGE, async () => makePackage('package'));
