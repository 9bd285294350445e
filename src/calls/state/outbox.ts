import * as z from 'zod';

import { type Destination, DESTINATIONS } from '../model/outcomes.ts';
import { FINAL_STATES, isFinal, type Recipient } from './recipient.ts';

// The outcomes of a notification that are not published yet: a list for each destination, oldest first. Times are in milliseconds since 1970.

const entrySchema = z.discriminatedUnion('kind', [
  /** A recipient is final. */
  z.object({ kind: z.literal('recipient'), at: z.number(), index: z.int(), status: z.enum(FINAL_STATES) }),
  /** The notification was stopped, or is over. */
  z.object({ kind: z.enum(['stopped', 'completed']), at: z.number() }),
  /** A person handles the alert. */
  z.object({ kind: z.literal('acknowledged'), at: z.number(), times: z.int(), by: z.string() }),
]);

/** One outcome to publish. */
export type OutboxEntry = Readonly<z.output<typeof entrySchema>>;

const listSchema = z.object({
  /** No try before: an instance is publishing until then, or the destination did not take the entries. */
  tryAt: z.number(),
  entries: z.array(entrySchema).readonly(),
});

/** The outbox as it is stored. */
export const outboxSchema = z.partialRecord(z.enum(DESTINATIONS), listSchema);

/** The outcomes that are not published yet. */
export type Outbox = Readonly<z.output<typeof outboxSchema>>;

/** The lease of an instance that publishes, which takes less. After that, another instance publishes the same entries. */
const LEASE_MS = 30_000;
/** How long a destination is tried. */
const TRIED_FOR_MS = 24 * 3_600_000;
/** The newest acknowledgements are kept: their number has no bound, the size of a row has. */
const MOST_ACKNOWLEDGED = 20;
/** A pause is as long as the destination has been tried, within these bounds. */
const SHORTEST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 600_000;

/** Whether everything is published. */
export const isEmpty = (outbox: Outbox): boolean => DESTINATIONS.every((to) => (outbox[to]?.entries.length ?? 0) === 0);

/** The entries to publish now; {@link claimedOutbox} claims them. */
export const dueEntries = (outbox: Outbox, to: Destination, now: number): readonly OutboxEntry[] => {
  const list = outbox[to];
  return list === undefined || now < list.tryAt ? [] : list.entries;
};

/** A notification, as far as its outcomes are published. */
interface Told {
  readonly notification: {
    readonly stoppedAt?: number | undefined;
    readonly completedAt?: number | undefined;
    readonly acknowledged?: { readonly by: string; readonly times: number } | undefined;
  };
  readonly recipients: readonly Recipient[];
  readonly outbox: Outbox;
}

/** A notification with the outcomes of a change in its outbox. */
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
    // If a stop completes the notification, only the completion is published.
    ...(stoppedAt !== was?.stoppedAt && completedAt === undefined ? [{ kind: 'stopped', at: now } as const] : []),
    ...(completedAt !== was?.completedAt ? [{ kind: 'completed', at: now } as const] : []),
  ];
};

/** The outbox while an instance publishes the due entries of a destination; the same object if none is due. */
export const claimedOutbox = (outbox: Outbox, to: Destination, now: number): Outbox => {
  const entries = dueEntries(outbox, to, now);
  return entries.length === 0 ? outbox : { ...outbox, [to]: { entries, tryAt: now + LEASE_MS } };
};

/** The outbox without entries that were published or dropped. Newer entries are due now. */
export const withoutEntries = (outbox: Outbox, to: Destination, told: readonly OutboxEntry[]): Outbox => {
  const gone = new Set(told.map((entry) => JSON.stringify(entry)));
  const entries = (outbox[to]?.entries ?? []).filter((entry) => !gone.has(JSON.stringify(entry)));
  return { ...outbox, [to]: { entries, tryAt: 0 } };
};

/** The outbox after a destination did not take the entries: another try after a pause. */
export const putOff = (outbox: Outbox, to: Destination, now: number): Outbox => {
  const entries = outbox[to]?.entries ?? [];
  const triedMs = now - (entries[0]?.at ?? now);
  return {
    ...outbox,
    [to]: { entries, tryAt: now + Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, triedMs)) },
  };
};

/** The entries that were tried for too long. */
export const expiredEntries = (outbox: Outbox, to: Destination, now: number): readonly OutboxEntry[] =>
  (outbox[to]?.entries ?? []).filter(({ at }) => now - at >= TRIED_FOR_MS);
