import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

import { play } from './history.ts';

/** A text of a source file below `src/analytics`, which is there once, and what breaks the rule. */
type Change = readonly [file: string, text: string, broken: string];

/** Rules, and the changes that break each. */
const BROKEN_RULES: Readonly<Record<string, readonly Change[]>> = {
  'differences are computed again after a lost answer': [
    [
      'record/commit-plan.ts',
      'if (before !== undefined && facets',
      'if (!keyed.uncertain && before !== undefined && facets',
    ],
    [
      'record/commit-plan.ts',
      'const counted = before === undefined',
      'const counted = before === undefined || keyed.uncertain',
    ],
  ],
  'a stripe appears through the fence': [
    ['record/commit-plan.ts', 'announcement(stripes) }, fenced]', 'announcement(stripes) }]'],
  ],
  'commit numbers are heeded': [
    [
      'read/shard-reading.ts',
      'needsTotals ? [...newest.keys()].find((stripe) => isOlder(totals.get(stripe), newest.get(stripe))) : undefined;',
      'undefined;',
    ],
  ],
  'a reader uses one page': [
    [
      'rows/stripes.ts',
      'const { rows, continuation } = await table.page(partition, stripesOf(key), { select });\n    if (continuation === undefined) ',
      'const rows = await table.all(partition, stripesOf(key), { select });\n    ',
    ],
  ],
  'an edit counts as its difference': [
    ['record/commit-plan.ts', 'before === undefined ? EMPTY_TALLY : contributionOf(before.facets)', 'EMPTY_TALLY'],
  ],
  'a closed day takes no repeat': [
    [
      'rows/day-shards.ts',
      'if (manifest.closes !== undefined && storageNow(this.#table) >= manifest.closes) throw new DayClosed();',
      '',
    ],
  ],
  'the clock of storage decides whether a day takes changes': [
    ['rows/open-days.ts', 'instantFromMilliseconds(table.now())', 'instantFromMilliseconds(Date.now())'],
  ],
  'a lost manifest is not made up': [
    ['rows/day-shards.ts', 'if ((await shardInStorage(this.#table, day)) === undefined)', 'if (Math.PI > 3)'],
  ],
  'what is remembered of a day belongs to its manifest': [
    ['record/shard-writer.ts', 'if (this.#version === version) return;', 'if (Math.PI > 3) return;'],
  ],
  'a day is not closed while it is repaired': [
    ['rows/day-shards.ts', 'if (isRepairing || repairUntil > now) throw new DayInRepair();', ''],
  ],
  'a repair respects that a closing is announced': [
    ['audit/repair-lease.ts', 'one?.properties[CLOSES] !== undefined', 'one?.properties[CLOSES] === null'],
    ['audit/repair.ts', 'if (closes !== undefined)', 'if (closes === null)'],
  ],
  'a day that has lost its row of open days gets it back': [
    [
      'audit/audit.ts',
      'const isUnlisted = state.isUnlisted && !closed && byShard.length > 0;',
      'const isUnlisted = false;',
    ],
  ],
  // It writes whatever it has read into the stripe that others write to, and believes that all is right then.
  'a repair adds': [
    ['audit/repair.ts', 'await writer.rows.move();', ''],
    [
      'audit/repair.ts',
      'report = await auditDay(table, report.day);',
      'report = await auditDay(table, report.day); if (round > 1) report = { ...report, differences: [] };',
    ],
    [
      'record/shard-writer.ts',
      'writes: [...writes, guard], rows }',
      "writes: [...writes.map((write) => (write.kind === 'insert' ? write : { ...write, etag: '*' })), guard], rows }",
    ],
  ],
};

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const MOST_SEEDS = 10_000;
const MOST_SECONDS = 300;

const brokenCopy = (changes: readonly Change[]): string => {
  const copy = mkdtempSync(join(tmpdir(), 'broken-rule-'));
  const needed = [
    'src',
    'test/worlds',
    'test/analytics/counting-service.ts',
    'test/storage',
    'infra/cli/demo/random.ts',
    'package.json',
  ];
  for (const name of [...needed, 'tsconfig.json']) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  for (const [name, text, broken] of changes) {
    const file = join(copy, 'src/analytics', name);
    const parts = readFileSync(file, 'utf8').split(text);
    if (parts.length !== 2) throw new Error(`${name} has not once: ${text}`);
    writeFileSync(file, parts.join(broken));
  }
  return copy;
};

/** The first broken promise from a seed on, in a copy of the source. */
const findIn = (copy: string, seed: number, isRepair: boolean): readonly [seed: number, line: string] | undefined => {
  const kind = isRepair ? '--damaged' : '--undamaged';
  const seeds = `--first ${kind} --seed ${seed} --seeds ${MOST_SEEDS - seed} --seconds ${MOST_SECONDS}`;
  const soak = ['--import', 'tsx', 'test/worlds/counting/soak.ts', ...seeds.split(' ')];
  const { stdout, stderr } = spawnSync(process.execPath, soak, { cwd: copy, encoding: 'utf8' });
  const [line, found] = /^seed (\d+): .*$/m.exec(stdout) ?? [];
  if (line === undefined && !stdout.includes(' histories ')) throw new Error(`the world does not run: ${stderr}`);
  return line === undefined ? undefined : [Number(found), line];
};

it.each(Object.entries(BROKEN_RULES))(
  'the world of counting finds out if it is broken that %s',
  async (rule, changes) => {
    const copy = brokenCopy(changes);
    // Only repairs keep it.
    const isRepair =
      ['a repair adds', 'a lost manifest is not made up'].includes(rule) || / repair|row of open days/.test(rule);
    try {
      let finding = findIn(copy, 1, isRepair);
      // A seed that fails with the rule as well tells nothing.
      while (finding !== undefined && (await play(finding[0], { damages: isRepair })).broken.length > 0) {
        finding = findIn(copy, finding[0] + 1, isRepair);
      }
      expect(finding, 'a seed').toBeDefined();
      console.log(`${rule}: ${finding?.[1].slice(0, 300)}`);
    } finally {
      rmSync(copy, { recursive: true });
    }
  },
);
