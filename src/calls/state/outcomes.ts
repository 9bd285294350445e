import * as z from 'zod';
import { notificationIdSchema } from '../model/ids.ts';
import { DESTINATIONS } from '../model/outcomes.ts';
import { type AnyCase, reachedTooFew, wavesOf } from './notification.ts';
import { FINAL_STATES, isFinal } from './recipient.ts';

// The outcomes of a commit: small entries that are stored with it, until every destination has them.

const entrySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('recipient'), index: z.int(), status: z.enum(FINAL_STATES) }),
  /** The notification was stopped, or is over. */
  z.object({ kind: z.enum(['stopped', 'completed']) }),
  /** A person handles the alert. */
  z.object({ kind: z.literal('acknowledged'), times: z.int(), by: z.string() }),
]);

export type OutcomeEntry = Readonly<z.output<typeof entrySchema>>;

/** `log`: the log of this app, for outcomes that alert an operator. */
export const RECEIVERS = [...DESTINATIONS, 'log'] as const;

export type Receiver = (typeof RECEIVERS)[number];

export const outcomesSchema = z.object({
  notificationId: notificationIdSchema,
  /** When they were decided, in milliseconds since 1970. */
  at: z.number(),
  entries: z.array(entrySchema).readonly(),
});

export type Outcomes = Readonly<z.output<typeof outcomesSchema>>;

const outcomesOf = (before: AnyCase | undefined, { notification, recipients }: AnyCase): readonly OutcomeEntry[] => {
  const { stoppedAt, completedAt, acknowledged: handled } = notification;
  const was = before?.notification;
  return [
    ...recipients.flatMap((recipient, index): readonly OutcomeEntry[] =>
      isFinal(recipient) && recipient.state !== before?.recipients[index]?.state
        ? [{ kind: 'recipient', index, status: recipient.state }]
        : [],
    ),
    ...(handled !== undefined && handled.times !== was?.acknowledged?.times
      ? [{ kind: 'acknowledged', times: handled.times, by: handled.by } as const]
      : []),
    // If a stop completes the notification, only the completion is published.
    ...(stoppedAt !== was?.stoppedAt && completedAt === undefined ? [{ kind: 'stopped' } as const] : []),
    ...(completedAt !== was?.completedAt ? [{ kind: 'completed' } as const] : []),
  ];
};

/** Whether an outcome alerts an operator: a recipient was not reached, or a notification ended with too few confirmations. */
export const isAlert = (entry: OutcomeEntry, stored: AnyCase): boolean => {
  const { notification } = stored;
  if (entry.kind === 'recipient') {
    // With waves, other recipients are called: only the end alerts.
    return (entry.status === 'not_reached' || entry.status === 'failed') && wavesOf(notification) === undefined;
  }
  return entry.kind === 'completed' && notification.confirm && reachedTooFew(stored);
};

/** The outcomes between two states of a notification, with their receivers; undefined: no outcome. @param before undefined: it is new */
export const outcomesToDeliver = (
  before: AnyCase | undefined,
  after: AnyCase,
  destinations: readonly Receiver[],
  at: number,
): (Outcomes & { readonly to: readonly Receiver[] }) | undefined => {
  const entries = outcomesOf(before, after);
  const isToLog = entries.some((entry) => isAlert(entry, after));
  const to: readonly Receiver[] = isToLog ? [...destinations, 'log'] : destinations;
  if (entries.length === 0 || to.length === 0) return undefined;
  return { notificationId: after.notification.id, at, entries, to };
};
