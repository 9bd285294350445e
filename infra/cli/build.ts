/** `npm run build` and `npm run build:debug`: what Azure loads. */
import { z } from 'zod';

import { buildApp } from '../build/bundle.ts';
import { flagOption, runCommand } from './command-line.ts';

const BUILD = {
  help: `npm run build -- [--debug]
  Makes dist/: the bundle main.cjs, which Azure loads, and the dashboard's page.
  --debug  makes a debug bundle, which has test calls; npm run build:debug is the same`,
  values: z.object({ debug: flagOption }),
} as const;

await runCommand(BUILD, async ({ debug }) => buildApp({ outfile: 'dist/main.cjs', debug }));
