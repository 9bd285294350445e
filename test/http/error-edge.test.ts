import { describe, expect, it } from 'vitest';

import { RecorderUnavailable } from '../../src/analytics/errors.ts';
import { DamagedRow, LaterFormat, StorageTrouble, WriteConflict } from '../../src/storage/errors.ts';
import { answeringErrors } from '../../src/http/error-edge.ts';
import { Problem } from '../../src/http/problem.ts';
import { ask, problemOf } from './asking.ts';

const SECRET = 'AccountKey=c2VjcmV0 +12065550100';

/** What is answered to an error, and the log's lines about it. */
const answeredAndLogged = async (error: unknown) => {
  const lines: unknown[] = [];
  const throwing = answeringErrors(async () => {
    throw error;
  });
  const answer = await ask(throwing, '/', {}, (line) => lines.push(line));
  return { answer, problem: problemOf(answer), lines };
};

describe('an error', () => {
  it('that names its status is answered as a problem with all it says', async () => {
    const errors = [
      { code: 'empty', field: 'date', detail: 'is empty' },
      { code: 'invalid', index: 3, detail: 'is no event' },
    ] as const;
    const said = { detail: 'Two things are wrong.', errors };
    const { answer, lines } = await answeredAndLogged(
      new Problem('events_refused', { ...said, extensions: { recorded: 5 }, headers: { 'x-more': 'yes' } }),
    );
    expect(answer.status).toBe(400);
    expect(Object.fromEntries(answer.headers)).toEqual({ 'content-type': 'application/problem+json', 'x-more': 'yes' });
    expect(answer.body).toEqual({
      type: '/api/problems#events_refused',
      title: 'Some events are invalid: see errors. Valid events are stored',
      status: 400,
      code: 'events_refused',
      ...said,
      recorded: 5,
    });
    expect(lines).toEqual([]);
  });

  it.each([
    ['storage that does not answer', new StorageTrouble(7_000, { cause: new Error(SECRET) })],
    ['a recorder that cannot record', new RecorderUnavailable(SECRET)],
  ])('of %s is a 503 that says when to come again', async (_what, error) => {
    const { answer, problem } = await answeredAndLogged(error);
    const detail = 'Storage is unavailable. Send the same request again later: nothing is lost.';
    expect(problem).toEqual({ status: 503, detail });
    expect(answer.headers.get('retry-after')).toBe('5');
  });

  it.each([
    ['2026-11-21_00', 'event|0800|ridge-04|f-1029', ' of 2026-11-21', '2026-11-21'],
    ['2026-11-21', 'shards', ' of 2026-11-21', '2026-11-21'],
    ['elsewhere', 'ridge-04', '', 'YYYY-MM-DD'],
  ])('about a damaged row is a 500 without its key, which the log names: %s %s', async (partition, row, of, date) => {
    const { answer, problem, lines } = await answeredAndLogged(new DamagedRow(partition, row, SECRET));
    const detail = `Stored data${of} is damaged. The log names the command that examines it.`;
    expect(problem).toEqual({ status: 500, detail });
    expect(answer.headers.has('retry-after')).toBe(false);
    const command = `npm run audit -- --date ${date}`;
    expect(lines).toEqual([
      { event: 'stored row damaged', partition, row, command, invocation_id: expect.any(String) },
    ]);
  });

  it('about a row of a later version of the service is a 500 that says so', async () => {
    const { problem, lines } = await answeredAndLogged(
      new LaterFormat({ partitionKey: '2026-11-21_00', rowKey: 'total' }, 9, 8),
    );
    const detail = 'A newer version of the service wrote the stored data. This version cannot read it.';
    expect(problem).toEqual({ status: 500, detail });
    expect(lines).toMatchObject([{ event: 'stored row of a later format', row: 'total' }]);
  });

  it.each<[string, unknown]>([
    ['an Error', new Error(SECRET)],
    ['a conflict that nobody handled', new WriteConflict(0, { cause: SECRET })],
    ['a text', SECRET],
    ['an object', { message: SECRET, stack: SECRET }],
  ])('that nobody expected is a 500 that says nothing, and neither does the log: %s', async (_what, error) => {
    const { problem, lines } = await answeredAndLogged(error);
    expect(problem).toEqual({ status: 500, detail: 'The service failed unexpectedly. The log has the error.' });
    expect(lines).toMatchObject([{ event: 'unexpected error', kind: expect.any(String) }]);
    expect(JSON.stringify(lines)).not.toMatch(/AccountKey|1206555/);
  });
});
