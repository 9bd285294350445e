import * as z from 'zod';

import type { DashboardPage } from '../dashboard/page-file.ts';
import { answerHeader } from './route/answers.ts';
import { acceptsGzip, gzippedTag, isKnown } from './route/conditional.ts';
import { parameter } from './route/fields.ts';
import { operation, type Route, route } from './route/route.ts';

const PAGE_HEADERS = z.object({
  'Content-Security-Policy': answerHeader(
    'Content-Security-Policy',
    z.string(),
    'Allows the page’s own script and style, by hash.',
  ),
  ETag: z.string().describe('Of the page in the encoding that was accepted.'),
  'Cache-Control': z.literal('no-cache').describe('Keep it, and ask each time whether it has changed.'),
  Vary: answerHeader('Vary', z.string(), 'The page is answered in the encoding that is accepted.'),
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
      headers: z.object({
        'Accept-Encoding': parameter(z.string().optional(), 'With `gzip` the page is sent compressed.', 'gzip'),
        'If-None-Match': parameter(z.string().optional(), 'The ETag of the page that the caller has.', '"a-tag"'),
      }),
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
      handle: async ({ headers }) =>
        pageAnswer(await page(), {
          acceptEncoding: headers['Accept-Encoding'],
          ifNoneMatch: headers['If-None-Match'],
        }),
    }),
  });

/** The answer with the page, compressed where the caller takes that, or with the news that the caller has it already. */
const pageAnswer = (
  page: DashboardPage,
  { acceptEncoding, ifNoneMatch }: Readonly<Record<'acceptEncoding' | 'ifNoneMatch', string | undefined>>,
) => {
  const isZipped = acceptsGzip(acceptEncoding);
  const tag = isZipped ? gzippedTag(page.etag) : page.etag;
  const headers = {
    'Content-Security-Policy': page.contentSecurityPolicy,
    'Cache-Control': 'no-cache' as const,
    ETag: tag,
    Vary: 'Accept-Encoding',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
  };
  if (isKnown(ifNoneMatch, tag)) return { status: 304 as const, headers };
  return {
    status: 200 as const,
    headers: {
      ...headers,
      'content-type': 'text/html; charset=utf-8',
      'Content-Encoding': isZipped ? 'gzip' : undefined,
    },
    body: isZipped ? page.gzipped : page.html,
  };
};
