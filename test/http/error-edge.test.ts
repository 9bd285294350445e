import type { HttpHandler } from '@azure/functions';
import { expect, it } from 'vitest';

import { DayHeld } from '../../src/analytics/errors.ts';
import { answeringErrors } from '../../src/http/error-edge.ts';
import { Problem } from '../../src/http/problem.ts';
import { inInvocation } from '../../src/log.ts';
import { DamagedRow, LaterFormat, StorageTrouble, WriteConflict } from '../../src/storage/errors.ts';
import { ask, problemOf } from './asking.ts';

const SECRET = 'AccountKey=c2VjcmV0 +12065550100';

/** The answer to an error, and the log's lines about it. */
const answeredAndLogged = async (error: unknown) => {
  const lines: unknown[] = [];
  const throwing = answeringErrors(async () => {
    throw error;
  });
  const handler: HttpHandler = async (request, context) => inInvocation(context, async (log) => throwing(request, log));
  const answer = await ask(handler, '/', {}, (line) => lines.push(line));
  expect(JSON.stringify([answer.body, lines])).not.toMatch(/AccountKey|1206555/);
  return { answer, lines };
};

it('a problem is answered with all its parts', async () => {
  const errors = [{ code: 'empty', index: 3, field: 'date', detail: 'is empty' }] as const;
  const said = { detail: 'One thing is wrong.', errors };
  const { answer, lines } = await answeredAndLogged(
    new Problem('events_refused', { ...said, extensions: { recorded: 5 }, headers: { 'x-more': 'yes' } }),
  );
  expect(Object.fromEntries(answer.headers)).toEqual({ 'content-type': 'application/problem+json', 'x-more': 'yes' });
  const title = 'Some events are invalid: see errors. Valid events are stored';
  const type = '/api/problems#events_refused';
  expect(answer.body).toEqual({ type, title, status: 400, code: 'events_refused', ...said, recorded: 5 });
  expect([answer.status, lines]).toEqual([400, []]);
});

const lateRow = new LaterFormat({ partitionKey: '2026-11-21_00', rowKey: 'total' }, 9, 8);
const damaged = (partition: string) => new DamagedRow(partition, 'event|0800|ridge-04|f-1029', SECRET);
const command = (date: string) => ({ row: 'event|0800|ridge-04|f-1029', command: `npm run audit -- --date ${date}` });

it.each<[error: unknown, status: number, code: string, retryAfter: string | null, event: string, more?: object]>([
  [new StorageTrouble(7_000, { cause: SECRET }), 503, 'storage_unavailable', '5', 'storage unavailable'],
  [new DayHeld('2026-11-21.03'), 503, 'day_held', '5', 'day held', { day: '2026-11-21' }],
  [damaged('2026-11-21_00'), 500, 'damaged_data', null, 'stored row damaged', command('2026-11-21')],
  [damaged('2026-11-21'), 500, 'damaged_data', null, 'stored row damaged', command('2026-11-21')],
  [damaged('elsewhere'), 500, 'damaged_data', null, 'stored row damaged', command('YYYY-MM-DD')],
  [lateRow, 500, 'later_format', null, 'stored row of a later format', { partition: '2026-11-21_00', row: 'total' }],
  [new Error(SECRET), 500, 'unexpected', null, 'unexpected error', { kind: 'Error', at: expect.any(String) }],
  [new WriteConflict(0, { cause: SECRET }), 500, 'unexpected', null, 'unexpected error', { kind: 'WriteConflict' }],
  [SECRET, 500, 'unexpected', null, 'unexpected error', { kind: 'string' }],
  [{ message: SECRET, stack: SECRET }, 500, 'unexpected', null, 'unexpected error', { kind: 'object' }],
])('%s is a %i %s, without secrets', async (error, status, code, retryAfter, event, more = {}) => {
  const { answer, lines } = await answeredAndLogged(error);
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, retryAfter]);
  expect(answer.body).toMatchObject({ code });
  // Row keys hold ids of cameras and events.
  expect(problemOf(answer).detail).not.toMatch(/ridge-04|elsewhere/);
  expect(lines).toMatchObject([{ event, ...more, invocation_id: expect.any(String) }]);
});
