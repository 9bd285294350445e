import { HttpRequest, HttpResponse, InvocationContext } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import type { DashboardPage } from '../../src/dashboard/page-file.ts';
import { dashboard } from '../../src/http/dashboard.ts';

const page: DashboardPage = {
  contentSecurityPolicy: "default-src 'none'",
  etag: '"page"',
  html: Buffer.from('<!doctype html>'),
  gzipped: Buffer.from([31, 139, 8, 255]),
};

/** Not `ask`: the compressed page of this test is no gzip. */
const get = async (headers: Readonly<Record<string, string>> = {}, read = async () => Promise.resolve(page)) => {
  const request = new HttpRequest({ method: 'GET', url: 'http://localhost/api/dashboard?date=2026-11-21', headers });
  const context = new InvocationContext({ functionName: 'tested', logHandler: () => undefined });
  const result = await dashboard(read).handler(request, context);
  const response = new HttpResponse(z.record(z.string(), z.unknown()).parse(result));
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    bytes: Buffer.from(await response.arrayBuffer()),
  };
};

describe('GET /api/dashboard', () => {
  it('answers the page with its policy; it is asked for again every time', async () => {
    expect(await get()).toEqual({
      status: 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': "default-src 'none'",
        'cache-control': 'no-cache',
        etag: '"page"',
        vary: 'Accept-Encoding',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
      },
      bytes: page.html,
    });
  });

  it('compresses it for whoever accepts that, and has a tag for each form', async () => {
    const { headers, bytes } = await get({ 'accept-encoding': 'br, gzip' });
    expect([headers['content-encoding'], headers['etag'], bytes]).toEqual(['gzip', '"page-gzip"', page.gzipped]);
  });

  it.each([
    ['"page"', '', 304],
    ['"page-gzip"', 'gzip', 304],
    ['"page"', 'gzip', 200],
    ['"page-gzip"', '', 200],
  ])('has %s for whoever accepts %j: %i', async (tag, accepted, expected) => {
    const { status, headers, bytes } = await get({ 'if-none-match': tag, 'accept-encoding': accepted });
    expect([status, bytes.length > 0]).toEqual([expected, expected === 200]);
    expect(headers['content-security-policy']).toBe("default-src 'none'");
  });

  it('is a 500 that says nothing of the disk where the package has no page', async () => {
    const { status, bytes } = await get({}, async () => Promise.reject(new Error('ENOENT: /home/site')));
    expect(status).toBe(500);
    expect(bytes.toString('utf8')).not.toContain('ENOENT');
  });
});
