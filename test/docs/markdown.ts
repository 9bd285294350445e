import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

import GithubSlugger from 'github-slugger';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import { unified } from 'unified';
import { visit } from 'unist-util-visit';

/** The folder of the repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The parts of a Markdown file that the tests look at. */
export interface MarkdownFile {
  readonly text: string;
  /** The targets of all links and pictures, of Markdown and of HTML, unresolved. */
  readonly links: readonly string[];
  /** The anchors that GitHub gives to its headings. */
  readonly anchors: ReadonlySet<string>;
  /** The rows of the first table below a heading, without the table's head; plain text. */
  readonly tables: ReadonlyMap<string, readonly (readonly string[])[]>;
  /** Every `code` in a text. */
  readonly code: readonly string[];
  /** The code blocks, with their language. */
  readonly blocks: readonly { readonly language: string; readonly text: string }[];
}

const NOT_OURS = new Set(['node_modules', '.git', 'dist', 'package', 'coverage']);

/** The paths of all Markdown files of the repository, relative to {@link ROOT}. */
export const markdownPaths = (): readonly string[] =>
  globSync('**/*.md', { cwd: ROOT, exclude: (path) => NOT_OURS.has(basename(path)) })
    .map((path) => path.replaceAll('\\', '/'))
    .toSorted();

/** The text of a file of the repository. */
export const readText = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

const markdown = unified().use(remarkParse).use(remarkGfm);
type Node = ReturnType<typeof markdown.parse>['children'][number];

/** The text of a node, without marks of Markdown and without HTML. */
const textOf = (node: Node): string => {
  let text = '';
  visit(node, (part) => {
    if (part.type === 'text' || part.type === 'inlineCode') text += part.value;
  });
  return text;
};

const parsed = new Map<string, MarkdownFile>();

/** A Markdown file of the repository, parsed once. */
export const readMarkdown = (path: string): MarkdownFile => {
  const file = parsed.get(path) ?? parseMarkdown(readText(path));
  parsed.set(path, file);
  return file;
};

const parseMarkdown = (text: string): MarkdownFile => {
  const slugger = new GithubSlugger();
  const [links, code]: [string[], string[]] = [[], []];
  const blocks: { language: string; text: string }[] = [];
  const anchors = new Set<string>();
  const tables = new Map<string, readonly (readonly string[])[]>();
  let heading = '';
  visit(markdown.parse(text), (node) => {
    if (node.type === 'heading') {
      heading = textOf(node);
      anchors.add(slugger.slug(heading));
    } else if (node.type === 'link' || node.type === 'image') links.push(node.url);
    else if (node.type === 'html') {
      for (const [, target = ''] of node.value.matchAll(/\b(?:href|src)="([^"]*)"/g)) links.push(target);
    } else if (node.type === 'inlineCode') code.push(node.value);
    else if (node.type === 'code') blocks.push({ language: node.lang ?? '', text: node.value });
    else if (node.type === 'table' && !tables.has(heading)) {
      tables.set(
        heading,
        node.children.slice(1).map((row) => row.children.map(textOf)),
      );
    }
  });
  return { text, links, anchors, tables, code, blocks };
};

/**
 * The table below a heading of a Markdown file of the repository.
 *
 * @throws {Error} if the file has no such table
 */
export const tableOf = (path: string, heading: string): readonly (readonly string[])[] => {
  const rows = readMarkdown(path).tables.get(heading);
  if (rows === undefined) throw new Error(`${path} has no table below the heading ${heading}`);
  return rows;
};

/** The code blocks of a Markdown file of the repository, in one language. */
export const codeBlocksOf = (path: string, language: string): readonly string[] =>
  readMarkdown(path).blocks.flatMap((block) => (block.language === language ? [block.text] : []));
