import { gzipSync } from 'node:zlib';

import { expect, it } from 'vitest';

import { dashboard } from '../../src/http/dashboard.ts';
import { askRoute } from './asking.ts';

const HTML = '<!doctype html>';
const CSP = "default-src 'none'";
const page = { contentSecurityPolicy: CSP, etag: '"page"', html: Buffer.from(HTML), gzipped: gzipSync(HTML) };
const route = dashboard(async () => Promise.resolve(page));

it.each([
  [{}, 200, HTML, '"page"', { 'content-type': 'text/html; charset=utf-8' }],
  [{ 'accept-encoding': 'br, gzip', 'if-none-match': '"page-gzip"' }, 304, undefined, '"page-gzip"', {}],
])('GET /api/dashboard with %j answers %i, with the policy of the page', async (asked, status, body, etag, more) => {
  const answer = await askRoute(route, '/api/dashboard?date=2026-11-21', { headers: asked });
  expect([answer.status, answer.body, Object.fromEntries(answer.headers)]).toEqual([
    status,
    body,
    {
      'content-security-policy': CSP,
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-cache',
      vary: 'Accept-Encoding',
      'x-request-id': 'unknown',
      etag,
      ...more,
    },
  ]);
});
