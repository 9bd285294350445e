import { spawnSync } from 'node:child_process';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { brokenCopy, type Change } from './broken-copy.ts';

/** The rules of rewriting a day, and the changes that break each. */
const BROKEN_RULES: Readonly<Record<string, readonly Change[]>> = {
  'a seal marks every stripe': [
    [
      'audit/rewrite.ts',
      'sealWrites({ etag: sealed.etag, attempt, stripes: 0 }, stripes, this.#attempt)',
      'sealWrites({ etag: sealed.etag, attempt, stripes: 0 }, stripes.slice(0, 0), this.#attempt)',
    ],
  ],
  'a seal needs the version of day sealed': [
    [
      'rows/stripes.ts',
      "{ kind: 'merge', rowKey: SEALED_KEY, etag: sealed.etag, properties: { [ATTEMPT]: attempt } }",
      "{ kind: 'merge', rowKey: SEALED_KEY, etag: ANY_VERSION, properties: { [ATTEMPT]: attempt } }",
    ],
  ],
  'a new stripe changes day sealed at the version that was read': [
    ['rows/stripes.ts', '    sealed?.etag,\n', "    sealed && '*',\n"],
  ],
  'the seal comes before the second pass': [
    ['audit/rewrite.ts', 'await this.#reading.map(partitions, async (partition) => this.#seal(partition));\n', ''],
    [
      'audit/rewrite.ts',
      'await this.#replay(partitions);\n      // Its',
      'await this.#replay(partitions);\n      await this.#reading.map(partitions, async (partition) => this.#seal(partition));\n      // Its',
    ],
  ],
  'shards without rows are sealed too': [
    [
      'audit/rewrite.ts',
      'const partitions = await this.#partitionsOf(row);',
      'const partitions = (await shardPartitionsIn(this.#table, this.#day)).map(({ partition }) => partition);\n      await this.#partitionsOf(row);',
    ],
  ],
  'a switch needs the own hold': [
    [
      'audit/rewrite.ts',
      'if (!this.#isMine(state)) throw new RewriteAbandoned(TAKEN_OVER);\n      const next',
      'const next',
    ],
  ],
  'numbers of attempts are never reused': [
    [
      'audit/rewrite.ts',
      'this.#attempt = Math.max(this.#attempt, state.attempt + 1);',
      'this.#attempt = (state.row?.generation ?? 0) + 1;',
    ],
  ],
  'a recorder heeds marks': [['rows/days.ts', 'if (mark === 0) return;', 'if (mark >= 0) return;']],
  'a held day takes no events': [['rows/days.ts', 'if (isLive(latest)) break;', 'if (isLive(latest)) return;']],
  'an expired hold is removed before a recorder goes on': [
    [
      'rows/days.ts',
      '      await this.#tryToWrite(day, latest, { hold: undefined });\n    }\n    throw',
      '      return;\n    }\n    throw',
    ],
  ],
  'a recorder asks storage about a mark that it does not know': [
    ['rows/days.ts', 'const latest = isOver ? known : await this.stored(day);', 'const latest = known;'],
  ],
  'a reader heeds marks': [
    [
      'read/counter-page.ts',
      'await source.demandCurrent(Math.max(...Array.from(days.values(), (row) => stateFrom(row).mark)));',
      '',
    ],
  ],
  'a tombstone stays': [['rows/generations.ts', 'rowKey === SEALED_KEY', 'rowKey.length < 0']],
  'a reader heeds tombstones': [['read/counter-page.ts', 'await source.demandCurrent(sealed?.attempt ?? 0);', '']],
  'a day is not closed while it is rewritten': [['rows/days.ts', 'if (isLive(row)) throw new DayHeld();', '']],
  'closing removes an expired hold': [
    [
      'rows/days.ts',
      '{ closes: instantFrom(now() + CLOSING_MARGIN), hold: undefined }',
      '{ closes: instantFrom(now() + CLOSING_MARGIN) }',
    ],
  ],
  'a day that closes is not rewritten': [
    ['audit/rewrite.ts', 'if (state.row?.closes !== undefined) throw', 'if (state.attempt < 0) throw'],
  ],
  'a lost row is not made up': [
    [
      'rows/days.ts',
      'if ((await this.#table.firstPartition(partitionsOf(day))) === undefined) return undefined;',
      'if (Math.PI > 3) return undefined;',
    ],
  ],
  'of a lost row every shard is rewritten': [
    ['audit/rewrite.ts', '{ length: row?.shards ?? MAX_SHARDS }', '{ length: row?.shards ?? 1 }'],
  ],
  'a closed day whose row is lost stays closed': [
    [
      'audit/rewrite.ts',
      'const closed = before.row === undefined ? await this.#restoreClosed() : undefined;',
      'const closed = undefined;',
    ],
    [
      'audit/rewrite.ts',
      'const closedMeanwhile = row === undefined ? await this.#restoreClosed() : undefined;',
      'const closedMeanwhile = undefined;',
    ],
  ],
  'day sealed is read before the stripes that a seal marks': [
    [
      'audit/rewrite.ts',
      'const sealed = await this.#table.get(partition, SEALED_KEY, { isAnyFormat: true });\n      const attempt',
      'const early = await this.#table.all(partition, stripesOf(DAY_KEY), { select: [], isAnyFormat: true });\n      const sealed = await this.#table.get(partition, SEALED_KEY, { isAnyFormat: true });\n      const attempt',
    ],
    [
      'audit/rewrite.ts',
      'const rows = await this.#table.all(partition, stripesOf(DAY_KEY), { select: [], isAnyFormat: true });',
      'const rows = early;',
    ],
  ],
  'a deleted generation is a generation before': [
    [
      'audit/rewrite.ts',
      '(generation) => generation < this.#attempt)',
      '(generation) => generation !== this.#attempt)',
    ],
  ],
  'a closing deletes old generations': [
    [
      'retention/close-days.ts',
      'await deleteGenerations(table, day, (generation) => generation !== row.generation);',
      '',
    ],
  ],
};

/** Rewrites are interrupted at each request there: what the world meets by chance once in a thousand histories. */
const TESTS = 'test/analytics/audit';
const VITEST = 'node_modules/vitest/vitest.mjs';
const CONFIG = `export default { test: { include: ['${TESTS}/*.test.ts'], testTimeout: 600_000, restoreMocks: true, bail: 1 } };`;

it.each(Object.entries(BROKEN_RULES))('the tests of rewriting find out if it is broken that %s', (_, changes) => {
  const copy = brokenCopy(changes);
  try {
    for (const name of ['test', 'infra']) cpSync(name, join(copy, name), { recursive: true });
    writeFileSync(join(copy, 'vitest.config.ts'), CONFIG);
    const env = { ...process.env, NO_COLOR: '1' };
    // Not through npx: inside another npx it does not find the vitest of this folder.
    const { stdout } = spawnSync(process.execPath, [VITEST, 'run'], { cwd: copy, encoding: 'utf8', env });
    // Not all of them: a copy that cannot be loaded finds nothing out.
    expect(stdout).toMatch(/Tests {2}1 failed \| \d+ passed|Tests {2}1 failed \(/);
  } finally {
    rmSync(copy, { recursive: true });
  }
});
