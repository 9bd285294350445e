import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import { unified } from 'unified';
import { CONTINUE, SKIP, visit } from 'unist-util-visit';

/** A sentence of a file. */
export interface Sentence {
  /** Without marks of Markdown; each `code` is one word. */
  readonly text: string;
  /** The line on which its paragraph, list item or table cell starts, from 1. */
  readonly line: number;
}

/** Stands for a piece of code, which has no grammar. */
const CODE = 'CODE';

const markdown = unified().use(remarkParse).use(remarkGfm);

/**
 * The sentences of a Markdown text: paragraphs, list items and table cells. Headings, heads of tables and code are left out.
 *
 * @param firstLine the line of the file on which the text starts
 */
export const sentencesOf = (text: string, firstLine = 1): readonly Sentence[] => {
  const found: Sentence[] = [];
  visit(markdown.parse(text), (block, index, parent) => {
    if (block.type === 'heading') return SKIP;
    if (block.type === 'tableRow' && index === 0 && parent?.type === 'table') return SKIP;
    if (block.type !== 'paragraph' && block.type !== 'tableCell') return CONTINUE;
    let prose = '';
    visit(block, (node) => {
      if (node.type === 'text') prose += node.value;
      else if (node.type === 'inlineCode') prose += CODE;
      else if (node.type === 'break') prose += ' ';
    });
    const line = firstLine - 1 + (block.position?.start.line ?? 1);
    const sentences = prose.split(/(?<=[.?!]["”)]?)\s+(?=[A-Z\d"“(])/);
    found.push(...sentences.map((sentence) => ({ text: sentence.trim().replaceAll(/\s+/g, ' '), line })));
    return SKIP;
  });
  return found;
};

/** A comment that starts a line: a block, or lines of `//` in a row. */
const COMMENT = /^[ \t]*(?:\/\*\*?([^]*?)\*\/|((?:\/\/[^\n]*\n[ \t]*)+))/gm;

/** The sentences of the comments in a source file of TypeScript or JavaScript. */
export const sentencesOfComments = (source: string): readonly Sentence[] =>
  [...source.matchAll(COMMENT)].flatMap(({ index, 1: block, 2: lines }) => {
    const text = (block ?? lines ?? '')
      .replaceAll(/^[ \t]*(?:\*|\/\/+) ?/gm, '')
      .replaceAll(/\{@link ([^}]*)\}/g, '`$1`')
      .replaceAll(/^ *@(\w+)(?: \{[^}]*\})?/gm, '- `$1`');
    return sentencesOf(text, source.slice(0, index).split('\n').length);
  });
