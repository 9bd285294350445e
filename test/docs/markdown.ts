import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

import GithubSlugger from 'github-slugger';
import { marked, type Token } from 'marked';

/** The folder of the repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What the tests look at in a Markdown file. */
export interface MarkdownFile {
  readonly text: string;
  /** The targets of all links and pictures, of Markdown and of HTML, as they are written. */
  readonly links: readonly string[];
  /** The anchors that GitHub gives to its headings. */
  readonly anchors: ReadonlySet<string>;
  /** The rows of its tables without their headers, by the heading above; plain text without marks for code or emphasis. */
  readonly tables: ReadonlyMap<string, readonly (readonly string[])[]>;
  /** The content of all `code` inside text; no code blocks. */
  readonly code: readonly string[];
}

const NOT_OURS = new Set(['node_modules', '.git', 'dist', 'package', 'coverage']);

/** The paths of all Markdown files of the repository, relative to {@link ROOT}. */
export const markdownPaths = (): readonly string[] =>
  globSync('**/*.md', { cwd: ROOT, exclude: (path) => NOT_OURS.has(basename(path)) })
    .map((path) => path.replaceAll('\\', '/'))
    .toSorted();

/** The text of a file of the repository. */
export const readText = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

/** A Markdown file of the repository. */
export const readMarkdown = (path: string): MarkdownFile => parseMarkdown(readText(path));

/** Markdown text → what the tests look at in it. */
export const parseMarkdown = (text: string): MarkdownFile => {
  const slugger = new GithubSlugger();
  const links: string[] = [];
  const anchors = new Set<string>();
  const tables = new Map<string, readonly (readonly string[])[]>();
  const code: string[] = [];
  let heading = '';
  // It answers promises only where the callback does.
  void marked.walkTokens(marked.lexer(text), (token) => {
    switch (token.type) {
      case 'heading':
        heading = plainText(token);
        anchors.add(slugger.slug(heading));
        break;
      case 'link':
      case 'image':
        if ('href' in token && typeof token.href === 'string') links.push(token.href);
        break;
      case 'html':
        for (const [, target = ''] of token.raw.matchAll(/\b(?:href|src)="([^"]*)"/g)) links.push(target);
        break;
      case 'codespan':
        code.push(plainText(token));
        break;
      case 'table':
        if (isTable(token) && !tables.has(heading))
          tables.set(
            heading,
            token.rows.map((row) => row.map(cellText)),
          );
        break;
    }
  });
  return { text, links, anchors, tables, code };
};

interface Cell {
  readonly tokens: readonly Token[];
}

const isTable = (token: Token): token is Token & { readonly rows: readonly (readonly Cell[])[] } => 'rows' in token;

const cellText = (cell: Cell): string => cell.tokens.map(plainText).join('');

const plainText = (token: Token): string => {
  if (token.type === 'html') return '';
  if ('tokens' in token && token.tokens !== undefined) return token.tokens.map(plainText).join('');
  return 'text' in token && typeof token.text === 'string' ? token.text : '';
};

/**
 * The table below a heading of a Markdown file of the repository.
 *
 * @throws {Error} where the file has no such table
 */
export const tableOf = (path: string, heading: string): readonly (readonly string[])[] => {
  const rows = readMarkdown(path).tables.get(heading);
  if (rows === undefined) throw new Error(`${path} has no table below the heading ${heading}`);
  return rows;
};

/** The code blocks of a Markdown file of the repository, in one language. */
export const codeBlocksOf = (path: string, language: string): readonly string[] =>
  marked
    .lexer(readText(path))
    .flatMap((token) => (token.type === 'code' && token['lang'] === language ? [String(token['text'])] : []));
