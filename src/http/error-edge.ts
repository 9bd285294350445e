import type { HttpRequest, HttpResponseInit } from '@azure/functions';

import { DayHeld } from '../analytics/errors.ts';
import type { Log } from '../log.ts';
import { DamagedRow, LaterFormat, StorageTrouble } from '../storage/errors.ts';
import { Problem, problemResponse } from './problem.ts';

/** In seconds. */
const RETRY_AFTER = { 'retry-after': '5' };

type Handler = (request: HttpRequest, log: Log) => Promise<HttpResponseInit>;

/**
 * The error edge: wraps every handler, so that every error becomes a problem. This is the one place where the errors of
 * `analytics` and `calls` get a status.
 */
export const answeringErrors =
  (handle: Handler): Handler =>
  async (request, log) => {
    try {
      return await handle(request, log);
    } catch (error) {
      return problemResponse(problemFor(error, log));
    }
  };

const problemFor = (error: unknown, log: Log): Problem => {
  if (error instanceof Problem) return error;
  if (error instanceof StorageTrouble) {
    log.warn('storage unavailable', { reason: error.reason });
    return new Problem('storage_unavailable', { headers: RETRY_AFTER });
  }
  if (error instanceof DayHeld) return dayHeldProblem(error, log);
  if (error instanceof DamagedRow) return damagedRowProblem(error, log);
  if (error instanceof LaterFormat) {
    log.error('stored row of a later format', { partition: error.partitionKey, row: error.rowKey });
    return new Problem('later_format');
  }
  logUnexpected(error, log);
  return new Problem('unexpected');
};

/** A partition key starts with its UTC day (analytics/rows/keys.ts). */
const dayIn = (partition: string): string | undefined => /^\d{4}-\d{2}-\d{2}/.exec(partition)?.[0];

/** A warning, which raises no alert: an operator is rebuilding the counters of the day. */
const dayHeldProblem = ({ partition }: DayHeld, log: Log): Problem => {
  const day = dayIn(partition);
  log.warn('day held', { day });
  return new Problem('day_held', {
    detail: `The counters of ${day ?? 'a day'} are being rebuilt. Send the request again later: the service counts no event twice.`,
    headers: RETRY_AFTER,
  });
};

const damagedRowProblem = ({ partitionKey, rowKey }: DamagedRow, log: Log): Problem => {
  const day = dayIn(partitionKey);
  log.error('stored row damaged', {
    partition: partitionKey,
    row: rowKey,
    command: `npm run audit -- --date ${day ?? 'YYYY-MM-DD'}`,
  });
  // Row keys hold ids of cameras and events: the answer names the day alone.
  const where = day === undefined ? '' : ` of ${day}`;
  return new Problem('damaged_data', {
    detail: `Stored data${where} is damaged. The log names the command that examines it.`,
  });
};

const MAX_FRAMES = 8;

/** Logs an unexpected error: its kind and its frames, without its message: an SDK's may hold keys or phone numbers. */
export const logUnexpected = (error: unknown, log: Log): void => {
  const { name: kind, stack = '' } = error instanceof Error ? error : { name: typeof error };
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const at = frames.slice(0, MAX_FRAMES).map((line) => line.trim());
  log.error('unexpected error', { kind, at: at.join(' < ') || undefined });
};
