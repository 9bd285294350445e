import { hash } from 'node:crypto';

import * as z from 'zod';

import { ALERT_TYPE_NAMES } from '../alert-types.ts';
import type { CallId } from '../call-id.ts';
import { outcomeOf } from '../call-outcome.ts';
import type { CallRecord } from '../call-record.ts';
import { isMaskedNumber, type MaskedNumber } from '../phone-number.ts';
import { formatCallContext, parseCallContext } from '../call-context.ts';
import { storedTime } from './row-values.ts';
import type { RowAddress, RowValues, StoredRow } from './rows.ts';

// 256 partitions spread the calls over the table's servers.
const partitionOf = (id: string): string => hash('sha256', id).slice(0, 2);

/** The row of a call's record. */
export const callRowAddress = (callId: CallId): RowAddress => ({
  partitionKey: partitionOf(callId),
  rowKey: `call|${callId}`,
});

const time = storedTime.optional();

const callRowSchema = z.object({
  state: z.enum(['establishing', 'playing', 'hanging_up', 'ended']),
  alertType: z.enum(ALERT_TYPE_NAMES),
  recipient: z.custom<MaskedNumber>(isMaskedNumber).optional(),
  attempt: z
    .codec(z.string().optional(), z.custom<ReturnType<typeof parseCallContext>>(), {
      decode: parseCallContext,
      encode: (attempt) => (attempt === undefined ? undefined : formatCallContext(attempt)),
    })
    .optional(),
  placedAt: time,
  playingAt: time,
  playAcceptedAt: time,
  playStartedAt: time,
  playCompletedAt: time,
  playFailedAt: time,
  hangingUpAt: time,
  endedAt: time,
  disconnectedAt: time,
  gapAt: time,
  code: z.number().int().optional(),
  subCode: z.number().int().optional(),
  reason: z.string().optional(),
  meaning: z.enum(['no_answer', 'busy', 'declined', 'refused', 'throttled']).optional(),
});

/** A stored row → the call's record; undefined where the row is damaged or of another version. */
export const parseCallRow = (row: StoredRow): CallRecord | undefined => callRowSchema.safeParse(row.values).data;

/** A call's record → the values of its row. The outcome is there for those who look into the table. */
export const callRowValues = (record: CallRecord): RowValues => ({
  ...callRowSchema.encode(record),
  outcome: outcomeOf(record)?.outcome,
});
