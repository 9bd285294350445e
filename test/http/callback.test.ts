import { getExpectedTwilioSignature } from 'twilio/lib/webhooks/webhooks.js';
import { beforeEach, describe, expect, it } from 'vitest';
import { ALERT_TYPES } from '../../src/calls/model/alert-types.ts';
import type { CallEvent } from '../../src/calls/model/phone-provider.ts';
import { parseCallEvents } from '../../src/calls/providers/acs/call-events.ts';
import type { TokenVerdict } from '../../src/calls/providers/callbacks.ts';
import { TwilioCallbacks } from '../../src/calls/providers/twilio/twilio-callbacks.ts';
import { callback, type CallbackParts } from '../../src/http/callback.ts';
import type { Route } from '../../src/http/route/route.ts';
import { RefusalLog } from '../../src/http/refusal-log.ts';
import { CALL_ID } from '../calls/new-case.ts';
import { askRoute, problemOf } from './asking.ts';

type Headers = Readonly<Record<string, string>>;

let verdict: TokenVerdict;
let handled: [CallEvent, alertType: string][];
let lines: unknown[];
beforeEach(() => {
  [verdict, handled, lines] = ['valid', [], []];
});

const common = (): Pick<CallbackParts, 'handle' | 'messageOf' | 'refusals'> => ({
  handle: async (events, { name }) => {
    for (const event of events) handled.push([event, name]);
    // Storage could not be used.
    return Promise.resolve(false);
  },
  messageOf: async (_, { name }) => Promise.resolve({ unit: `${name}. `, hasKeys: false }),
  refusals: new RefusalLog(),
});

/** The path of a provider that posts events, as Communication Services does. */
const ofEvents = callback(ALERT_TYPES[0], {
  ...common(),
  parseEvents: parseCallEvents,
  verifyToken: async () => Promise.resolve(verdict),
});

const FORM = { CallSid: `CA${'0'.repeat(32)}`, CallStatus: 'in-progress' };

const RINGING: CallEvent = { kind: 'ringing', callId: CALL_ID, result: {}, attempt: undefined };

/** The path of a provider whose calls ask what to do. */
const ofForms = callback(ALERT_TYPES[0], {
  ...common(),
  instructions: {
    signatureHeader: 'x-signature',
    answer: async ({ path, search, form, signature }, phone) => {
      if (signature !== 'good') return undefined;
      await phone.handle([RINGING]);
      const { unit } = await phone.messageOf(undefined);
      return `<Say>${unit}</Say><!-- ${path}${search} ${JSON.stringify(form)} -->`;
    },
  },
});

const ask = async (route: Route, body: string, headers: Headers = {}) => {
  const asked = { method: 'POST', body, headers };
  return askRoute(route, '/api/AnomalyCallback?attempt=x', asked, (line) => lines.push(line));
};
const post = async (body: unknown, headers?: Headers) =>
  ask(ofEvents, typeof body === 'string' ? body : JSON.stringify(body), headers);

/** A line in the log about refused callbacks. */
const refusedFor = (reason: string) => ({ event: 'callback refused', reason, refused: 1 });

const event = (data: unknown, more: object = {}) => ({
  id: 'an-event',
  source: 'calling/callConnections/x',
  type: 'Microsoft.Communication.CallConnected',
  specversion: '1.0',
  data,
  ...more,
});

const NO_ARRAY = 'The body is not a JSON array of CloudEvents.';
const NO_EVENT = 'is not a CloudEvent 1.0: id, source, type and specversion "1.0" are required';

describe('a callback with events', () => {
  it('is handed on, and answered 200 though it is not stored; what is of another kind or has no well-formed call id is logged', async () => {
    expect(await post([event({ callConnectionId: 'a' })])).toMatchObject({ status: 200, body: undefined });
    expect([handled, lines]).toMatchObject([[[{ kind: 'connected' }, 'Anomaly']], []]);

    // No request may ever be made about such an id.
    const wrong = ['../../admin', 'a:terminate', null, undefined].map((callConnectionId) =>
      event({ callConnectionId }),
    );
    await post([...wrong, event('text'), event({}, { type: 'Microsoft.Communication.Other' })]);
    expect(handled).toHaveLength(1);
    expect(lines).toMatchObject([
      { event: 'callback events of other kinds', events: 1 },
      { event: 'callback events without a call id', events: 5 },
    ]);
  });

  it.each<[string, unknown, number, string]>([
    ['null', 'null', 400, NO_ARRAY],
    ['an event alone', event({ callConnectionId: 'a' }), 400, NO_ARRAY],
    ['too large', `"${'x'.repeat(1_048_576)}"`, 413, 'The body is larger than 1048576 bytes.'],
    ['of 10,001 events', Array(10_001).fill(7), 413, 'The callback has 10001 events. The maximum is 10000.'],
  ])('whose body is %s is refused', async (_, body, status, detail) => {
    expect(problemOf(await post(body))).toMatchObject({ status, detail });
  });

  it('with elements that are no CloudEvents is refused with their names, the first 100 of them, and its events are handled', async () => {
    const good = event({ callConnectionId: 'a' });
    expect(problemOf(await post([7, good, { ...good, source: '' }, { ...good, id: null }]))).toMatchObject({
      status: 400,
      detail: '3 of 4 elements are not CloudEvents. The others are handled.',
      errors: [0, 2, 3].map((index) => ({ index, pointer: `/${index}`, detail: NO_EVENT })),
    });
    expect(handled).toMatchObject([[{ kind: 'connected' }, 'Anomaly']]);
    const { errors, errors_total: total } = problemOf(await post(Array(10_000).fill(7)));
    expect([errors?.length, total]).toEqual([100, 10_000]);
  });

  it('is refused by its token before its body is looked at, with one line in the log for many refusals', async () => {
    verdict = 'invalid';
    for (const answer of [await post('{'), await post('x'), await post('', { authorization: 'x' })]) {
      const detail = 'The token or signature is missing or invalid.';
      expect(problemOf(answer)).toMatchObject({ status: 401, detail });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
    verdict = 'unknown';
    const later = await post([]);
    const detail = 'The service cannot get the keys that verify the token. Send the callback again later.';
    expect(problemOf(later)).toMatchObject({ status: 503, detail });
    expect(later.headers.get('retry-after')).toBe('2');
    expect(lines).toMatchObject(['no token', 'token not valid', 'keys unreachable'].map(refusedFor));
  });
});

describe('a callback that asks what a call does next', () => {
  it('is answered in XML; its events are handled, and its message is that of the path', async () => {
    const { headers, body } = await ask(ofForms, 'CallSid=CA1&To=%2B1206', { 'x-signature': 'good' });
    expect(headers.get('content-type')).toBe('text/xml; charset=utf-8');
    const request = 'api/AnomalyCallback?attempt=x {"CallSid":"CA1","To":"+1206"}';
    expect(body).toBe(`<Say>Anomaly. </Say><!-- ${request} -->`);
    expect([handled, lines]).toEqual([[[RINGING, 'Anomaly']], []]);
  });

  it('is believed if its query has an apostrophe, sent as it is or encoded', async () => {
    const baseUrls = ['https://watch.example'];
    const instructions = new TwilioCallbacks({ authTokens: ['token'], baseUrls, voice: 'Polly.Joanna' });
    const ofTwilio = callback(ALERT_TYPES[0], { ...common(), instructions });
    for (const search of ["?name=o'brien&at=a/b", '?name=o%27brien&at=a/b', "?a='%27/'", "?a=''''/'%3D"]) {
      const signed = getExpectedTwilioSignature('token', `https://watch.example/api/AnomalyCallback${search}`, FORM);
      const statusOf = async (signature: string) => {
        const asked = {
          method: 'POST',
          body: new URLSearchParams(FORM).toString(),
          headers: { 'x-twilio-signature': signature },
        };
        return (await askRoute(ofTwilio, `/api/AnomalyCallback${search}`, asked)).status;
      };
      expect([search, await statusOf(signed), await statusOf(`${signed}x`)]).toEqual([search, 200, 401]);
    }
  });

  it('is refused without its signature before its body is read, and with a wrong one; the log says so once each', async () => {
    for (const headers of [{}, { 'x-signature': '' }, { 'x-signature': 'bad' }, { 'x-signature': 'bad' }])
      expect((await ask(ofForms, 'CallSid=CA1', headers)).status).toBe(401);
    expect(handled).toEqual([]);
    expect(lines).toMatchObject([refusedFor('no token'), refusedFor('token not valid')]);
  });

  it('is refused if it is too large', async () => {
    const answer = await ask(ofForms, 'x'.repeat(65_537), { 'x-signature': 'good' });
    expect(problemOf(answer)).toMatchObject({ status: 413, detail: 'The body is larger than 65536 bytes.' });
  });
});
