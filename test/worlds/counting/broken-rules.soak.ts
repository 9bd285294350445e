import { expect, it } from 'vitest';

import type { Change } from '../break-rule.ts';
import { saidOf } from '../broken-rule.ts';
import type { Scenario } from './interference.ts';

type Rules = Readonly<Record<string, readonly Change[]>>;

/** Rules of counting. The world finds out if one is broken. */
const RULES_OF_COUNTING: Rules = {
  'differences are computed again after a lost answer': [
    ['record/commit-plan.ts', 'before !== undefined && facets', '!keyed.uncertain && before !== undefined && facets'],
    ['record/commit-plan.ts', 'counted = before === undefined', 'counted = before === undefined || keyed.uncertain'],
  ],
  'an edit counts as its difference': [['record/commit-plan.ts', ': contributionOf(before.facets)', ': EMPTY_TALLY']],
  'of each facet the newest time wins': [['model/newest-wins.ts', 'sent.time <= known.time', 'sent.time < 0n']],
  'every write has the version that was read': [
    ['rows/stripe-row.ts', 'writeOf(DAY_KEY, etag,', "writeOf(DAY_KEY, etag && '*',"],
  ],
  'after a conflict the row of a stripe counts as read again': [
    ['record/shard-writer.ts', '(DAY_KEY, row);', '(DAY_KEY, { ...row, value: this.#before ?? row.value });'],
    ['record/shard-writer.ts', 'hasSameCounts(stored, before)', '(this.#before = before)'],
    ['record/shard-writer.ts', '\n  #doubtsAbsence', '\n  #before: StripeRow | undefined;\n  #doubtsAbsence'],
  ],
  'a new stripe writes the number of stripes into the first one': [
    ['rows/stripes.ts', 'if (stripe === 0) return', 'if (stripe < 99) return'],
  ],
  'the day row is read after all others': [
    [
      'read/counter-page.ts',
      'const rows = await',
      'const early = await dayRowsIn(source, stripeProperties(detail), isStriped);\n  const rows = await',
    ],
    ['read/counter-page.ts', 'const days = await dayRowsIn', 'const days = early ?? await dayRowsIn'],
  ],
  'a reader uses one page': [
    ['rows/stripes.ts', 'const { rows, continuation } = await table.page', 'const rows = await table.all'],
    ['rows/stripes.ts', 'if (continuation === undefined) return', 'return'],
  ],
  'rows that are read by key are taken when two readings agree': [
    ['rows/stripes.ts', 'versions === before', 'versions !== before'],
  ],
  'a closed day takes no repeat': [['rows/days.ts', 'now() >= row.closes', 'now() < 0n']],
  'event rows stay for an hour after their day has closed': [
    ['retention/close-days.ts', 'row.closes + CLOSING_MARGIN', 'row.closes'],
  ],
  'an instance whose clock is wrong closes no day': [['rows/days.ts', '<= MOST_CLOCK_OFF_MS', '< Infinity']],
};

/** Rules of rewriting a day. Scenarios find out. */
const RULES_OF_REWRITING: Readonly<Partial<Record<Scenario, Rules>>> = {
  'a late transaction into its own stripe': {
    'a seal marks every stripe': [['audit/rewrite.ts', 'stripes: 0 }, stripes,', 'stripes: 0 }, [],']],
    'the seal comes before the second pass': [
      ['audit/rewrite.ts', 'await this.#reading.map(partitions,', 'const seal = () => this.#reading.map(partitions,'],
      ['audit/rewrite.ts', '// Its event rows', 'await seal();\n      // Its event rows'],
    ],
    'a recorder heeds marks': [['rows/days.ts', 'if (mark === 0) return', 'if (mark >= 0) return']],
    'a held day takes no events': [['rows/days.ts', 'if (isLive(latest)) break', 'if (isLive(latest)) return']],
    'a recorder asks storage about a mark that it does not know': [
      ['rows/days.ts', 'isOver ? known : await this.stored(day)', 'known'],
    ],
  },
  'a late transaction into a new stripe': {
    'a seal needs the version of day sealed': [
      ['rows/stripes.ts', 'SEALED_KEY, etag: sealed.etag', 'SEALED_KEY, etag: ANY_VERSION'],
    ],
    'a new stripe changes day sealed at the version that was read': [
      ['rows/stripes.ts', 'sealed?.etag,', "sealed && '*',"],
    ],
    'day sealed is read before the stripes that a seal marks': [
      [
        'audit/rewrite.ts',
        'const sealed = await',
        'const early = await this.#table.all(partition, stripesOf(DAY_KEY), { isAnyFormat: true });\n      const sealed = await',
      ],
      ['audit/rewrite.ts', 'const rows = await this.#table.all', 'const rows = early ?? await this.#table.all'],
    ],
  },
  'a late transaction into a shard without rows': {
    'shards without rows are sealed too': [
      ['audit/rewrite.ts', 'const { found, partitions }', 'const { found, found: partitions }'],
    ],
  },
  'another rewrite begins, and takes over after three minutes': {
    'numbers of attempts are never reused': [
      ['audit/rewrite.ts', 'Math.max(this.#attempt, state.attempt + 1)', '(state.row?.generation ?? 0) + 1'],
    ],
    'a deleted generation is a generation before': [
      ['audit/rewrite.ts', 'generation < this.#attempt', 'generation !== this.#attempt'],
    ],
  },
  'it stops, and the day takes events after three minutes': {
    'a switch needs the own hold': [
      ['audit/rewrite.ts', 'state.row;\n      if (!this.#isMine(state))', 'state.row;\n      if (state.attempt < 0)'],
    ],
    'an expired hold is removed before a recorder goes on': [
      ['rows/days.ts', 'await this.#tryToWrite(day, latest, { hold: undefined })', 'return'],
    ],
    'a reader heeds marks': [['read/counter-page.ts', 'await source.demandCurrent(Math.max', 'void (Math.max']],
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
    'closing removes an expired hold': [['rows/days.ts', 'CLOSING_MARGIN), hold: undefined }', 'CLOSING_MARGIN) }']],
  },
  'the row of the day is lost, and rewritten': {
    'a lost row is not made up': [['rows/days.ts', 'await this.#table.firstPartition(partitionsOf(day))', 'undefined']],
  },
  'a late transaction into a day whose row is lost': {
    'of a lost row every shard is rewritten': [['audit/rewrite.ts', 'row?.shards ?? MAX_SHARDS', 'row?.shards ?? 1']],
  },
  'the row of a closed day is lost, and comes back': {
    'a closed day whose row is lost stays closed': [['audit/rewrite.ts', 'if (closed === undefined) return', 'return']],
  },
  'it stops, and the closed day keeps nothing of it': {
    'a closing deletes old generations': [
      ['retention/close-days.ts', '(generation) => generation !== row.generation', '() => false'],
    ],
  },
};

const MOST_SEEDS = '10000';

const SOAK = 'test/worlds/counting/soak.ts';

it.concurrent.each(Object.entries(RULES_OF_COUNTING))(
  'the world of counting finds out if it is broken that %s',
  async (_, changes) => {
    const said = await saidOf(SOAK, changes, ['--seeds', MOST_SEEDS]);
    const [line = 'no seed', seed] = /^seed (\d+): .*$/m.exec(said) ?? [];
    expect(seed, said).toBeDefined();
    console.log(line.slice(0, 300));
    expect(await saidOf(SOAK, [], ['--seed', seed ?? '']), 'with the rule').not.toMatch(/^seed /m);
  },
);

const ofRewriting = Object.entries(RULES_OF_REWRITING).flatMap(([scenario, rules]) =>
  Object.entries(rules).map(([rule, changes]) => [rule, scenario, changes] as const),
);
it.concurrent.each(ofRewriting)('a scenario finds out if it is broken that %s: %s', async (_, scenario, changes) => {
  expect(await saidOf(SOAK, changes, ['--scenario', scenario])).toContain(`${scenario}: `);
});
