import { createHash } from 'node:crypto';

import * as z from 'zod';

import { ALERT_TYPE_NAMES } from '../alert-types.ts';
import type { CallId } from '../call-id.ts';
import type { CallRecord } from '../call-record.ts';
import type { RowAddress, RowValues, StoredRow } from './calls-table.ts';
import { isMaskedNumber, type MaskedNumber } from '../phone-number.ts';

// 256 partitions spread the calls over the table's servers.
const partitionOf = (id: string): string => createHash('sha256').update(id).digest('hex').slice(0, 2);

/** The row of a call's record. */
export const callRowAddress = (callId: CallId): RowAddress => ({
  partitionKey: partitionOf(callId),
  rowKey: `call|${callId}`,
});

/** The row of a request to place a call, which has no call id yet. */
export const requestRowAddress = (requestId: string): RowAddress => ({
  partitionKey: partitionOf(requestId),
  rowKey: `request|${requestId}`,
});

/** Where the answer to a notification with an `Idempotency-Key` is. The key is the caller's: only its hash goes into the row's key. */
export const answerRowAddress = (idempotencyKey: string): RowAddress => {
  const hash = createHash('sha256').update(idempotencyKey).digest('hex');
  return { partitionKey: hash.slice(0, 2), rowKey: `answer|${hash}` };
};

const time = z
  .date()
  .transform((date) => date.getTime())
  .optional();

const callRowSchema = z.object({
  state: z.enum(['establishing', 'playing', 'hanging_up', 'hung_up', 'failed']),
  alertType: z.enum(ALERT_TYPE_NAMES),
  recipient: z.custom<MaskedNumber>(isMaskedNumber).optional(),
  requestId: z.string().optional(),
  placedAt: time,
  playingAt: time,
  playConfirmedAt: time,
  hangingUpAt: time,
  endsAs: z.enum(['hung_up', 'failed']).optional(),
  endedAt: time,
  disconnectedAt: time,
  code: z.number().int().optional(),
  subCode: z.number().int().optional(),
  reason: z.string().optional(),
});

/** A stored row → the call's record; undefined where the row is damaged or of another version. */
export const parseCallRow = (row: StoredRow): CallRecord | undefined => {
  const parsed = callRowSchema.safeParse(row.values);
  return parsed.success ? parsed.data : undefined;
};

/** A call's record → the values of its row. Times become dates, so that a storage browser shows them as dates. */
export const callRowValues = (record: CallRecord): RowValues => {
  const { placedAt, playingAt, playConfirmedAt, hangingUpAt, endedAt, disconnectedAt, ...rest } = record;
  return {
    ...rest,
    placedAt: dateOf(placedAt),
    playingAt: dateOf(playingAt),
    playConfirmedAt: dateOf(playConfirmedAt),
    hangingUpAt: dateOf(hangingUpAt),
    endedAt: dateOf(endedAt),
    disconnectedAt: dateOf(disconnectedAt),
  };
};

const dateOf = (ms: number | undefined): Date | undefined => (ms === undefined ? undefined : new Date(ms));
