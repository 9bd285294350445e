import * as z from 'zod';

import { type Destination, DESTINATIONS } from '../model/outcomes.ts';
import { FINAL_STATES, isFinal, type Recipient } from './recipient.ts';

// What others must still be told of a notification: a list for each destination, oldest first. Times are in milliseconds since 1970.

const entrySchema = z.discriminatedUnion('kind', [
  /** A recipient is final. */
  z.object({ kind: z.literal('recipient'), at: z.number(), index: z.int(), status: z.enum(FINAL_STATES) }),
  /** The notification was stopped, or is over. */
  z.object({ kind: z.enum(['stopped', 'completed']), at: z.number() }),
  /** Somebody has it in hand. */
  z.object({ kind: z.literal('acknowledged'), at: z.number(), times: z.int(), by: z.string() }),
]);

/** One thing to tell. */
export type OutboxEntry = Readonly<z.output<typeof entrySchema>>;

const listSchema = z.object({
  /** Not told before: an instance is telling it until then, or the destination did not take it. */
  tryAt: z.number(),
  entries: z.array(entrySchema).readonly(),
});

/** The lists as they are stored. */
export const outboxSchema = z.partialRecord(z.enum(DESTINATIONS), listSchema);

/** What others must still be told. */
export type Outbox = Readonly<z.output<typeof outboxSchema>>;

/** An instance that tells something has so long. It is longer than telling takes; if the instance dies, another tells it then. */
const TOLD_WITHIN_MS = 30_000;
/** How long a destination is tried. */
const TRIED_FOR_MS = 24 * 3_600_000;
/** So many acknowledgements wait to be told, the newest: there is no end of them, and a row is bounded. */
const MOST_ACKNOWLEDGED = 20;
/** Pauses between tries: as long as it has been tried, between these two. */
const SHORTEST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 600_000;

/** Whether nothing is left to tell. */
export const isEmpty = (outbox: Outbox): boolean => DESTINATIONS.every((to) => (outbox[to]?.entries.length ?? 0) === 0);

/** What is to be told to a destination now; the same entries are claimed with {@link claimedOutbox} before. */
export const dueEntries = (outbox: Outbox, to: Destination, now: number): readonly OutboxEntry[] => {
  const list = outbox[to];
  return list === undefined || now < list.tryAt ? [] : list.entries;
};

/** What others are told of. */
interface Told {
  readonly notification: {
    readonly stoppedAt?: number | undefined;
    readonly completedAt?: number | undefined;
    readonly acknowledged?: { readonly by: string; readonly times: number } | undefined;
  };
  readonly recipients: readonly Recipient[];
  readonly outbox: Outbox;
}

/** A notification with what a change brought to be told. */
export const withNews = <Case extends Told>(
  before: Told | undefined,
  after: Case,
  destinations: readonly Destination[],
  now: number,
): Case => {
  const news = newsOf(before, after, now);
  if (news.length === 0) return after;
  const lists = destinations.map((to) => {
    const { entries = [], tryAt = 0 } = after.outbox[to] ?? {};
    return [to, { entries: bounded([...entries, ...news]), tryAt }] as const;
  });
  return { ...after, outbox: { ...after.outbox, ...Object.fromEntries(lists) } };
};

const bounded = (entries: readonly OutboxEntry[]): readonly OutboxEntry[] => {
  const dropped = new Set(entries.filter(({ kind }) => kind === 'acknowledged').slice(0, -MOST_ACKNOWLEDGED));
  return entries.filter((entry) => !dropped.has(entry));
};

const newsOf = (before: Told | undefined, { notification, recipients }: Told, now: number): readonly OutboxEntry[] => {
  const { stoppedAt, completedAt, acknowledged } = notification;
  const was = before?.notification;
  return [
    ...recipients.flatMap((recipient, index): readonly OutboxEntry[] =>
      isFinal(recipient) && recipient.state !== before?.recipients[index]?.state
        ? [{ kind: 'recipient', at: now, index, status: recipient.state }]
        : [],
    ),
    ...(acknowledged !== undefined && acknowledged.times !== was?.acknowledged?.times
      ? [{ kind: 'acknowledged', at: now, times: acknowledged.times, by: acknowledged.by } as const]
      : []),
    // A stop that ends it is told once.
    ...(stoppedAt !== was?.stoppedAt && completedAt === undefined ? [{ kind: 'stopped', at: now } as const] : []),
    ...(completedAt !== was?.completedAt ? [{ kind: 'completed', at: now } as const] : []),
  ];
};

/** The outbox while an instance tells what is due to a destination. */
export const claimedOutbox = (outbox: Outbox, to: Destination, now: number): Outbox => ({
  ...outbox,
  [to]: { entries: outbox[to]?.entries ?? [], tryAt: now + TOLD_WITHIN_MS },
});

/** The outbox after entries were told, or dropped. What came meanwhile is due now. */
export const withoutEntries = (outbox: Outbox, to: Destination, told: readonly OutboxEntry[]): Outbox => {
  const gone = new Set(told.map((entry) => JSON.stringify(entry)));
  const entries = (outbox[to]?.entries ?? []).filter((entry) => !gone.has(JSON.stringify(entry)));
  return { ...outbox, [to]: { entries, tryAt: 0 } };
};

/** The outbox after a destination did not take what is due. */
export const putOff = (outbox: Outbox, to: Destination, now: number): Outbox => {
  const entries = outbox[to]?.entries ?? [];
  const triedMs = now - (entries[0]?.at ?? now);
  return {
    ...outbox,
    [to]: { entries, tryAt: now + Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, triedMs)) },
  };
};

/** What was tried for too long. */
export const expiredEntries = (outbox: Outbox, to: Destination, now: number): readonly OutboxEntry[] =>
  (outbox[to]?.entries ?? []).filter(({ at }) => now - at >= TRIED_FOR_MS);
