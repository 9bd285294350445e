import { HttpRequest, InvocationContext } from '@azure/functions';
import { describe, expect, it } from 'vitest';

import { RecorderUnavailable } from '../../src/analytics/record/recorder.ts';
import { RequestRefused, StorageTrouble, WriteConflict } from '../../src/analytics/rows/table.ts';
import { answering, Problem } from '../../src/http/problem.ts';
import { storageProblem } from '../../src/http/storage-problem.ts';
import { ask, problemOf } from './asking.ts';

const SECRET = 'AccountKey=c2VjcmV0 +12065550100';

const throwing = (error: unknown) =>
  answering(() => {
    throw error;
  }, storageProblem);

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

  it.each<[string, unknown]>([
    ['an Error', new Error(SECRET)],
    ['a TypeError with a cause', new TypeError(SECRET, { cause: SECRET })],
    ['a conflict that nobody handled', new WriteConflict(SECRET)],
    ['a refusal that nobody handled', new RequestRefused(400)],
    ['a text', SECRET],
    ['nothing', undefined],
    ['an object', { message: SECRET, stack: SECRET }],
  ])('that nobody expected is a 500 that says nothing, and neither does the log: %s', async (_what, error) => {
    const lines: string[] = [];
    const context = new InvocationContext({
      functionName: 'tested',
      logHandler: (_level, ...said) => lines.push(said.map(String).join(' ')),
    });
    const init = await throwing(error)(new HttpRequest({ method: 'GET', url: 'http://localhost/' }), context);
    expect(init).toMatchObject({ status: 500 });
    const log = lines.join('\n');
    expect(log).toContain('"unexpected error"');
    expect(log).toContain(context.invocationId);
    expect(`${JSON.stringify(init)} ${log}`).not.toMatch(/AccountKey|1206555/);
    expect(JSON.stringify(init)).not.toContain('.ts');
  });

  it('in a handler that answers later is caught as well', async () => {
    const later = answering(async () => Promise.reject(new Problem(404, { detail: 'There is no such thing.' })));
    expect(problemOf(await ask(later, '/')).status).toBe(404);
  });

  it('that is none leaves the answer as it is', async () => {
    const fine = answering(() => ({ status: 200, jsonBody: { status: 'ok' } }));
    expect(await ask(fine, '/')).toMatchObject({ status: 200, body: { status: 'ok' } });
  });
});
