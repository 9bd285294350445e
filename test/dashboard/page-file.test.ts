import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { buildDashboard } from '../../infra/dashboard.ts';
import { DASHBOARD_FILE, type DashboardPage, dashboardPage } from '../../src/dashboard/page-file.ts';

let directory: string;
let html: string;
let page: DashboardPage;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'dashboard-'));
  await buildDashboard(directory);
  html = await readFile(join(directory, DASHBOARD_FILE), 'utf8');
  page = await dashboardPage(directory)();
});

afterAll(() => rm(directory, { recursive: true, force: true }));

const hashOf = (element: 'script' | 'style'): string => {
  const contents = [...html.matchAll(new RegExp(`<${element}>([^]*?)</${element}>`, 'g'))].map(
    ([, content]) => content,
  );
  expect(contents).toHaveLength(1);
  return createHash('sha256')
    .update(contents[0] ?? '')
    .digest('base64');
};

describe('the built page', () => {
  it('has one script and one style, and a policy that allows exactly these', () => {
    const directives = new Map(
      page.contentSecurityPolicy.split('; ').map((directive) => {
        const [name = '', ...sources] = directive.split(' ');
        return [name, sources];
      }),
    );

    expect(Object.fromEntries(directives)).toEqual({
      'default-src': ["'none'"],
      'script-src': [`'sha256-${hashOf('script')}'`],
      'style-src': [`'sha256-${hashOf('style')}'`],
      'connect-src': ["'self'"],
      'img-src': ['data:'],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
      'frame-ancestors': ["'none'"],
      'require-trusted-types-for': ["'script'"],
      'trusted-types': ["'none'"],
    });
  });

  it('asks nothing of anybody else', () => {
    const markup = html.replace(/<!--[^]*?-->|<(script|style)>[^]*?<\/\1>/g, '');

    expect(/\s(?:style|on\w+)=/.exec(markup)).toBeNull();
    expect([...markup.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address.slice(0, 5))).toEqual([
      'data:',
    ]);
    expect(/\burl\(\s*['"]?(?!data:)[a-z]/i.test(html)).toBe(false);
  });

  it('is under 150 KB over the wire', () => {
    expect(page.gzipped.byteLength).toBeLessThan(150_000);
    expect(gunzipSync(page.gzipped).equals(page.html)).toBe(true);
  });

  it('carries the licences of the packages that are in it', () => {
    const [, notices = ''] = /^<!doctype html>\n<!-- Content-Security-Policy: .+ -->\n<!--([^]*?)-->/.exec(html) ?? [];

    for (const name of ['date-fns', 'preact', 'zod']) expect(notices.includes(`\n${name} `), name).toBe(true);
    expect(notices.match(/Permission is hereby granted/g)).toHaveLength(3);
  });
});

describe('reading the page', () => {
  it('is done once, when it is first asked for', async () => {
    const own = await mkdtemp(join(tmpdir(), 'dashboard-'));
    const read = dashboardPage(own);
    await expect(read()).rejects.toThrow(/ENOENT/);

    await buildDashboard(own);
    const first = await read();
    await rm(own, { recursive: true });

    expect(await read()).toBe(first);
  });

  it('takes no page without a policy', async () => {
    const own = await mkdtemp(join(tmpdir(), 'dashboard-'));
    await writeFile(join(own, DASHBOARD_FILE), '<!doctype html>\n<title>A page</title>\n');

    await expect(dashboardPage(own)()).rejects.toThrow(/holds no policy/);
    await rm(own, { recursive: true });
  });
});
