import { gzipSync } from 'node:zlib';

import { expect, it } from 'vitest';

import type { DashboardPage } from '../../src/dashboard/page-file.ts';
import { dashboard } from '../../src/http/dashboard.ts';
import { ask, problemOf } from './asking.ts';

const HTML = '<!doctype html>';
const page: DashboardPage = {
  contentSecurityPolicy: "default-src 'none'",
  etag: '"page"',
  html: Buffer.from(HTML),
  gzipped: gzipSync(HTML),
};

const get = async (headers: Readonly<Record<string, string>> = {}, read = async () => Promise.resolve(page)) =>
  ask(dashboard(read).handler, '/api/dashboard?date=2026-11-21', { headers });

it('GET /api/dashboard answers the page with its policy; it is asked for again every time', async () => {
  const { status, headers, body } = await get();
  expect([status, body, Object.fromEntries(headers)]).toEqual([
    200,
    HTML,
    {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'",
      'cache-control': 'no-cache',
      etag: '"page"',
      vary: 'Accept-Encoding',
      'x-request-id': 'unknown',
      'cross-origin-opener-policy': 'same-origin',
    },
  ]);
});

it('tells a caller who has it already, with the policy', async () => {
  const { status, headers, body } = await get({ 'accept-encoding': 'br, gzip', 'if-none-match': '"page-gzip"' });
  expect([status, body, headers.get('content-security-policy')]).toEqual([304, undefined, "default-src 'none'"]);
});

it('is a 500 that says nothing of the disk where the package has no page', async () => {
  const answer = await get({}, async () => Promise.reject(new Error('ENOENT: /home/site')));
  expect(problemOf(answer)).toEqual({ status: 500, detail: 'The service failed unexpectedly. The log has the error.' });
});
