import { existsSync } from 'node:fs';
import { join } from 'node:path/posix';

import { expect, it } from 'vitest';
import { z } from 'zod';

import { pathsOf, readMarkdown, readText, ROOT } from './markdown.ts';

const PAGES = pathsOf('**/*.md');
const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(readText('package.json')));

/** The links of a page into the repository: the file's path, and the anchor. */
const ownLinks = (page: string) =>
  readMarkdown(page).links.flatMap((link) => {
    if (/^[a-z][a-z+.-]*:/i.test(link)) return [];
    const [file = '', anchor] = link.split('#');
    return [{ link, anchor, path: file === '' ? page : join(page, '..', decodeURIComponent(file)) }];
  });

it.each(PAGES)('%s names links, headings, npm scripts and paths of the repository that exist', (page) => {
  const broken = ownLinks(page).filter(({ anchor, path }) => {
    if (/^(\.\.|\/)/.test(path) || !existsSync(ROOT + path)) return true;
    return anchor !== undefined && !(path.endsWith('.md') && readMarkdown(path).anchors.has(anchor));
  });
  expect(broken).toEqual([]);
  for (const [, script] of readText(page).matchAll(/\bnpm (?:run )?(start|test|(?<=run )[\w:-]+)\b/g)) {
    expect(Object.keys(scripts)).toContain(script);
  }
  const paths = readMarkdown(page).code.filter((code) => /^(?:src|infra|test|\.ci)\/[\w./-]*$/.test(code));
  expect(paths.filter((path) => !existsSync(ROOT + path))).toEqual([]);
});

it('every page can be reached from the first page', () => {
  const reached = new Set(['README.md']);
  for (const page of reached) {
    for (const { path } of ownLinks(page)) if (PAGES.includes(path)) reached.add(path);
  }
  expect(PAGES.length).toBeGreaterThan(10);
  expect([...reached].toSorted()).toEqual(PAGES);
});
