import * as z from 'zod';

import type { DashboardPage } from '../dashboard/page-file.ts';
import { get, type Route } from './route/route.ts';

/**
 * `GET /api/dashboard`: the page. It is public because it has no data: it asks the other endpoints with the reader's key.
 *
 * @param page rejects if the package has no page
 */
export const dashboard = (page: () => Promise<DashboardPage>): Route =>
  get('Dashboard', 'dashboard', {
    authLevel: 'anonymous',
    operationId: 'getDashboard',
    tag: 'service',
    summary: 'The dashboard',
    description:
      'A page that shows the answers of the other endpoints. It asks the reader for a function key if they need one.',
    query: 'any',
    conditional: 'public',
    answers: {
      200: {
        description: 'The page. Its query selects what it shows.',
        mediaType: 'text/html',
        schema: z.string().meta({ id: 'Page' }),
      },
    },
    handle: async () => {
      const { html: plain, contentSecurityPolicy, ...rest } = await page();
      return {
        status: 200,
        headers: {
          'Content-Security-Policy': contentSecurityPolicy,
          'Cross-Origin-Opener-Policy': 'same-origin',
        },
        staticBody: { plain, ...rest },
      };
    },
  });
