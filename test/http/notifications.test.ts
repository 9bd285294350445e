import { beforeEach, describe, expect, it } from 'vitest';

import { parseCallId, newNotificationId } from '../../src/calls/model/ids.ts';
import type { NotificationRequest, Sent } from '../../src/calls/phone.ts';
import { maskPhoneNumber, parsePhoneNumber, type PhoneNumber } from '../../src/calls/model/phone-number.ts';
import { readNotification, stopNotification } from '../../src/http/read-notifications.ts';
import { notifications } from '../../src/http/send-notification.ts';
import { testCall } from '../../src/http/test-call.ts';
import { ask, problemOf } from './asking.ts';

const must = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw new Error('malformed');
  return value;
};
const number = (text: string): PhoneNumber => must(parsePhoneNumber(text));

let answer: Sent = { kind: 'waves too late' };
let sent: (NotificationRequest & { readonly key: string | undefined })[] = [];
beforeEach(() => {
  sent = [];
});

const send = async (request: NotificationRequest, key: string | undefined) => {
  sent.push({ ...request, key });
  return Promise.resolve(answer);
};
const nothing = async () => Promise.resolve(undefined);
const unknown = { read: nothing, stop: nothing, acknowledge: nothing };
const handlers = {
  notifications: notifications({
    send,
    list: async () => Promise.resolve({ found: [], next: undefined }),
    needingAttention: async () => Promise.resolve({ notifications: [], phone: { usable: true } }),
  }).handler,
  'test-call': testCall({ send, callbackBaseUrl: 'https://tunnel.example.org' }).handler,
};

const post = async (path: keyof typeof handlers, body: unknown, query = '', headers = {}) =>
  ask(handlers[path], `/api/${path}${query}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers,
  });

const FIRST = '+12065550100';
const good = { channel: 'phone', alert_type: 'ConfirmedFire', recipients: [FIRST] };
const callees = (...numbers: readonly string[]) => numbers.map((one) => ({ number: one }));
const TYPES = 'must be one of Anomaly, PointOfInterest, ReportOfFire, ConfirmedFire, BurnJob, Custom';
const A_LIST = 'must be an array of phone numbers, or of arrays of them';
const SOMEBODY = 'must name at least one phone number';
const A_NUMBER = 'must be a phone number in E.164 form, such as +12065550100';
const TIME = 'must be a whole number from 30 to 3600';
const NOT_VISIBLE = ['reference', 'must be 1 to 100 visible characters'] as const;
const OBJECT = 'must be an object with channel, alert_type and recipients';

type Fault = readonly [where: string | number, detail: string];
const errorsOf = (faults: readonly Fault[]) =>
  faults.map(([where, detail]) => (typeof where === 'number' ? { index: where, detail } : { field: where, detail }));

describe('POST /api/notifications refuses, naming all that is wrong, and phones nobody:', () => {
  it.each<[unknown, ...Fault[]]>([
    [{ ...good, channel: 'sms' }, ['channel', 'must be "phone"']],
    [{ ...good, alert_type: 'confirmedfire' }, ['alert_type', TYPES]],
    [{ ...good, alert_type: ['Custom'] }, ['alert_type', TYPES]],
    [{ ...good, recipients: FIRST }, ['recipients', A_LIST]],
    [{ recipients: [] }, ['channel', 'must be "phone"'], ['alert_type', TYPES], ['recipients', SOMEBODY]],
    [{ ...good, recipients: ['x', FIRST, 7, '2065550100'] }, [0, A_NUMBER], [2, A_NUMBER], [3, A_NUMBER]],
    [
      { ...good, confirm: true, recipients: [[FIRST], FIRST] },
      [1, 'must be an array of phone numbers, like the other waves'],
    ],
    [{ ...good, confirm: true, recipients: [[FIRST], []] }, ['recipients.1', SOMEBODY]],
    [{ ...good, confirm: true, recipients: [[FIRST], [FIRST, 'x']] }, [2, A_NUMBER]],
    [
      { ...good, confirm: true, recipients: [[FIRST, FIRST], ['+12065550101'], [FIRST, 7, 'x']] },
      [4, A_NUMBER],
      [5, A_NUMBER],
    ],
    [{ ...good, recipients: [FIRST, { number: FIRST }] }, ['recipients.1.name', 'must be a string']],
    ...['', ' ', 'x'.repeat(61)].map((name): [unknown, Fault] => [
      { ...good, recipients: [{ number: FIRST, name }] },
      ['recipients.0.name', 'must be 1 to 60 visible characters'],
    ]),
    [{ ...good, recipients: [{ number: 'x', name: 'Ana' }] }, ['recipients.0.number', A_NUMBER]],
    [{ ...good, recipients: [{ number: FIRST, name: 'Ana', sms: true }] }, ['recipients.0.sms', 'is unknown']],
    [{ ...good, recipients: [[FIRST]] }, ['confirm', 'must be true for recipients in waves']],
    [{ ...good, confirm: 'true' }, ['confirm', 'must be true or false']],
    [{ ...good, confirm: true, wave_seconds: 60 }, ['wave_seconds', 'is only for recipients in waves']],
    [{ ...good, confirm: true, recipients: [[FIRST]], wave_seconds: 29 }, ['wave_seconds', TIME]],
    [{ ...good, confirm: true, recipients: [[FIRST]], wave_seconds: 3_601 }, ['wave_seconds', TIME]],
    ...['', '  ', 'a\nb', 'x'.repeat(101)].map((reference): [unknown, Fault] => [{ ...good, reference }, NOT_VISIBLE]),
    [{ ...good, confirm: true, confirmations_needed: 1 }, ['confirmations_needed', 'is only for recipients in waves']],
    ...[0, 3, 1.5, '2'].map((confirmations_needed): [unknown, Fault] => [
      { ...good, confirm: true, recipients: [[FIRST], ['+12065550101', FIRST]], confirmations_needed },
      ['confirmations_needed', 'must be a whole number from 1 to the number of recipients'],
    ]),
    ...['', '  ', 'a\nb', 'a\u0007', 'a\u202Eb', 'x'.repeat(201)].map((details): [unknown, Fault] => [
      { ...good, details },
      ['details', 'must be 1 to 200 visible characters'],
    ]),
    ...['<break time="5s"/>', 'a > b', 'Fire &amp; Rescue', '&#38;', '&#x26;'].map((details): [unknown, Fault] => [
      { ...good, details },
      ['details', 'must be plain text without markup'],
    ]),
    [{ ...good, recipient: FIRST, '+12065550100': 1 }, ['recipient', 'is unknown'], ['+…', 'is unknown']],
    [[good], ['body', OBJECT]],
    ['null', ['body', OBJECT]],
  ])('%j', async (body, ...faults) => {
    expect(problemOf(await post('notifications', body))).toMatchObject({ status: 400, errors: errorsOf(faults) });
    expect(sent).toEqual([]);
  });

  it('more than 50 recipients; repeated ones count once', async () => {
    const numbers = Array.from({ length: 51 }, (_, index) => `+1206555${String(1_000 + index)}`);
    expect(problemOf(await post('notifications', { ...good, recipients: numbers }))).toMatchObject({
      status: 400,
      detail: 'recipients must name at most 50 phone numbers',
    });
    const fifty = numbers.slice(0, 50);
    await post('notifications', { ...good, recipients: [...fifty, ...fifty.map((one) => ` ${one} `)] });
    expect(sent).toMatchObject([{ waves: [callees(...fifty)] }]);
  });

  it('a query parameter, a body that is too large, and malformed keys', async () => {
    const wrongQuery = problemOf(await post('notifications', good, '?alert_type=Custom'));
    expect(wrongQuery.detail).toBe('alert_type is unknown: this path has no parameters');
    const tooLarge = await post('notifications', `"${'x'.repeat(65_536)}"`);
    expect(problemOf(tooLarge)).toEqual({ status: 413, detail: 'The body is larger than 65536 bytes.' });
    const detail = 'must be 1 to 255 visible ASCII characters';
    for (const key of ['two words', 'x'.repeat(256), 'clé']) {
      const told = problemOf(await post('notifications', good, '', { 'idempotency-key': key }));
      expect(told).toMatchObject({ status: 400, errors: [{ field: 'Idempotency-Key', detail }] });
    }
    expect(sent).toEqual([]);
  });

  it('without ever repeating a phone number', async () => {
    const body = { ...good, recipients: ['+12065550100x', { [FIRST]: 1 }], [FIRST]: 1 };
    const answered = await post('notifications', body);
    expect(answered.status).toBe(400);
    expect(JSON.stringify(answered.body).replaceAll(A_NUMBER, '')).not.toContain('206555');
  });
});

it('GET /api/notifications refuses a wrong number of them, and what it does not know', async () => {
  expect(problemOf(await ask(handlers.notifications, '/api/notifications?limit=101&page=2'))).toMatchObject({
    status: 400,
    detail: expect.stringMatching(/^page is unknown: .*; limit must be a whole number from 1 to 100$/),
  });
});

describe('POST /api/notifications hands on', () => {
  it('waves, each number once, with two minutes between them unless the request says otherwise', async () => {
    const recipients = [[FIRST], [' +12065550101 ', FIRST], [FIRST]];
    const key = '~'.repeat(255);
    await post('notifications', { ...good, recipients, confirm: true }, '', { 'idempotency-key': key });
    for (const wave_seconds of [30, 3_600])
      await post('notifications', { ...good, recipients, confirm: true, wave_seconds });
    const waves = [callees(FIRST), callees('+12065550101')];
    expect(sent).toMatchObject([
      { key, alertType: { name: 'ConfirmedFire' }, waves, confirm: true, waveMs: 120_000 },
      { key: undefined, waves, waveMs: 30_000 },
      { key: undefined, waves, waveMs: 3_600_000 },
    ]);
  });

  it('the name of a recipient, beside numbers without one', async () => {
    const ana = { number: '+12065550101', name: 'Ana' };
    await post('notifications', { ...good, recipients: [FIRST, { ...ana, number: ' +12065550101' }, ana.number] });
    expect(sent).toMatchObject([{ waves: [[{ number: FIRST }, ana]] }]);
  });

  it('the place, trimmed, and how many have to confirm', async () => {
    const recipients = [[FIRST], ['+12065550101']];
    const details = 'Antelope Ridge: R&D, camera 4 (50 m, 7 %)';
    await post('notifications', {
      ...good,
      recipients,
      confirm: true,
      confirmations_needed: 2,
      details: ` ${details} `,
    });
    await post('notifications', { ...good, details: '🔥'.repeat(200) });
    expect(sent).toMatchObject([{ details, confirmationsNeeded: 2 }, { details: '🔥'.repeat(200) }]);
  });
});

const LATE =
  'The last wave would begin after NOTIFICATION_DEADLINE_MINUTES. Send fewer waves or a shorter wave_seconds.';
const NONE = 'No recipient can be called: see calls.';
const USED = 'Another request used this Idempotency-Key in the last 24 hours.';

describe('POST /api/notifications answers', () => {
  const id = newNotificationId(0, '3f0c0000-0000-4000-8000-0000000000e1');
  const why = { code: 'refused', reason: 'refused (400)' } as const;
  const failed = { recipient: number(FIRST), status: 'failed', ...why } as const;
  const impossible = { ...failed, code: 'impossible_number' } as const;
  const placed = { recipient: number('+12065550101'), status: 'placed', callId: must(parseCallId('a-call')) } as const;
  const [one, two] = [[failed], [failed, failed]];
  // A problem is logged and passed on.
  const masked = { ...failed, recipient: maskPhoneNumber(failed.recipient) };

  it.each<[Sent, status: number, detail: string, more: object]>([
    [{ kind: 'key of another request' }, 422, USED, {}],
    [{ kind: 'waves too late' }, 422, LATE, {}],
    [
      { kind: 'refused', calls: one },
      422,
      'PHONE_ALLOWED_PREFIXES allows none of these numbers: see calls.',
      { calls: [masked] },
    ],
    [
      { kind: 'refused', calls: [impossible] },
      422,
      'No phone number in the request is valid.',
      { calls: [{ ...masked, code: 'impossible_number' }] },
    ],
    [{ kind: 'sent', id, calls: one }, 502, NONE, { notification_id: id, calls: [masked] }],
    [{ kind: 'sent', id, calls: two }, 502, NONE, { notification_id: id, calls: [masked, masked] }],
  ])('%j with a %i', async (what, status, detail, more) => {
    answer = what;
    expect(problemOf(await post('notifications', good))).toEqual({ status, detail, ...more });
  });

  it('202 as soon as somebody is called, or will be: one outcome for each, in the order of the request', async () => {
    answer = { kind: 'sent', id, calls: [failed, placed] };
    const { recipient, status, callId } = placed;
    expect(await post('notifications', good)).toMatchObject({
      status: 202,
      body: { notification_id: id, calls: [failed, { recipient, status, call_connection_id: callId }] },
    });
  });
});

it.each([
  ['GET', readNotification(unknown).handler],
  ['POST', stopNotification(unknown).handler],
])('%s of a notification of no possible id, or of an unknown one, is a 404', async (method, handler) => {
  const about = async (id: string) =>
    problemOf(await ask(handler, `/api/notifications/${id}`, { method, params: { id } }));
  expect(await about('x')).toEqual({ status: 404, detail: 'No resource has this path.' });
  const gone = 'No notification has this id. It may have been deleted after CALL_RETENTION_DAYS.';
  expect(await about('fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de')).toEqual({ status: 404, detail: gone });
});

describe('POST /api/test-call', () => {
  it.each<[unknown, string, Fault]>([
    [[FIRST, 'x'], '', [1, A_NUMBER]],
    [{ recipients: [FIRST] }, '', ['body', A_LIST]],
    [[], '', ['body', SOMEBODY]],
    [[FIRST], '?alert_type=Fire', ['alert_type', TYPES]],
    [[FIRST], '?type=Custom', ['type', 'is unknown: the parameters are alert_type, confirm']],
    [[FIRST], '?confirm=yes', ['confirm', 'must be true or false']],
  ])('refuses %j%s', async (body, query, fault) => {
    expect(problemOf(await post('test-call', body, query))).toMatchObject({ status: 400, errors: errorsOf([fault]) });
    expect(sent).toEqual([]);
  });

  it('asks for a call about Custom if no type is given, whose events go to the address for test calls', async () => {
    await post('test-call', [FIRST]);
    await post('test-call', [FIRST], '?alert_type=BurnJob&confirm=true');
    const callbackBaseUrl = 'https://tunnel.example.org';
    expect(sent).toMatchObject([
      { alertType: { name: 'Custom' }, waves: [callees(FIRST)], confirm: false, callbackBaseUrl },
      { alertType: { name: 'BurnJob' }, waves: [callees(FIRST)], confirm: true, callbackBaseUrl },
    ]);
  });
});
