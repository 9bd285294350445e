import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

/** A frame of a stack: what comes before its place, the file, the line, the column, and what comes after. */
const FRAME = /^(\s+at .*?)((?:file:\/\/)?(?:[A-Za-z]:)?[^():]+\.cjs):(\d+):(\d+)(\)?)$/;

/** Undefined: the file has no map. A map is some megabytes, of which a process needs one, and most processes none. */
const maps = new Map<string, SourceMap | undefined>();

/**
 * The frames of a stack, innermost first. One in a bundle that has its source map beside it names the source: `at readSettings
 * (src/settings.ts:41:9)`. The map is read when the first error needs it, so that a cold start does not pay for it; Node's own
 * `--enable-source-maps` reads it at every start.
 *
 * @param stack as in `Error.stack`
 * @param most frames at most
 */
export const sourceFrames = (stack: string, most: number): readonly string[] =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, most)
    .map((line) => inSource(line).trim());

const inSource = (line: string): string => {
  const [, before = '', file = '', row = '', column = '', after = ''] = FRAME.exec(line) ?? [];
  if (file === '') return line;
  const entry = mapOf(file)?.findEntry(Number(row) - 1, Number(column) - 1);
  if (entry === undefined || !('originalSource' in entry)) return line;
  // Sources are named from where the bundle was made: `../../src/settings.ts`, `../../../home/…/src/settings.ts`.
  const source = entry.originalSource.replace(/^.*?(?=\b(?:src|test|node_modules)\/)/, '');
  return `${before}${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}${after}`;
};

const mapOf = (file: string): SourceMap | undefined => {
  if (!maps.has(file)) maps.set(file, readMap(file));
  return maps.get(file);
};

const readMap = (file: string): SourceMap | undefined => {
  try {
    const payload: unknown = JSON.parse(readFileSync(`${file}.map`, 'utf8'));
    return isPayload(payload) ? new SourceMap(payload) : undefined;
  } catch {
    // Telling where an error was must not fail where the map is missing or damaged: the place in the bundle is told then.
    return undefined;
  }
};

type Payload = ConstructorParameters<typeof SourceMap>[0];

const isPayload = (value: unknown): value is Payload =>
  typeof value === 'object' && value !== null && 'mappings' in value && typeof value.mappings === 'string';
