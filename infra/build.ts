/** `node --import tsx infra/build.ts [--debug]`: makes dist/main.cjs, a release bundle unless `--debug` is given. */
import { parseArgs } from 'node:util';

import { bundle } from './bundle.ts';

const { values } = parseArgs({ options: { debug: { type: 'boolean', default: false } } });

await bundle({ outfile: 'dist/main.cjs', debug: values.debug });
