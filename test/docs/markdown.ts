import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import GithubSlugger from 'github-slugger';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import { unified } from 'unified';
import { visit } from 'unist-util-visit';

/** The folder of the repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The paths of the repository's files that fit a pattern, relative to {@link ROOT}. */
export const pathsOf = (pattern: string): readonly string[] =>
  globSync(pattern, { cwd: ROOT, exclude: ['**/node_modules', '.git', 'dist', 'package', 'coverage'] })
    .map((path) => path.replaceAll('\\', '/'))
    .toSorted();

/** The text of a file of the repository. */
export const readText = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

/** The texts of all source files of the service. */
export const sourceTexts = (): string => pathsOf('src/**/*.ts').map(readText).join('\n');

/** The parts of a Markdown text that the tests and the check of the wording read. */
export class Markdown {
  /** The targets of all links and pictures, of Markdown and of HTML, unresolved. */
  readonly links: string[] = [];
  /** The anchors that GitHub gives to its headings. */
  readonly anchors = new Set<string>();
  /** The rows of the table below a heading, without the table's head; plain text. */
  readonly tables = new Map<string, readonly (readonly string[])[]>();
  /** Every `code` in a text. */
  readonly code: string[] = [];
  readonly blocks: { readonly language: string; readonly text: string }[] = [];
  /** Paragraphs, list items and cells below the head of a table; each `code` is the word CODE. Lines count from 1. */
  readonly prose: { readonly text: string; readonly line: number }[] = [];

  constructor(text: string) {
    const slugger = new GithubSlugger();
    let heading = '';
    const addProse = (node: Node): void => {
      this.prose.push({ text: textOf(node, 'CODE'), line: node.position?.start.line ?? 1 });
    };
    visit(markdown.parse(text), (node) => {
      if (node.type === 'heading') {
        heading = textOf(node);
        this.anchors.add(slugger.slug(heading));
      } else if (node.type === 'paragraph') addProse(node);
      else if (node.type === 'link' || node.type === 'image') this.links.push(node.url);
      else if (node.type === 'inlineCode') this.code.push(node.value);
      else if (node.type === 'code') this.blocks.push({ language: node.lang ?? '', text: node.value });
      else if (node.type === 'html') {
        for (const [, target = ''] of node.value.matchAll(/\b(?:href|src)="([^"]*)"/g)) this.links.push(target);
      } else if (node.type === 'table') {
        const rows = node.children.slice(1).map((row) => row.children);
        rows.flat().forEach(addProse);
        const texts = rows.map((cells) => cells.map((cell) => textOf(cell)));
        this.tables.set(heading, texts);
      }
    });
  }
}

const markdown = unified().use(remarkParse).use(remarkGfm);
type Node = ReturnType<typeof markdown.parse>['children'][number];

/** The text of a node, without the syntax of Markdown and without HTML; `code` stands for each piece of code. */
const textOf = (node: Node, code?: string): string => {
  let text = '';
  visit(node, (part) => {
    if (part.type === 'text') text += part.value;
    else if (part.type === 'inlineCode') text += code ?? part.value;
    else if (part.type === 'break') text += ' ';
  });
  return text;
};

const parsed = new Map<string, Markdown>();

/** A Markdown file of the repository, parsed once. */
export const readMarkdown = (path: string): Markdown => {
  const file = parsed.get(path) ?? new Markdown(readText(path));
  parsed.set(path, file);
  return file;
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
