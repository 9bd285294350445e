import { beforeEach, describe, expect, it } from 'vitest';
import { ALERT_TYPES } from '../../src/calls/model/alert-types.ts';
import type { CallEvent } from '../../src/calls/model/phone-line.ts';
import { parseCallEvents } from '../../src/calls/providers/acs/call-events.ts';
import type { TokenVerdict } from '../../src/calls/providers/callbacks.ts';
import { callback } from '../../src/http/callback.ts';
import { RefusalLog } from '../../src/http/refusal-log.ts';
import { ask, problemOf } from './asking.ts';

const event = (data: unknown, more: object = {}) => ({
  id: 'an-event',
  source: 'calling/callConnections/x',
  type: 'Microsoft.Communication.CallConnected',
  specversion: '1.0',
  data,
  ...more,
});

let verdict: TokenVerdict;
let handled: CallEvent[];
let lines: unknown[];
beforeEach(() => {
  [verdict, handled, lines] = ['valid', [], []];
});

const callbackOf = (refusals = new RefusalLog()) =>
  callback(ALERT_TYPES[0], {
    handle: async (events) => {
      handled.push(...events);
      // Storage could not be used.
      return Promise.resolve(false);
    },
    messageOf: async () => Promise.reject(new Error('asked by forms alone')),
    parseEvents: parseCallEvents,
    verifyToken: async () => Promise.resolve(verdict),
    refusals,
  }).handler;

const post = async (body: unknown, handler = callbackOf(), headers: Readonly<Record<string, string>> = {}) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return ask(handler, '/api/AnomalyCallback', { method: 'POST', body: text, headers }, (line) => lines.push(line));
};

const NO_ARRAY = 'The body is not a JSON array of CloudEvents.';
const NO_EVENT = 'is not a CloudEvent 1.0: id, source, type and specversion "1.0" are required';

describe('a callback', () => {
  it('is handed on, and answered 200 though it is not stored; what is of another kind or has no well-formed call id is logged', async () => {
    expect(await post([event({ callConnectionId: 'a' })])).toMatchObject({ status: 200, body: undefined });
    expect([handled.length, lines]).toEqual([1, []]);

    // No request may ever be made about such an id.
    const ids = ['', '/', 'a/b', '../../admin', '..', '.', 'a%2Fb', 'a?b', 'a#b', 'a b', 'a\n', 'é', 'a:terminate'];
    const wrongIds = [...ids, 'x'.repeat(10_000), null, 7, true, {}, ['a'], undefined];
    const wrong = wrongIds.map((callConnectionId) => event({ callConnectionId }));
    await post([...wrong, event(null), event('text'), event([]), event({}, { type: 'Microsoft.Communication.Other' })]);
    expect(handled).toHaveLength(1);
    expect(lines).toMatchObject([
      { event: 'callback events of other kinds', events: 1 },
      { event: 'callback events without a call id', events: wrong.length + 3 },
    ]);
  });

  it.each<[string, unknown, number, string]>([
    ['empty', '', 400, 'The body is empty.'],
    ['no JSON', '[', 400, 'The body is not valid JSON.'],
    ['null', 'null', 400, NO_ARRAY],
    ['an event alone', event({ callConnectionId: 'a' }), 400, NO_ARRAY],
    ['too large', `"${'x'.repeat(1_048_576)}"`, 413, 'The body is larger than 1048576 bytes.'],
    ['of 10,001 events', `[${'7,'.repeat(10_000)}7]`, 413, 'The callback has 10001 events. The maximum is 10000.'],
  ])('whose body is %s is refused', async (_, body, status, detail) => {
    expect(problemOf(await post(body))).toEqual({ status, detail });
  });

  it('with elements that are no CloudEvents is refused as a whole, and they are named', async () => {
    const wrong = [
      7,
      null,
      [],
      {},
      ...[undefined, 7, ''].map((id) => event({}, { id })),
      ...[undefined, {}, ''].map((source) => event({}, { source })),
      ...[undefined, ['Microsoft.Communication.CallConnected']].map((type) => event({}, { type })),
      ...['0.3', 1].map((specversion) => event({}, { specversion })),
      event({}, { time: 7 }),
      event({}, { subject: 7 }),
    ];
    expect(problemOf(await post([event({ callConnectionId: 'a' }), ...wrong]))).toEqual({
      status: 400,
      detail: `${wrong.length} of ${wrong.length + 1} elements are not CloudEvents.`,
      errors: wrong.map((_, index) => ({ index: index + 1, detail: NO_EVENT })),
    });
    expect(handled).toEqual([]);
    const { errors } = problemOf(await post(`[${'7,'.repeat(9_999)}7]`));
    expect(errors, 'the first of them').toHaveLength(50);
  });

  it('is refused by its token before its body is looked at, with one line in the log for many refusals', async () => {
    const handler = callbackOf();
    verdict = 'invalid';
    const answers = [
      await post('{', handler),
      await post('x', handler),
      await post('', handler, { authorization: 'x' }),
    ];
    for (const answer of answers) {
      expect(problemOf(answer)).toEqual({ status: 401, detail: 'The token or signature is missing or invalid.' });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
    verdict = 'unknown';
    const later = await post([], handler);
    expect(problemOf(later)).toEqual({
      status: 503,
      detail: 'The service cannot get the keys that verify the token. Send the callback again later.',
    });
    expect(later.headers.get('retry-after')).toBe('2');
    expect(lines).toMatchObject([
      { event: 'callback refused', reason: 'no token', refused: 1 },
      { event: 'callback refused', reason: 'token not valid', refused: 1 },
      { event: 'callback refused', reason: 'keys unreachable', refused: 1 },
    ]);
  });
});
