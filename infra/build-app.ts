import { dirname } from 'node:path';

import { bundle, type BundleOptions } from './bundle.ts';
import { buildDashboard } from './dashboard.ts';

/**
 * Makes everything that Azure loads: the service's bundle, and the dashboard's page beside it.
 *
 * @throws where a source does not compile or an import does not resolve
 */
export const buildApp = async ({ outfile, debug }: Omit<BundleOptions, 'entry'>): Promise<void> => {
  await Promise.all([bundle({ outfile, debug }), buildDashboard(dirname(outfile))]);
};
