import { dueKey, moveDue } from './due-rows.ts';
import { writeOver } from './notification-changes.ts';
import { dayRowKey, dayValues, parseDayRow } from './notification-rows.ts';
import type { RowChange, Rows } from './rows.ts';
import { demand, readRow } from './stored-notifications.ts';

/** Bounds that the store keeps. */
export interface StoreRules {
  /** How many calls a UTC day may have. */
  readonly callsPerDay: number;
  /** How long rows are kept, in milliseconds. */
  readonly retentionMs: number;
}

const DAY_MS = 86_400_000;

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** When a UTC day ends, in milliseconds since 1970. */
export const endOfDay = (at: number): number => (Math.floor(at / DAY_MS) + 1) * DAY_MS;

/** The changes that count more calls among those of the day, or how many are left if that is too few. */
export type Reserved = { readonly changes: readonly RowChange[] } | { readonly callsLeft: number };

/** Counts so many more calls among those of the day, with the commit that the changes become part of. */
export const reserveCalls = async (
  rows: Rows,
  calls: number,
  { callsPerDay, retentionMs }: StoreRules,
  now: number,
): Promise<Reserved> => {
  if (calls === 0) return { changes: [] };
  const day = dayOf(now);
  const row = await readRow(rows, dayRowKey(day));
  const used = row === undefined ? 0 : demand(parseDayRow(row));
  const left = Math.max(0, callsPerDay - used);
  if (calls > left) return { callsLeft: left };
  const expiry = row === undefined ? moveDue(undefined, dueKey(now + retentionMs, { kind: 'expired_day', day })) : [];
  return { changes: [writeOver(dayRowKey(day), dayValues(used + calls), row), ...expiry] };
};
