import { eventWrite } from '../rows/event-row.ts';
import { Draft, type Outcome } from './commit-draft.ts';
import { differencesOf } from './counter-differences.ts';
import { planCounters, type RowsPlan } from './counter-plan.ts';
import type { KeyedMessage } from './keyed-message.ts';
import { ofKind, type ShardRow, type ShardSnapshot } from './shard-snapshot.ts';

/** One transaction: the outcome of each message, the writes (none where nothing changes), and the rows once they are applied. */
export interface CommitPlan extends RowsPlan {
  /** In the order of the messages. */
  readonly outcomes: readonly Outcome[];
}

/**
 * What to write for messages about events of one shard and day: their event rows, and the differences that they make to the
 * counters of a stripe, in one transaction. Pure.
 *
 * @param messages in the order of arrival; messages about the same event are folded
 * @param knownCategories the categories that always find room
 * @throws {StaleSnapshot} where the rows of the snapshot do not fit together
 * @throws {DamagedRow}
 */
export const planCommit = (
  snapshot: ShardSnapshot,
  messages: readonly KeyedMessage[],
  knownCategories: ReadonlySet<string> = new Set(),
): CommitPlan => {
  const draft = new Draft(snapshot, knownCategories);
  for (const message of messages) draft.take(message);
  const { outcomes, events, changes } = draft;
  if (events.size === 0) return { outcomes, writes: [], rows: new Map() };
  const counters = planCounters(snapshot, differencesOf(changes));
  return {
    outcomes,
    writes: [
      ...counters.writes,
      ...Array.from(events, ([key, event]) => eventWrite(key, ofKind(snapshot.rows.get(key), 'event')?.etag, event)),
    ],
    rows: new Map([
      ...counters.rows,
      ...Array.from(events, ([key, value]): [string, ShardRow] => [key, { kind: 'event', value }]),
    ]),
  };
};
