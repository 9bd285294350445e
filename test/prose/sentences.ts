import { Markdown } from '../docs/markdown.ts';

/** A sentence of a file. */
export interface Sentence {
  readonly text: string;
  /** The line on which its paragraph, list item or table cell starts, from 1. */
  readonly line: number;
}

/** The sentences of a Markdown text. Headings, heads of tables and code are left out. */
export const sentencesOf = (text: string): readonly Sentence[] =>
  new Markdown(text).prose.flatMap(({ text: prose, line }) =>
    prose
      .replaceAll(/\s+/g, ' ')
      .split(/(?<=[.?!]["”)]?) (?=[A-Z\d"“(])/)
      .map((sentence) => ({ text: sentence.trim(), line })),
  );

/** A comment that starts a line: a block, or lines of `//` in a row. */
const COMMENT = /^[ \t]*(?:\/\*\*?([^]*?)\*\/|((?:\/\/[^\n]*\n[ \t]*)+))/gm;

/** The sentences of the comments in a source file of TypeScript or JavaScript. */
export const sentencesOfComments = (source: string): readonly Sentence[] =>
  [...source.matchAll(COMMENT)].flatMap(({ index, 1: block, 2: lines }) => {
    const linesBefore = source.slice(0, index).split('\n').length - 1;
    const text = (block ?? lines ?? '')
      .replaceAll(/^[ \t]*(?:\*|\/\/+) ?/gm, '')
      .replaceAll(/\{@link ([^}]*)\}/g, '`$1`')
      .replaceAll(/^ *@(\w+)(?: \{[^}]*\})?/gm, '- `$1`');
    return sentencesOf(text).map((sentence) => ({ text: sentence.text, line: linesBefore + sentence.line }));
  });

/** The sentences of the comments and the descriptions in a Bicep file. */
export const sentencesOfBicep = (source: string): readonly Sentence[] =>
  sentencesOfComments(source.replaceAll(/^([ \t]*)(?:@description\(|description: )'(.*)'\)?$/gm, '$1// $2'));

/** The sentences of the comments in a file of a language whose comments begin with `#`: a shell, YAML, Python. */
export const sentencesOfHashComments = (source: string): readonly Sentence[] =>
  sentencesOfComments(source.replaceAll(/^([ \t]*)#+(?!!)/gm, '$1//'));
