import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';

import {
  DASHBOARD_FILE,
  DASHBOARD_GZIP_FILE,
  type DashboardPage,
  dashboardPage,
} from '../../src/dashboard/page-file.ts';

let html: string;
let page: DashboardPage;

beforeAll(async () => {
  const directory = dirname(inject('bundles').release);
  html = await readFile(join(directory, DASHBOARD_FILE), 'utf8');
  page = await dashboardPage(directory)();
});

const hashOf = (element: 'script' | 'style'): string => {
  const [[, content = ''] = [], ...others] = html.matchAll(new RegExp(`<${element}>([^]*?)</${element}>`, 'g'));
  expect(others).toEqual([]);
  return createHash('sha256').update(content).digest('base64');
};

describe('the built page', () => {
  it('has one script and one style, a policy that allows exactly these, and asks nothing of anybody else', () => {
    expect(page.contentSecurityPolicy.split('; ')).toEqual([
      "default-src 'none'",
      `script-src 'sha256-${hashOf('script')}'`,
      `style-src 'sha256-${hashOf('style')}'`,
      "connect-src 'self'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
    const style = /<style>([^]*?)<\/style>/.exec(html)?.[1] ?? '';
    expect(style).toContain('{');
    expect(/\burl\(\s*['"]?(?!data:)[a-z]/i.test(style)).toBe(false);
  });

  it('is at most 45 KB over the wire, with the licences of the packages that are in it', () => {
    expect(page.gzipped.byteLength).toBeLessThanOrEqual(45 * 1_024);
    expect(gunzipSync(page.gzipped).equals(page.html)).toBe(true);
    const [, notices = ''] = /^<!doctype html>\n<!-- Content-Security-Policy: .+ -->\n<!--([^]*?)-->/.exec(html) ?? [];
    const names = [...notices.matchAll(/^(\S+) is in this page\. Its licence:$/gm)].map(([, name]) => name);
    expect(names).toEqual(expect.arrayContaining(['preact', 'zod']));
    expect(notices.match(/Permission is hereby granted/g)).toHaveLength(names.length);
  });
});

it('the page is read once, when it is first asked for, and again where it was missing or has no policy', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'dashboard-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const [file, read] = [join(directory, DASHBOARD_FILE), dashboardPage(directory)];
  await expect(read()).rejects.toThrow(/ENOENT/);
  await writeFile(join(directory, DASHBOARD_GZIP_FILE), page.gzipped);
  await writeFile(file, '<!doctype html>\n<title>A page</title>\n');
  await expect(read()).rejects.toThrow(/holds no policy/);
  await writeFile(file, html);
  const first = await read();
  await rm(file);
  expect(await read()).toBe(first);
});
