import { beforeEach, describe, expect, it } from 'vitest';
import { ALERT_TYPES, type AlertType } from '../../src/calls/model/alert-types.ts';
import { type AttemptRef, newNotificationId, parseCallId } from '../../src/calls/model/ids.ts';
import type { CallEvent } from '../../src/calls/model/phone-line.ts';
import type { InstructionRequest } from '../../src/calls/providers/callbacks.ts';
import { callback } from '../../src/http/callback.ts';
import { RefusalLog } from '../../src/http/refusal-log.ts';
import { ask, problemOf } from './asking.ts';

const [ANOMALY] = ALERT_TYPES;
const callId = parseCallId('call-1');
if (callId === undefined) throw new Error('malformed');
const ATTEMPT: AttemptRef = { notificationId: newNotificationId(0, '0'.repeat(32)), index: 0, attemptId: 'a' };
const RINGING: CallEvent = { kind: 'ringing', callId, result: {}, attempt: ATTEMPT };

let requests: InstructionRequest[];
let said: unknown[];
let lines: unknown[];
beforeEach(() => {
  [requests, said, lines] = [[], [], []];
});

/** The callback path of a line whose calls ask what to do. */
const { handler } = callback(ANOMALY, {
  handle: async (events, alertType: AlertType) => {
    said.push([events, alertType.name]);
    return Promise.resolve(true);
  },
  messageOf: async (attempt, { name }) =>
    Promise.resolve({ unit: `${name} of ${attempt?.attemptId}. `, hasKeys: false }),
  instructions: {
    signatureHeader: 'x-signature',
    baseOf: async (_, signature) => Promise.resolve(signature === 'good' ? 'https://watch.example' : undefined),
    answer: async (request, base, phone) => {
      requests.push(request);
      await phone.handle([RINGING]);
      return `<Say>${(await phone.messageOf(ATTEMPT)).unit}</Say><!--${base}-->`;
    },
  },
  refusals: new RefusalLog(),
});

const post = async (body: string, headers: Readonly<Record<string, string>>) =>
  ask(
    handler,
    '/api/AnomalyCallback?attempt=x',
    { method: 'POST', body, headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers } },
    (line) => lines.push(line),
  );

describe('a callback that asks what a call does next', () => {
  it('is answered in XML; its events are handled, and its message is that of the attempt', async () => {
    const { status, headers, body } = await post('CallSid=CA1&To=%2B1206', { 'x-signature': 'good' });
    expect([status, headers.get('content-type')]).toEqual([200, expect.stringMatching(/^text\/xml/)]);
    expect(body).toBe('<Say>Anomaly of a. </Say><!--https://watch.example-->');
    expect(requests).toEqual([
      { path: 'api/AnomalyCallback', search: '?attempt=x', form: { CallSid: 'CA1', To: '+1206' } },
    ]);
    expect([said, lines]).toEqual([[[[RINGING], 'Anomaly']], []]);
  });

  it('is refused without its signature before its body is read, and with a wrong one; the log says so once each', async () => {
    for (const headers of [{}, { 'x-signature': '' }, { 'x-signature': 'bad' }, { 'x-signature': 'bad' }])
      expect(problemOf(await post('CallSid=CA1', headers))).toMatchObject({ status: 401 });
    expect([requests, said]).toEqual([[], []]);
    expect(lines).toMatchObject([
      { event: 'callback refused', reason: 'no token', refused: 1 },
      { event: 'callback refused', reason: 'token not valid', refused: 1 },
    ]);
  });

  it('is refused if it is too large', async () => {
    const answer = await post('x'.repeat(65_537), { 'x-signature': 'good' });
    expect(problemOf(answer)).toEqual({ status: 413, detail: 'The body is larger than 65536 bytes.' });
  });
});
