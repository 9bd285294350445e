import { expect, it } from 'vitest';

import type { Change } from '../break-rule.ts';
import { BROKEN, playWithout } from '../broken-rule.ts';

/** Rules of counting. The world finds out if a rule is broken. */
const RULES: Readonly<Record<string, readonly Change[]>> = {
  'differences are computed again after a lost answer': [
    [
      'record/commit-plan.ts',
      'take({ message, minute, eventKey: key }: K',
      'take({ message, minute, eventKey: key, uncertain }: K',
    ],
    ['record/commit-plan.ts', 'before !== undefined && facets', '!uncertain && before !== undefined && facets'],
    ['record/commit-plan.ts', 'before === undefined ? c', 'before === undefined || uncertain ? c'],
  ],
  'an edit counts as its difference': [
    ['record/commit-plan.ts', 'differenceOf(contribution, contributionOf(before.facets))', 'contribution'],
  ],
  'of each facet the newest time wins': [['model/newest-wins.ts', 'sent.time <= known.time', 'sent.time < 0n']],
  'a removed event counts nothing': [['model/camera-event.ts', 'removed?.value === true', 'removed?.time === 0n']],
  'every write has the version that was read': [
    ['record/commit-plan.ts', 'etags.get(rowKey), values', "etags.get(rowKey) && '*', values"],
  ],
  'the first commit of another stripe says so in stripe 0': [
    ['record/commit-plan.ts', 'stripe !== 0 && (before.day', 'stripe > 99 && (before.day'],
  ],
  'the day rows are read after all others': [
    [
      'read/read-shard.ts',
      'const [read] = await',
      'const early = await readCounter(source, DAY_COUNTER, day.select);\n  const [read] = await',
    ],
    ['read/read-shard.ts', 'const dayRows = await', 'const dayRows = early ?? await'],
  ],
  'a counter is read in all stripes by one page': [
    ['rows/stripes.ts', 'const { rows, continuation } = await table.page', 'const rows = await table.all'],
    ['rows/stripes.ts', 'if (continuation === undefined) return', 'return'],
  ],
  'rows that are read by key are taken when two readings agree': [
    ['rows/stripes.ts', 'versions === before', 'versions !== before'],
  ],
  'the last camera of a page is read again': [
    ['read/cameras-of-shard.ts', 'cameras.slice(0, -1)', 'cameras'],
    ['read/cameras-of-shard.ts', 'isContinued ? [] : ', ''],
  ],
  'the minute in which a camera was last seen is read in all stripes': [
    ['read/last-minutes.ts', 'readCounter(source', 'readCounter({ ...source, striped: new Map() }'],
  ],
  'an answer about a closed day is widened to whole minutes': [
    ['model/period.ts', 'start: startOfMinute(piece.start), end: endOfMinute(piece.end), ', ''],
  ],
  'a closed day takes no events': [
    ['record/shard-writer.ts', "if (day?.sealed === 'closed') throw new DayClosed();", ''],
  ],
  'a day is closed when it was quiet for an hour': [
    ['retention/close-days.ts', 'QUIET_MS = 3_600_000', 'QUIET_MS = -1'],
  ],
  'a day is closed by the clock of storage': [
    ['retention/run.ts', 'instantFromMilliseconds(table.now())', 'instantFromMilliseconds(Date.now())'],
  ],
  'every commit writes the row of its hour, also for a difference of 0': [
    [
      'record/commit-plan.ts',
      'of byHour) {\n    const byMinute',
      'of byHour) {\n    if (changesNothing(some)) continue;\n    const byMinute',
    ],
    [
      'record/commit-plan.ts',
      'const NO_FACETS',
      'const changesNothing = (some: readonly Change[]): boolean =>\n  some.every(({ difference }) => difference.events === 0 && difference.reviewed === 0 && difference.categories.size === 0);\n\nconst NO_FACETS',
    ],
  ],
  'event rows are deleted after their backup': [
    ['retention/close-days.ts', 'if (container && !(yield*', 'if (table.now() < 0 && container && !(yield*'],
  ],
  'the seal is in all stripes': [['rows/seal.ts', '{ length: MAX_STRIPES }', '{ length: 1 }']],
  'a day that is rebuilt takes no events': [
    ['record/shard-writer.ts', "if (day?.sealed === 'rebuilding') throw new DayHeld(partition);", ''],
  ],
  'a seal inserts the rows of stripes that do not exist': [
    [
      'rows/seal.ts',
      'await table.transact(before.partition, writes)',
      'await table.transact(before.partition, writes.filter((_, stripe) => before.etags.has(stripe)))',
    ],
  ],
  'questions about a day that is rebuilt are refused': [
    [
      'read/read-shard.ts',
      "if (seals.has('rebuilding') && !source.whileRebuilding) throw",
      'if (days.size > 99) throw',
    ],
  ],
  'striped is never taken back': [['audit/rebuild.ts', ', ...STRIPED_PROPERTIES }', ' }']],
  'an export looks for the seal after the last event': [
    ['retention/export-day.ts', '  }\n  await demandOpen();', '  }'],
  ],
  'a rebuild writes at the version of its seal': [
    ['rows/seal.ts', 'writeOf(DAY_00, seal.etags.get(0),', 'writeOf(DAY_00, ANY_VERSION,'],
  ],
  'senders learn that the day is rebuilt': [['record/recorder.ts', 'if (cause instanceof DayHeld) return cause;', '']],
  'a day that is rebuilt is not closed': [
    [
      'retention/close-days.ts',
      "if (seals.some(({ sealed }) => sealed === 'rebuilding')) throw new DayHeld(shardPartition(day, 0));",
      '',
    ],
  ],
  'a day is closed in the state that was read': [['rows/seal.ts', ' || isClosing ?', ' ?']],
  'a closed day is refused': [
    ['audit/rebuild.ts', "if (found.sealed === 'closed') throw", 'if (tooLate(found)) throw'],
    [
      'audit/rebuild.ts',
      'class ShardRebuild {',
      'const tooLate = (seal: { readonly etags: { readonly size: number } }) => seal.etags.size > 99;\nclass ShardRebuild {',
    ],
  ],
};

it.concurrent.each(Object.entries(RULES))(
  'the world of counting finds out if it is broken that %s',
  async (_, changes) => {
    const { without, withRule } = await playWithout(changes, 10_000, 'counting');
    expect(without).toMatch(BROKEN);
    expect(withRule, 'with the rule').not.toMatch(BROKEN);
  },
);
