import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, it } from 'vitest';

import { play } from './history.ts';

/** A text of a source file, which is there once, and what breaks the rule. */
type Change = readonly [file: string, text: string, broken: string];

interface BrokenRule {
  readonly rule: string;
  readonly changes: readonly Change[];
  /** Whether only repairs keep it. */
  readonly isRepair?: boolean;
}

const BROKEN_RULES: readonly BrokenRule[] = [
  {
    rule: 'differences are computed again after a lost answer',
    changes: [
      [
        'src/analytics/record/commit-plan.ts',
        'if (before !== undefined && facets === before.facets)',
        'if (!keyed.uncertain && before !== undefined && facets === before.facets)',
      ],
      [
        'src/analytics/record/commit-plan.ts',
        'const counted = before === undefined',
        'const counted = before === undefined || keyed.uncertain',
      ],
    ],
  },
  {
    rule: 'a stripe appears through the fence',
    changes: [
      [
        'src/analytics/record/commit-plan.ts',
        'properties: announcement(stripes) }, fenced]',
        'properties: announcement(stripes) }]',
      ],
    ],
  },
  {
    rule: 'commit numbers are heeded',
    changes: [
      [
        'src/analytics/read/shard-reading.ts',
        'needsTotals ? [...newest.keys()].find((stripe) => isOlder(totals.get(stripe), newest.get(stripe))) : undefined;',
        'undefined;',
      ],
    ],
  },
  {
    rule: 'a reader uses one page',
    changes: [
      [
        'src/analytics/rows/stripes.ts',
        'const { rows, continuation } = await table.page(partition, stripesOf(key), { select });\n    if (continuation === undefined) ',
        'const rows = await table.all(partition, stripesOf(key), { select });\n    ',
      ],
    ],
  },
  {
    rule: 'an edit counts as its difference',
    changes: [
      [
        'src/analytics/record/commit-plan.ts',
        'before === undefined ? EMPTY_TALLY : contributionOf(before.facets)',
        'EMPTY_TALLY',
      ],
    ],
  },
  {
    rule: 'a closed day takes no repeat',
    changes: [
      ['src/analytics/rows/day-shards.ts', 'if (closes !== undefined && now() >= closes) throw new DayClosed();', ''],
    ],
  },
  {
    rule: 'a repair adds',
    isRepair: true,
    // It writes whatever it has read into the stripe that others write to, and believes that all is right then.
    changes: [
      ['src/analytics/audit/repair.ts', 'await rows.move();', ''],
      [
        'src/analytics/audit/repair.ts',
        'report = await auditDay(table, report.day);',
        'report = await auditDay(table, report.day); if (round > 1) report = { ...report, differences: [] };',
      ],
      [
        'src/analytics/record/transaction.ts',
        'plan: { outcomes: [], writes: [...writes, guard], rows }',
        "plan: { outcomes: [], writes: [...writes.map((write) => (write.kind === 'insert' ? write : { ...write, etag: '*' })), guard], rows }",
      ],
    ],
  },
];

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const MOST_SEEDS = 10_000;
const MOST_SECONDS = 300;

const brokenCopy = ({ changes }: BrokenRule): string => {
  const copy = mkdtempSync(join(tmpdir(), 'broken-rule-'));
  for (const name of [
    'src',
    'test/worlds',
    'test/analytics/event-message.ts',
    'test/storage',
    'infra/local',
    'package.json',
    'tsconfig.json',
  ]) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  for (const [file, text, broken] of changes) {
    const source = readFileSync(join(copy, file), 'utf8');
    if (source.split(text).length !== 2) throw new Error(`${file} has not once: ${text}`);
    writeFileSync(
      join(copy, file),
      source.replace(text, () => broken),
    );
  }
  return copy;
};

/** The first broken promise from a seed on, in a copy of the source. */
const findIn = (copy: string, seed: number, isRepair: boolean): readonly [seed: number, line: string] | undefined => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      '--import',
      'tsx',
      'test/worlds/counting/soak.ts',
      '--first',
      isRepair ? '--damaged' : '--undamaged',
      '--seed',
      `${seed}`,
      '--seeds',
      `${MOST_SEEDS - seed}`,
      '--seconds',
      `${MOST_SECONDS}`,
    ],
    { cwd: copy, encoding: 'utf8' },
  );
  const [line, found] = /^seed (\d+): .*$/m.exec(stdout) ?? [];
  if (line === undefined && !stdout.includes(' histories ')) throw new Error(`the world does not run: ${stderr}`);
  return line === undefined ? undefined : [Number(found), line];
};

it.each(BROKEN_RULES)('the world of counting finds out if it is broken that $rule', async (broken) => {
  const copy = brokenCopy(broken);
  const isRepair = broken.isRepair === true;
  try {
    let finding = findIn(copy, 1, isRepair);
    // A seed that fails with the rule as well tells nothing.
    while (finding !== undefined && (await play(finding[0], { damages: isRepair })).broken.length > 0) {
      finding = findIn(copy, finding[0] + 1, isRepair);
    }
    expect(finding, 'a seed').toBeDefined();
    console.log(`${broken.rule}: ${finding?.[1].slice(0, 300)}`);
  } finally {
    rmSync(copy, { recursive: true });
  }
});
