import { hash } from 'node:crypto';

import * as z from 'zod';

import { type CallId, parseCallId } from '../call-id.ts';
import type { CallOutcome } from '../place-calls.ts';
import type { RowAddress, RowValues, StoredRow } from './calls-table.ts';

/** A notification request with an `Idempotency-Key`, as it is stored. */
export interface AnswerRow {
  /** Of the request that used the key first. */
  readonly fingerprint: string;
  /** When that request came. */
  readonly orderedAt: Date;
  /** Its answer; undefined while it is in progress. */
  readonly outcomes?: readonly CallOutcome[];
}

/** The row of an `Idempotency-Key`. The key is hashed: its characters are the caller's, and not all may stand in a row key. */
export const answerRowAddress = (idempotencyKey: string): RowAddress => {
  const hashed = hash('sha256', idempotencyKey);
  return { partitionKey: hashed.slice(0, 2), rowKey: `answer|${hashed}` };
};

const callId = z.custom<CallId>((value) => parseCallId(value) !== undefined);

const outcomesSchema = z.array(
  z.discriminatedUnion('status', [
    z.object({ status: z.literal('placed'), callId }),
    z.object({ status: z.literal('failed'), reason: z.string() }),
  ]),
);

const jsonOutcomes = z.string().transform((text, context) => {
  try {
    return outcomesSchema.parse(JSON.parse(text));
  } catch {
    context.addIssue('not the outcomes of calls');
    return z.NEVER;
  }
});

const answerRowSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('in_progress'), fingerprint: z.string(), orderedAt: z.date() }),
  z.object({ state: z.literal('done'), fingerprint: z.string(), orderedAt: z.date(), outcomes: jsonOutcomes }),
]);

/** A stored row → its request; undefined where the row is damaged or of another version. */
export const parseAnswerRow = (row: StoredRow): AnswerRow | undefined => answerRowSchema.safeParse(row.values).data;

/** A request → the values of its row. */
export const answerRowValues = ({ outcomes, ...row }: AnswerRow): RowValues =>
  outcomes === undefined
    ? { ...row, state: 'in_progress' }
    : { ...row, state: 'done', outcomes: JSON.stringify(outcomes) };
