/** `npm run build` and `npm run build:debug`: the bundle that Azure loads. */
import { z } from 'zod';

import { bundle } from './bundle.ts';
import { runCommand } from './command-line.ts';

const BUILD = {
  help: `npm run build -- [--debug]
  Makes dist/main.cjs, the bundle that Azure loads.
  --debug  makes a debug bundle, which has test calls; npm run build:debug is the same`,
  options: { debug: { type: 'boolean' } },
  values: z.object({ debug: z.boolean().default(false) }),
} as const;

await runCommand(BUILD, async ({ debug }) => bundle({ outfile: 'dist/main.cjs', debug }));
