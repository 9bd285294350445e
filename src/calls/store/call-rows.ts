import { hash } from 'node:crypto';

import * as z from 'zod';

import { ALERT_TYPE_NAMES } from '../alert-types.ts';
import type { CallId } from '../call-id.ts';
import type { CallRecord } from '../call-record.ts';
import { isMaskedNumber, type MaskedNumber } from '../phone-number.ts';
import type { RowAddress, RowValues, StoredRow } from './calls-table.ts';

// 256 partitions spread the calls over the table's servers.
const partitionOf = (id: string): string => hash('sha256', id).slice(0, 2);

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

/** Stored as a date, so that a storage browser shows it as one; milliseconds since 1970 in the record. */
const time = z
  .codec(z.date(), z.number(), { decode: (date) => date.getTime(), encode: (ms) => new Date(ms) })
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
export const parseCallRow = (row: StoredRow): CallRecord | undefined => callRowSchema.safeParse(row.values).data;

/** A call's record → the values of its row. */
export const callRowValues = (record: CallRecord): RowValues => callRowSchema.encode(record);
