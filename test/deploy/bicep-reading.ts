import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A piece of Bicep text. A string holds the tokens of its interpolations; comments are left out. */
export type Token =
  | { readonly kind: 'word' | 'number' | 'mark'; readonly text: string; readonly line: number }
  | { readonly kind: 'string'; readonly text: string; readonly line: number; readonly inside: readonly Token[] };

/** What a Bicep file declares and uses, as far as its text tells. There is no Bicep compiler among npm's packages. */
export interface BicepFile {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** Parameters by name; true where there is a default. */
  readonly params: ReadonlyMap<string, boolean>;
  readonly variables: ReadonlySet<string>;
  /** Resources by symbol: `Microsoft.Web/sites@2024-04-01`. */
  readonly resources: ReadonlyMap<string, string>;
  readonly modules: ReadonlyMap<string, { readonly path: string; readonly params: readonly string[] }>;
  /** Outputs by name, with the text of their value. */
  readonly outputs: ReadonlyMap<string, string>;
  /** Names bound by `for … in` and `… =>`. */
  readonly bound: ReadonlySet<string>;
  /** Every use of a declared name, with what follows it: `storage.outputs.name`. */
  readonly references: readonly { readonly path: readonly string[]; readonly line: number }[];
  readonly calledFunctions: ReadonlySet<string>;
}

const OPENING = new Map([
  [')', '('],
  [']', '['],
  ['}', '{'],
]);

/** Text → tokens. Throws where a string or a comment does not end, or a bracket has no partner. */
export const tokensOf = (text: string): Token[] => {
  let at = 0;
  let line = 1;

  const string = (): Token => {
    const start = line;
    const inside: Token[] = [];
    const from = ++at;
    while (text[at] !== "'") {
      if (at >= text.length || text[at] === '\n') throw new Error(`line ${start}: a string does not end`);
      if (text[at] === '\\') at += 2;
      else if (text.startsWith('${', at)) {
        at += 2;
        inside.push(...until('}'));
      } else at += 1;
    }
    return { kind: 'string', text: text.slice(from, at++), line: start, inside };
  };

  const multiLineString = (): Token => {
    const start = line;
    const end = text.indexOf("'''", at + 3);
    if (end === -1) throw new Error(`line ${start}: a string does not end`);
    const content = text.slice(at + 3, end);
    line += content.split('\n').length - 1;
    at = end + 3;
    return { kind: 'string', text: content, line: start, inside: [] };
  };

  const until = (end: string | undefined): Token[] => {
    const tokens: Token[] = [];
    const open: string[] = [];
    while (at < text.length) {
      const char = text[at] ?? '';
      if (char === end && open.length === 0) {
        at += 1;
        return tokens;
      }
      if (char === '\n') line += 1;
      const word = /^[A-Za-z_]\w*/.exec(text.slice(at, at + 100))?.[0];
      const number = /^\d+/.exec(text.slice(at, at + 20))?.[0];
      if (text.startsWith('//', at)) at = text.indexOf('\n', at);
      else if (text.startsWith("'''", at)) tokens.push(multiLineString());
      else if (char === "'") tokens.push(string());
      else if (word !== undefined) {
        tokens.push({ kind: 'word', text: word, line });
        at += word.length;
      } else if (number !== undefined) {
        tokens.push({ kind: 'number', text: number, line });
        at += number.length;
      } else {
        if ('([{'.includes(char)) open.push(char);
        const partner = OPENING.get(char);
        if (partner !== undefined && open.pop() !== partner) throw new Error(`line ${line}: ${char} has no partner`);
        if (/\S/.test(char)) tokens.push({ kind: 'mark', text: char, line });
        at += 1;
      }
    }
    if (end !== undefined || open.length > 0) throw new Error(`line ${line}: ${open.at(-1) ?? '${'} is never closed`);
    return tokens;
  };

  return until(undefined);
};

const KEYWORDS = new Set('targetScope param var resource module output existing if for in true false null'.split(' '));
const TYPES = new Set(['string', 'int', 'bool', 'object', 'array']);

/** Bicep text → what it declares and uses. */
export const readBicep = (text: string): BicepFile => {
  const tokens = tokensOf(text);
  const params = new Map<string, boolean>();
  const variables = new Set<string>();
  const resources = new Map<string, string>();
  const modules = new Map<string, { path: string; params: string[] }>();
  const outputs = new Map<string, string>();
  const bound = new Set<string>();

  const textAt = (index: number): string => tokens[index]?.text ?? '';
  tokens.forEach((token, index) => {
    const name = textAt(index + 1);
    if (token.kind !== 'word') return;
    if (token.text === 'param') params.set(name, textAt(index + 3) === '=');
    if (token.text === 'var') variables.add(name);
    if (token.text === 'resource') resources.set(name, textAt(index + 2));
    if (token.text === 'module')
      modules.set(name, { path: textAt(index + 2), params: paramsGiven(tokens.slice(index)) });
    if (token.text === 'output') outputs.set(name, text.split('\n')[token.line - 1]?.split('=')[1]?.trim() ?? '');
    if (token.text === 'for') bound.add(name);
    if (name === '=' && textAt(index + 2) === '>') bound.add(token.text);
  });

  const references: { path: string[]; line: number }[] = [];
  const calledFunctions = new Set<string>();
  const read = (list: readonly Token[]): void => {
    list.forEach((token, index) => {
      if (token.kind === 'string') read(token.inside);
      if (token.kind !== 'word' || KEYWORDS.has(token.text)) return;
      const before = list[index - 1]?.text;
      const after = list[index + 1]?.text;
      const isDeclared = ['param', 'var', 'resource', 'module', 'output'].includes(before ?? '');
      const isType = TYPES.has(token.text) && ['param', 'output'].includes(list[index - 2]?.text ?? '');
      const isKey = after === ':' && before !== '?' && before !== 'in';
      if (before === '@' || before === '.' || isDeclared || isType || isKey) return;
      if (after === '(') calledFunctions.add(token.text);
      else references.push({ path: pathFrom(list, index), line: token.line });
    });
  };
  read(tokens);
  return { text, tokens, params, variables, resources, modules, outputs, bound, references, calledFunctions };
};

const pathFrom = (tokens: readonly Token[], index: number): string[] => {
  const path = [tokens[index]?.text ?? ''];
  for (let at = index + 1; tokens[at]?.text === '.'; at += 2) path.push(tokens[at + 1]?.text ?? '');
  return path;
};

/** The keys of the first `params: { … }` after a module's symbol. */
const paramsGiven = (tokens: readonly Token[]): string[] => {
  const keys: string[] = [];
  let depth = 0;
  let at = tokens.findIndex((token, index) => token.text === 'params' && tokens[index + 1]?.text === ':') + 2;
  for (; at < tokens.length; at += 1) {
    const text = tokens[at]?.text ?? '';
    if (tokens[at]?.kind === 'mark' && '([{'.includes(text)) depth += 1;
    if (tokens[at]?.kind === 'mark' && ')]}'.includes(text)) depth -= 1;
    if (depth === 0) break;
    if (depth === 1 && tokens[at]?.kind === 'word' && tokens[at + 1]?.text === ':') keys.push(text);
  }
  return keys;
};

/** The folder of the Bicep files, with a slash at its end. */
export const BICEP_FOLDER = new URL('../../infra/azure/', import.meta.url);

/** All Bicep files of the project by their path below {@link BICEP_FOLDER}. */
export const bicepFiles = (): ReadonlyMap<string, BicepFile> =>
  new Map(
    readdirSync(fileURLToPath(BICEP_FOLDER), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.bicep'))
      .map((path) => path.replaceAll('\\', '/'))
      .map((path) => [path, readBicep(readFileSync(new URL(path, BICEP_FOLDER), 'utf8'))]),
  );
