import { beforeEach, describe, expect, it } from 'vitest';

import { newNotificationId } from '../../src/calls/model/ids.ts';
import type { NotificationRequest, Sent } from '../../src/calls/phone.ts';
import { maskPhoneNumber } from '../../src/calls/model/phone-number.ts';
import { notifications } from '../../src/http/send-notification.ts';
import { testCall } from '../../src/http/test-call.ts';
import { CALL_ID, phoneNumber } from '../calls/new-case.ts';
import { askRoute, problemOf } from './asking.ts';

let answer: Sent = { kind: 'waves too late' };
let sent: (NotificationRequest & { readonly key: string | undefined })[] = [];
beforeEach(() => {
  sent = [];
});

const send = async (request: NotificationRequest, key: string | undefined) => {
  sent.push({ ...request, key });
  return Promise.resolve(answer);
};
const routes = {
  notifications: notifications({
    send,
    list: async () => Promise.reject(new Error('not asked')),
    needingAttention: async () => Promise.reject(new Error('not asked')),
  }),
  'test-call': testCall({ send, callbackBaseUrl: 'https://tunnel.example.org' }),
};

const posted = async (path: keyof typeof routes, body: unknown, query: string, headers = {}) =>
  askRoute(routes[path], `/api/${path}${query}`, { method: 'POST', body: JSON.stringify(body), headers });
/** Posts a notification about a confirmed fire to one person, with further members. */
const post = async (more: object, headers: Readonly<Record<string, string>> = {}, query = '') =>
  posted('notifications', { ...good, ...more }, query, headers);
const postTest = async (body: unknown, query = '') => posted('test-call', body, query);

const [FIRST, SECOND] = ['+12065550100', '+12065550101'];
const good = { channel: 'phone', alert_type: 'ConfirmedFire', recipients: [FIRST] };
const callees = (...numbers: readonly string[]) => numbers.map((number) => ({ number }));
const TYPES = 'must be one of Anomaly, PointOfInterest, ReportOfFire, ConfirmedFire, BurnJob, Custom';
const A_LIST = 'must be an array of phone numbers, or of arrays of them';
const SOMEBODY = 'must name at least one phone number';
const A_NUMBER = 'must be a phone number in E.164 form, such as +12065550100';
const TIME = 'must be a whole number from 30 to 3600';
const NEEDED = 'must be a whole number from 1 to the number of recipients';
const OBJECT = 'must be an object with channel, alert_type and recipients';

/** An error in words: the index of a recipient or the field, and the fault. */
const errorOf = (fault: string) => {
  const [where = '', detail = ''] = fault.split(/: (.*)/s);
  return /^\d+$/.test(where) ? { index: Number(where), detail } : { field: where, detail };
};

/** Cases of a member: each value with the same error. */
const each = (member: string, values: readonly unknown[], error: string, more: object = {}): [object, string][] =>
  values.map((value) => [{ ...more, [member]: value }, `${member}: ${error}`]);

const waves = (...recipients: readonly unknown[]) => ({ confirm: true, recipients });

describe('POST /api/notifications refuses, naming all that is wrong, and phones nobody:', () => {
  it.each<[more: object, ...faults: string[]]>([
    [{ channel: 'sms' }, 'channel: must be "phone"'],
    ...each('alert_type', ['confirmedfire', ['Custom']], TYPES),
    ...each('recipients', [FIRST, undefined], A_LIST),
    [
      { channel: undefined, alert_type: undefined, recipients: [] },
      'channel: must be "phone"',
      `alert_type: ${TYPES}`,
      `recipients: ${SOMEBODY}`,
    ],
    [{ recipients: ['x', FIRST, 7, '2065550100'] }, `0: ${A_NUMBER}`, `2: ${A_NUMBER}`, `3: ${A_NUMBER}`],
    [waves([FIRST], FIRST), '1: must be an array of phone numbers, like the other waves'],
    [waves([FIRST], []), `recipients.1: ${SOMEBODY}`],
    [waves([FIRST, FIRST], [SECOND], [FIRST, 7, 'x']), `4: ${A_NUMBER}`, `5: ${A_NUMBER}`],
    [{ recipients: [FIRST, { number: FIRST }] }, 'recipients.1.name: must be a string'],
    ...['', ' ', 'x'.repeat(61)].map((name): [object, string] => [
      { recipients: [{ number: FIRST, name }] },
      'recipients.0.name: must be 1 to 60 visible characters',
    ]),
    [{ recipients: [{ number: 'x', name: 'Ana' }] }, `recipients.0.number: ${A_NUMBER}`],
    [{ recipients: [{ number: FIRST, name: 'Ana', sms: true }] }, 'recipients.0.sms: is unknown'],
    [{ recipients: [[FIRST]] }, 'confirm: must be true for recipients in waves'],
    [{ confirm: 'true' }, 'confirm: must be true or false'],
    ...each('wave_seconds', [60], 'is only for recipients in waves', { confirm: true }),
    ...each('wave_seconds', [29, 3_601], TIME, waves([FIRST])),
    ...each('confirmations_needed', [1], 'is only for recipients in waves', { confirm: true }),
    ...each('confirmations_needed', [0, 3, 1.5, '2'], NEEDED, waves([FIRST], [SECOND, FIRST])),
    ...each('reference', ['', '  ', 'a\nb', 'x'.repeat(101)], 'must be 1 to 100 visible characters'),
    ...each('details', ['', '  ', 'a\u0007', 'a\u202Eb', 'x'.repeat(201)], 'must be 1 to 200 visible characters'),
    ...each('details', ['<br/>', 'a > b', 'R &amp; D', '&#38;', '&#x26;'], 'must be plain text without markup'),
    [{ recipient: FIRST, [FIRST]: 1 }, 'recipient: is unknown', '+…: is unknown'],
  ])('%j', async (more, ...faults) => {
    expect(problemOf(await post(more))).toMatchObject({ status: 400, errors: faults.map(errorOf) });
    expect(sent).toEqual([]);
  });

  it.each([[[good]], [null]])('the body %j', async (body) => {
    const errors = [{ field: 'body', detail: OBJECT }];
    expect(problemOf(await posted('notifications', body, ''))).toMatchObject({ status: 400, errors });
  });

  it('more than 50 recipients; repeated ones count once', async () => {
    const numbers = Array.from({ length: 51 }, (_, index) => `+1206555${String(1_000 + index)}`);
    const detail = 'recipients must name at most 50 phone numbers';
    expect(problemOf(await post({ recipients: numbers }))).toMatchObject({ status: 400, detail });
    const fifty = numbers.slice(0, 50);
    await post({ recipients: [...fifty, ...fifty.map((one) => ` ${one} `)] });
    expect(sent).toMatchObject([{ waves: [callees(...fifty)] }]);
  });

  it('a query parameter, a body that is too large, and malformed keys', async () => {
    const detail = 'alert_type is unknown: this path has no parameters';
    expect(problemOf(await post({}, {}, '?alert_type=Custom'))).toMatchObject({ status: 400, detail });
    const tooLarge = { status: 413, detail: 'The body is larger than 65536 bytes.' };
    expect(problemOf(await post({ details: 'x'.repeat(65_536) }))).toMatchObject(tooLarge);
    const errors = [{ field: 'Idempotency-Key', detail: 'must be 1 to 255 visible ASCII characters' }];
    for (const key of ['two words', 'x'.repeat(256), 'clé'])
      expect(problemOf(await post({}, { 'idempotency-key': key }))).toMatchObject({ status: 400, errors });
    expect(sent).toEqual([]);
  });

  it('without ever repeating a phone number', async () => {
    const answered = await post({ recipients: ['+12065550100x', { [FIRST]: 1 }], [FIRST]: 1 });
    expect(answered.status).toBe(400);
    expect(JSON.stringify(answered.body).replaceAll(A_NUMBER, '')).not.toContain('206555');
  });
});

describe('POST /api/notifications hands on', () => {
  it('waves, each number once, with two minutes between them unless the request says otherwise', async () => {
    const asked = waves([FIRST], [` ${SECOND} `, FIRST], [FIRST]);
    const key = '~'.repeat(255);
    await post(asked, { 'idempotency-key': key });
    for (const wave_seconds of [30, 3_600]) await post({ ...asked, wave_seconds, confirmations_needed: 2 });
    const once = [callees(FIRST), callees(SECOND)];
    expect(sent).toMatchObject([
      { key, alertType: { name: 'ConfirmedFire' }, waves: once, confirm: true, waveMs: 120_000 },
      { key: undefined, waves: once, waveMs: 30_000, confirmationsNeeded: 2 },
      { key: undefined, waves: once, waveMs: 3_600_000 },
    ]);
  });

  it('the name of a recipient, beside numbers without one, and the place, trimmed', async () => {
    const ana = { number: SECOND, name: 'Ana' };
    const place = 'Antelope Ridge: R&D, camera 4 (50 m, 7 %)';
    await post({ recipients: [FIRST, { ...ana, number: ` ${SECOND}` }, SECOND], details: ` ${place} ` });
    await post({ details: '🔥'.repeat(200), reference: '🔥'.repeat(100) });
    expect(sent).toMatchObject([
      { waves: [[{ number: FIRST }, ana]], details: place },
      { details: '🔥'.repeat(200), reference: '🔥'.repeat(100) },
    ]);
  });
});

describe('POST /api/notifications answers', () => {
  const id = newNotificationId(0, '3f0c0000-0000-4000-8000-0000000000e1');
  const why = { code: 'refused', reason: 'refused (400)' } as const;
  const failed = { recipient: phoneNumber(FIRST), status: 'failed', ...why } as const;
  const impossible = { ...failed, code: 'impossible_number' } as const;
  const placed = { recipient: phoneNumber(SECOND), status: 'placed', callId: CALL_ID } as const;
  // A problem is logged and passed on.
  const masked = { ...failed, recipient: maskPhoneNumber(failed.recipient) };

  it.each<[Sent, status: number, code: string, detail: RegExp, more: object]>([
    [{ kind: 'key of another request' }, 422, 'key_reused', /in the last 24 hours/, {}],
    [{ kind: 'waves too late' }, 422, 'waves_too_late', /Send fewer waves or a shorter wave_seconds/, {}],
    [{ kind: 'refused', calls: [failed] }, 422, 'nobody_allowed', /PHONE_ALLOWED_PREFIXES/, { calls: [masked] }],
    [
      { kind: 'refused', calls: [impossible] },
      422,
      'impossible_number',
      /No phone number/,
      { calls: [{ ...masked, code: 'impossible_number' }] },
    ],
    [
      { kind: 'sent', id, calls: [failed, failed] },
      502,
      'nobody_callable',
      /see calls/,
      { notification_id: id, calls: [masked, masked] },
    ],
  ])('%j with a %i', async (what, status, code, detail, more) => {
    answer = what;
    const said = { status, code, detail: expect.stringMatching(detail), ...more };
    expect(problemOf(await post({}))).toEqual({ type: expect.any(String), title: expect.any(String), ...said });
  });

  it('202 as soon as somebody is called, or will be: one outcome for each, in the order of the request', async () => {
    answer = { kind: 'sent', id, calls: [failed, placed] };
    const call = { recipient: SECOND, status: 'placed', call_connection_id: CALL_ID };
    expect(await post({})).toMatchObject({ status: 202, body: { notification_id: id, calls: [failed, call] } });
  });
});

describe('POST /api/test-call', () => {
  it.each<[unknown, query: string, fault: string]>([
    [[FIRST, 'x'], '', `1: ${A_NUMBER}`],
    [{ recipients: [FIRST] }, '', `body: ${A_LIST}`],
    [[], '', `body: ${SOMEBODY}`],
    [[FIRST], '?alert_type=Fire', `alert_type: ${TYPES}`],
    [[FIRST], '?type=Custom', 'type: is unknown: the parameters are alert_type, confirm'],
    [[FIRST], '?confirm=yes', 'confirm: must be true or false'],
  ])('refuses %j%s', async (body, query, fault) => {
    expect(problemOf(await postTest(body, query))).toMatchObject({ status: 400, errors: [errorOf(fault)] });
    expect(sent).toEqual([]);
  });

  it('asks for a call about Custom if no type is given, whose events go to the address for test calls', async () => {
    await postTest([FIRST]);
    await postTest([FIRST], '?alert_type=BurnJob&confirm=true');
    const common = { waves: [callees(FIRST)], callbackBaseUrl: 'https://tunnel.example.org' };
    expect(sent).toMatchObject([
      { alertType: { name: 'Custom' }, confirm: false, ...common },
      { alertType: { name: 'BurnJob' }, confirm: true, ...common },
    ]);
  });
});
