import { once } from 'node:events';
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { finished } from 'node:stream/promises';

import { moveOnto } from '../replace-file.ts';
import { type ArchivedRow, lineOf, rowOfLine } from './archived-row.ts';

/** Rows in a file, a line each, in the order of their keys. */
export async function* rowsIn(path: string): AsyncGenerator<ArchivedRow> {
  if (!(await exists(path))) return;
  const input = createReadStream(path);
  try {
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      const row = rowOfLine(line);
      // The writer was killed in the middle of this line.
      if (row === undefined) return;
      yield row;
    }
  } finally {
    input.destroy();
  }
}

/** Writes rows into a file, a line each. */
export class RowWriter {
  readonly #stream: WriteStream;
  rows = 0;

  constructor(path: string) {
    this.#stream = createWriteStream(path);
  }

  async write(row: ArchivedRow): Promise<void> {
    this.rows += 1;
    if (!this.#stream.write(`${lineOf(row)}\n`)) await once(this.#stream, 'drain');
  }

  async end(): Promise<void> {
    this.#stream.end();
    await finished(this.#stream);
  }
}

/**
 * What earlier runs have read of a partition is in two files: `known`, and `next`, which a pass was writing when it was killed. Each
 * holds rows as they once were, so that either may be built on: the longer one is kept as `known`.
 */
export const keepLonger = async (known: string, next: string): Promise<void> => {
  if ((await sizeOf(next)) > (await sizeOf(known))) await moveOnto(next, known);
};

const sizeOf = async (path: string): Promise<number> => ((await exists(path)) ? (await stat(path)).size : 0);

export const exists = async (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
