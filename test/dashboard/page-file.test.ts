import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { expect, inject, it } from 'vitest';

import { DASHBOARD_FILE, DASHBOARD_GZIP_FILE, dashboardPage } from '../../src/dashboard/page-file.ts';
import { ownDirectory } from '../harness/own-directory.ts';

const BUILT = dirname(inject('bundles').release);

const contentOf = (html: string, element: 'script' | 'style'): string => {
  const [[, content = ''] = [], ...others] = html.matchAll(new RegExp(`<${element}>([^]*?)</${element}>`, 'g'));
  expect(others).toEqual([]);
  return content;
};

it('the page is one file of at most 50 KB over the wire, whose policy allows exactly its script and its style', async () => {
  const { contentSecurityPolicy, gzipped, html: bytes } = await dashboardPage(BUILT)();
  const html = gunzipSync(gzipped).toString('utf8');
  expect([html, gzipped.byteLength <= 50 * 1_024]).toEqual([Buffer.from(bytes).toString('utf8'), true]);
  const hashOf = (element: 'script' | 'style') =>
    createHash('sha256').update(contentOf(html, element)).digest('base64');
  expect(contentSecurityPolicy.split('; ')).toEqual([
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
  expect(contentOf(html, 'style')).toContain('{');
  const [, notices = ''] = /^<!doctype html>\n<!-- Content-Security-Policy: .+ -->\n<!--([^]*?)-->/.exec(html) ?? [];
  const names = [...notices.matchAll(/^(\S+) is in this page\. Its licence:$/gm)].map(([, name]) => name);
  expect(names).toEqual(expect.arrayContaining(['p-limit', 'preact', 'valibot']));
  expect(notices.match(/Permission is hereby granted/g)).toHaveLength(names.length);
});

it('the page is read once, at the first request, and again if it was missing or had no policy', async () => {
  const directory = ownDirectory();
  const [file, read] = [join(directory, DASHBOARD_FILE), dashboardPage(directory)];
  await expect(read()).rejects.toThrow(/ENOENT/);
  await writeFile(join(directory, DASHBOARD_GZIP_FILE), '');
  await writeFile(file, '<!doctype html>\n<title>A page</title>\n');
  await expect(read()).rejects.toThrow(/holds no policy/);
  await writeFile(file, await readFile(join(BUILT, DASHBOARD_FILE)));
  const first = await read();
  await rm(file);
  expect(await read()).toBe(first);
});
