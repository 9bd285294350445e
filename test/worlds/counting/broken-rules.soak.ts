import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

import pLimit from 'p-limit';
import { expect, it } from 'vitest';

import { CHANGES, type Change } from './break-rule.ts';
import type { Scenario } from './interference.ts';

type Rules = Readonly<Record<string, readonly Change[]>>;

/** Rules of counting. The world finds out if one is broken. */
const RULES_OF_COUNTING: Rules = {
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
  'an edit counts as its difference': [
    ['record/commit-plan.ts', 'before === undefined ? EMPTY_TALLY : contributionOf(before.facets)', 'EMPTY_TALLY'],
  ],
  'of each facet the newest time wins': [
    [
      'model/newest-wins.ts',
      'sent === undefined || (known !== undefined && sent.time <= known.time)) return known',
      'sent === undefined) return known',
    ],
  ],
  'every write has the version that was read': [
    ['rows/stripe-row.ts', 'return writeOf(DAY_KEY, etag, {', "return writeOf(DAY_KEY, etag && '*', {"],
  ],
  'after a conflict the row of a stripe counts as read again': [
    [
      'record/shard-writer.ts',
      'this.#remember(DAY_KEY, row);\n    return row;',
      'this.#remember(DAY_KEY, { ...row, value: this.#before ?? row.value });\n    return row;',
    ],
    ['record/shard-writer.ts', 'hasSameCounts(stored, before)', '(this.#before = before)'],
    [
      'record/shard-writer.ts',
      '  #doubtsAbsence = false;\n',
      '  #doubtsAbsence = false;\n  #before: StripeRow | undefined;\n',
    ],
  ],
  'a new stripe writes the number of stripes into the first one': [
    ['rows/stripes.ts', 'if (stripe === 0) return [touch];', 'if (stripe < 99) return [touch];'],
  ],
  'the day row is read after all others': [
    [
      'read/counter-page.ts',
      'const rows = await Promise.all(requests.map(async ({ key, select }) => rowsIn(source, key, select, isStriped)));\n  const days = await dayRowsIn(source, stripeProperties(detail), isStriped);',
      'const days = await dayRowsIn(source, stripeProperties(detail), isStriped);\n  const rows = await Promise.all(requests.map(async ({ key, select }) => rowsIn(source, key, select, isStriped)));',
    ],
  ],
  'a reader uses one page': [
    [
      'rows/stripes.ts',
      'const { rows, continuation } = await table.page(partition, stripesOf(key), { select });\n    if (continuation === undefined) ',
      'const rows = await table.all(partition, stripesOf(key), { select });\n    ',
    ],
  ],
  'rows that are read by key are taken when two readings agree': [
    ['rows/stripes.ts', 'if (versions === before) return', 'if (versions !== before) return'],
  ],
  'a closed day takes no repeat': [
    ['rows/days.ts', 'if (row.closes !== undefined && now() >= row.closes) throw new DayClosed();', ''],
  ],
  'event rows stay for an hour after their day has closed': [
    ['retention/close-days.ts', 'row.closes + CLOSING_MARGIN', 'row.closes'],
  ],
  'an instance whose clock is wrong closes no day': [
    ['rows/days.ts', 'Math.abs(clockAheadMs(table)) <= MOST_CLOCK_OFF_MS', 'Math.abs(clockAheadMs(table)) >= 0'],
  ],
  'event rows of overflowed seconds stay in every hour': [
    ['retention/close-days.ts', 'if (known?.hour !== hour)', 'if (known === undefined)'],
  ],
};

/** Rules of rewriting a day. Scenarios find out. */
const RULES_OF_REWRITING: Readonly<Partial<Record<Scenario, Rules>>> = {
  'a late transaction into its own stripe': {
    'a seal marks every stripe': [
      [
        'audit/rewrite.ts',
        'sealWrites({ etag: sealed.etag, attempt, stripes: 0 }, stripes, this.#attempt)',
        'sealWrites({ etag: sealed.etag, attempt, stripes: 0 }, stripes.slice(0, 0), this.#attempt)',
      ],
    ],
    'the seal comes before the second pass': [
      ['audit/rewrite.ts', 'await this.#reading.map(partitions, async (partition) => this.#seal(partition));\n', ''],
      [
        'audit/rewrite.ts',
        'await this.#replay(partitions);\n      // Its',
        'await this.#replay(partitions);\n      await this.#reading.map(partitions, async (partition) => this.#seal(partition));\n      // Its',
      ],
    ],
    'a recorder heeds marks': [['rows/days.ts', 'if (mark === 0) return;', 'if (mark >= 0) return;']],
    'a held day takes no events': [['rows/days.ts', 'if (isLive(latest)) break;', 'if (isLive(latest)) return;']],
    'a recorder asks storage about a mark that it does not know': [
      ['rows/days.ts', 'const latest = isOver ? known : await this.stored(day);', 'const latest = known;'],
    ],
  },
  'a late transaction into a new stripe': {
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
  },
  'a late transaction into a shard without rows': {
    'shards without rows are sealed too': [
      [
        'audit/rewrite.ts',
        'const { found, partitions } = await this.#partitionsOf(row);',
        'const { found } = await this.#partitionsOf(row);\n      const partitions = found;',
      ],
    ],
  },
  'its hold has expired, and the day takes events': {
    'a switch needs the own hold': [
      [
        'audit/rewrite.ts',
        'if (!this.#isMine(state)) throw new RewriteAbandoned(TAKEN_OVER);\n      const next',
        'const next',
      ],
    ],
    'an expired hold is removed before a recorder goes on': [
      [
        'rows/days.ts',
        '      await this.#tryToWrite(day, latest, { hold: undefined });\n    }\n    throw',
        '      return;\n    }\n    throw',
      ],
    ],
  },
  'another rewrite begins, and takes over after three minutes': {
    'numbers of attempts are never reused': [
      [
        'audit/rewrite.ts',
        'this.#attempt = Math.max(this.#attempt, state.attempt + 1);',
        'this.#attempt = (state.row?.generation ?? 0) + 1;',
      ],
    ],
    'a deleted generation is a generation before': [
      [
        'audit/rewrite.ts',
        '(generation) => generation < this.#attempt)',
        '(generation) => generation !== this.#attempt)',
      ],
    ],
  },
  'it is killed, and the day takes events after three minutes': {
    'a reader heeds marks': [
      [
        'read/counter-page.ts',
        'await source.demandCurrent(Math.max(...Array.from(days.values(), (row) => stateFrom(row).mark)));',
        '',
      ],
    ],
  },
  'readers that had begun before go on': {
    'a tombstone stays': [['rows/generations.ts', 'rowKey === SEALED_KEY', 'rowKey.length < 0']],
    'a reader heeds tombstones': [['read/counter-page.ts', 'await source.demandCurrent(sealed?.attempt ?? 0);', '']],
  },
  'the day closes, but not while it is held': {
    'a day is not closed while it is rewritten': [['rows/days.ts', 'if (isLive(row)) throw new DayHeld();', '']],
    'a day that closes is not rewritten': [
      ['audit/rewrite.ts', 'if (state.row?.closes !== undefined) throw', 'if (state.attempt < 0) throw'],
    ],
  },
  'its hold has expired, and the day closes': {
    'closing removes an expired hold': [
      [
        'rows/days.ts',
        '{ closes: instantFrom(now() + CLOSING_MARGIN), hold: undefined }',
        '{ closes: instantFrom(now() + CLOSING_MARGIN) }',
      ],
    ],
  },
  'the row of the day is lost, and rewritten': {
    'a lost row is not made up': [
      [
        'rows/days.ts',
        'if ((await this.#table.firstPartition(partitionsOf(day))) === undefined) return undefined;',
        'if (Math.PI > 3) return undefined;',
      ],
    ],
  },
  'a late transaction into a day whose row is lost': {
    'of a lost row every shard is rewritten': [
      ['audit/rewrite.ts', '{ length: row?.shards ?? MAX_SHARDS }', '{ length: row?.shards ?? 1 }'],
    ],
  },
  'the row of a closed day is lost, and comes back': {
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
  },
  'it is killed, and the closed day keeps nothing of it': {
    'a closing deletes old generations': [
      [
        'retention/close-days.ts',
        'await deleteGenerations(table, day, (generation) => generation !== row.generation);',
        '',
      ],
    ],
  },
};

const MOST_SEEDS = 10_000;
const MOST_SECONDS = 300;

/** What the world says, in a process of its own whose source is changed. A busy machine runs two of them. */
const twoAtOnce = pLimit(2);
const saidOf = async (changes: readonly Change[], args: readonly string[]): Promise<string> =>
  twoAtOnce(async () => {
    const hooks = ['--import', './test/worlds/counting/break-rule.ts', 'test/worlds/counting/soak.ts'];
    const env = { ...process.env, [CHANGES]: JSON.stringify(changes) };
    const child = spawn(process.execPath, [...hooks, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    return text(child.stdout);
  });

it.concurrent.each(Object.entries(RULES_OF_COUNTING))(
  'the world of counting finds out if it is broken that %s',
  async (_, changes) => {
    const said = await saidOf(changes, `--first --seed 1 --seeds ${MOST_SEEDS} --seconds ${MOST_SECONDS}`.split(' '));
    const [line = 'no seed', seed] = /^seed (\d+): .*$/m.exec(said) ?? [];
    expect(seed, said).toBeDefined();
    console.log(line.slice(0, 300));
    expect(await saidOf([], ['--seed', seed ?? '']), 'with the rule').not.toMatch(/^seed /m);
  },
);

const ofRewriting = Object.entries(RULES_OF_REWRITING).flatMap(([scenario, rules]) =>
  Object.entries(rules).map(([rule, changes]) => [rule, scenario, changes] as const),
);
it.concurrent.each(ofRewriting)('a scenario finds out if it is broken that %s: %s', async (_, scenario, changes) => {
  expect(await saidOf(changes, ['--scenario', scenario])).toContain(`${scenario}: `);
});
