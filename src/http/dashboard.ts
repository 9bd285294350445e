import * as z from 'zod';

import type { DashboardPage } from '../dashboard/page-file.ts';
import { answerHeader } from './route/answers.ts';
import { KEPT_ANSWER_HEADERS, KEPT_REQUEST_HEADERS, keptAnswer } from './route/kept.ts';
import { operation, type Route, route } from './route/route.ts';

const PAGE_HEADERS = KEPT_ANSWER_HEADERS.extend({
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
      headers: KEPT_REQUEST_HEADERS,
      answers: {
        200: {
          description: 'The page. Its query says what it shows.',
          mediaType: 'text/html',
          schema: z.string().meta({ id: 'Page' }),
          examples: { page: '<!doctype html>…' },
          headers: PAGE_HEADERS,
        },
        304: { description: 'The caller has this page already.', headers: PAGE_HEADERS },
      },
      handle: async ({ headers: asked }) => {
        const { html, contentSecurityPolicy, ...kept } = await page();
        const { headers, ...answer } = keptAnswer({ plain: html, ...kept }, asked);
        return {
          ...answer,
          headers: {
            ...headers,
            'Content-Security-Policy': contentSecurityPolicy,
            'X-Content-Type-Options': 'nosniff',
            'Referrer-Policy': 'no-referrer',
            'Cross-Origin-Opener-Policy': 'same-origin',
            'content-type': answer.status === 200 ? 'text/html; charset=utf-8' : undefined,
          },
        };
      },
    }),
  });
