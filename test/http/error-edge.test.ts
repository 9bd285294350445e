import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { RecorderUnavailable } from '../../src/analytics/errors.ts';
import { DamagedRow, RequestRefused, StorageTrouble, WriteConflict } from '../../src/storage/errors.ts';
import { answeringErrors } from '../../src/http/error-edge.ts';
import { Problem } from '../../src/http/problem.ts';
import { ask, problemOf } from './asking.ts';

const SECRET = 'AccountKey=c2VjcmV0 +12065550100';

const throwing = (error: unknown) =>
  answeringErrors(() => {
    throw error;
  });

/** What is answered to an error, and the log's lines about it. */
const answeredAndLogged = async (error: unknown) => {
  const lines: unknown[] = [];
  const answer = await ask(throwing(error), '/', {}, (line) => lines.push(line));
  return { problem: problemOf(answer), said: JSON.stringify(answer.body), lines };
};

describe('an error', () => {
  it('that names its status is answered as a problem with all it says', async () => {
    const answer = await ask(
      throwing(
        new Problem(400, {
          detail: 'Two things are wrong.',
          errors: [
            { field: 'date', detail: 'is empty' },
            { index: 3, detail: 'is no event' },
          ],
          extensions: { recorded: 5 },
          headers: { 'x-more': 'yes' },
        }),
      ),
      '/',
    );
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.headers.get('x-more')).toBe('yes');
    expect(answer.body).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail: 'Two things are wrong.',
      errors: [
        { field: 'date', detail: 'is empty' },
        { index: 3, detail: 'is no event' },
      ],
      recorded: 5,
    });
  });

  it.each([
    ['storage that does not answer', new StorageTrouble(7_000, { cause: new Error(SECRET) })],
    ['a recorder that cannot record', new RecorderUnavailable(SECRET)],
  ])('of %s is a 503 that says when to come again', async (_what, error) => {
    const answer = await ask(throwing(error), '/');
    expect(problemOf(answer)).toMatchObject({ status: 503, detail: expect.stringContaining('Nothing is lost') });
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(JSON.stringify(answer.body)).not.toContain('secret');
  });

  it.each([
    ['2026-11-21_00', 'event|0800|ridge-04|f-1029', 'Stored data of 2026-11-21 is damaged.', '2026-11-21'],
    ['2026-11-21', 'shards', 'Stored data of 2026-11-21 is damaged.', '2026-11-21'],
    ['elsewhere', 'ridge-04', 'Stored data is damaged.', 'YYYY-MM-DD'],
  ])(
    'about a damaged row is a 500 that says so without its key, which the log names: %s %s',
    async (partition, row, detail, date) => {
      const { problem, said, lines } = await answeredAndLogged(new DamagedRow(partition, row, SECRET));
      expect(problem).toMatchObject({ status: 500, detail: expect.stringContaining(detail) });
      expect(said).not.toMatch(/ridge-04|f-1029|AccountKey/);
      expect(lines).toEqual([
        {
          event: 'stored row damaged',
          partition,
          row,
          command: `npm run audit -- --date ${date}`,
          invocation_id: expect.any(String),
        },
      ]);
    },
  );

  it.each([
    ['localhost:8080', ' --port 8080'],
    ['localhost:7071', ''],
    ['func-1.azurewebsites.net', ''],
  ])('names the command for the local run that it is in: %s', async (hostname, port) => {
    vi.stubEnv('WEBSITE_HOSTNAME', hostname);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { lines } = await answeredAndLogged(new DamagedRow('2026-11-21_00', 'total', SECRET));
    expect(lines).toMatchObject([{ command: `npm run audit -- --date 2026-11-21${port}` }]);
  });

  it.each<[string, unknown]>([
    ['an Error', new Error(SECRET)],
    ['a TypeError with a cause', new TypeError(SECRET, { cause: SECRET })],
    ['a conflict that nobody handled', new WriteConflict(0, { cause: SECRET })],
    ['a refusal that nobody handled', new RequestRefused(400)],
    ['a text', SECRET],
    ['nothing', undefined],
    ['an object', { message: SECRET, stack: SECRET }],
  ])('that nobody expected is a 500 that says nothing, and neither does the log: %s', async (_what, error) => {
    const { problem, said, lines } = await answeredAndLogged(error);
    expect(problem.status).toBe(500);
    expect(lines).toMatchObject([{ event: 'unexpected error', kind: expect.any(String) }]);
    expect(`${said} ${JSON.stringify(lines)}`).not.toMatch(/AccountKey|1206555/);
    expect(said).not.toMatch(/\.ts|damaged/);
  });

  it('in a handler that answers later is caught as well', async () => {
    const later = answeringErrors(async () => Promise.reject(new Problem(404, { detail: 'There is no such thing.' })));
    expect(problemOf(await ask(later, '/')).status).toBe(404);
  });

  it('that is none leaves the answer as it is', async () => {
    const fine = answeringErrors(() => ({ status: 200, jsonBody: { status: 'ok' } }));
    expect(await ask(fine, '/')).toMatchObject({ status: 200, body: { status: 'ok' } });
  });
});
