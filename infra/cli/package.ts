/** `npm run package`: the folder `package/`, which is all that Azure gets. */
import { z } from 'zod';

import { runCommand } from './command-line.ts';
import { makePackage } from '../build/package.ts';

const PACKAGE = {
  help: `npm run package
  Makes the folder package/, which is all that Azure gets: host.json, the release bundle, the page and a package.json without dependencies.`,
  options: {},
  values: z.object({}),
} as const;

await runCommand(PACKAGE, async () => makePackage('package'));
