import * as z from 'zod';

import type { DashboardPage } from '../dashboard/page-file.ts';
import { answerHeader } from './route/answers.ts';
import { operation, type Route, route } from './route/route.ts';

const PAGE_HEADERS = z.object({
  'Content-Security-Policy': answerHeader(
    'Content-Security-Policy',
    z.string(),
    'Allows the page’s own script and style, by hash.',
  ),
});

/**
 * `GET /api/dashboard`: the page to look at. Anybody may have it, because there is no data in it: it asks the other endpoints, with
 * the key that the person gives it.
 *
 * @param page rejects where the package has no page
 */
export const dashboard = (page: () => Promise<DashboardPage>): Route =>
  route({
    name: 'Dashboard',
    path: 'dashboard',
    authLevel: 'anonymous',
    GET: operation({
      operationId: 'getDashboard',
      tag: 'service',
      summary: 'A page to look at',
      description:
        'It shows what the other endpoints answer, and asks the person for a function key where they want one.',
      query: 'any',
      conditional: 'public',
      answers: {
        200: {
          description: 'The page. Its query says what it shows.',
          mediaType: 'text/html',
          schema: z.string().meta({ id: 'Page' }),
          examples: { page: '<!doctype html>…' },
          headers: PAGE_HEADERS,
        },
      },
      handle: async () => {
        const { html: plain, contentSecurityPolicy, ...rest } = await page();
        return {
          status: 200,
          headers: {
            'Content-Security-Policy': contentSecurityPolicy,
            'X-Content-Type-Options': 'nosniff',
            'Referrer-Policy': 'no-referrer',
            'Cross-Origin-Opener-Policy': 'same-origin',
          },
          staticBody: { plain, ...rest },
        };
      },
    }),
  });
