import { existsSync } from 'node:fs';
import { join, normalize } from 'node:path/posix';

import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { type MarkdownFile, markdownPaths, readMarkdown, readText, ROOT } from './markdown.ts';

const paths = markdownPaths();
const scripts = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readText('package.json'))).scripts;

/** The fault of a link of a file; undefined if its target exists, or is outside the repository. */
const problemOf = (path: string, link: string): string | undefined => {
  if (/^[a-z][a-z+.-]*:/i.test(link)) return undefined;
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? path : normalize(join(path, '..', decodeURIComponent(file)));
  if (target.startsWith('..') || target.startsWith('/')) return `${link} leaves the repository`;
  if (!existsSync(`${ROOT}${target}`)) return `${link}: there is no ${target}`;
  if (anchor === undefined) return undefined;
  if (!target.endsWith('.md')) return `${link}: ${target} has no anchors`;
  return readMarkdown(target).anchors.has(anchor) ? undefined : `${link}: ${target} has no heading #${anchor}`;
};

const brokenLinks = (path: string, { links }: MarkdownFile): readonly string[] =>
  links.flatMap((link) => problemOf(path, link) ?? []);

/** The scripts that a text tells its reader to run. */
const scriptsNamed = (text: string): readonly string[] =>
  [...text.matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g)].flatMap(
    ([, script, shorthand]) => script ?? shorthand ?? [],
  );

/** `code` that is the path of a file or a folder of the repository: no placeholders, no patterns. */
const isPath = (code: string): boolean => /^(?:src|infra|test|\.ci)\/[\w./-]*$/.test(code);

describe.each(paths)('%s', (path) => {
  const file = readMarkdown(path);

  it('links to files and headings that exist, and names npm scripts and paths of the repository that exist', () => {
    expect(brokenLinks(path, file)).toEqual([]);
    expect(scriptsNamed(file.text).filter((script) => !Object.hasOwn(scripts, script))).toEqual([]);
    expect(file.code.filter((code) => isPath(code) && !existsSync(`${ROOT}${code}`))).toEqual([]);
  });
});

it('every README can be reached from the first page', () => {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const link of readMarkdown(path).links) {
      const [file = ''] = link.split('#');
      const target = normalize(join(path, '..', file));
      if (target.endsWith('.md') && existsSync(`${ROOT}${target}`)) visit(target);
    }
  };
  visit('README.md');
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !reached.has(path))).toEqual([]);
});
