import { beforeEach, describe, expect, it } from 'vitest';

import { ALERT_TYPES } from '../../src/calls/model/alert-types.ts';
import { newNotificationId } from '../../src/calls/model/ids.ts';
import type { FailedCode } from '../../src/calls/model/notification-request.ts';
import { maskPhoneNumber } from '../../src/calls/model/phone-number.ts';
import type { NotificationBody, NotificationRequest, Phone, Sent } from '../../src/calls/phone.ts';
import { acknowledged, stoppedNotification } from '../../src/calls/state/notification.ts';
import { attemptSchema } from '../../src/calls/state/attempt.ts';
import { bodyOf } from '../../src/calls/state/view.ts';
import { callback } from '../../src/http/callback.ts';
import { acknowledgeNotification, readNotification, stopNotification } from '../../src/http/read-notifications.ts';
import type { Route } from '../../src/http/route/route.ts';
import { notifications } from '../../src/http/send-notification.ts';
import { testCall } from '../../src/http/test-call.ts';
import { at, busy, CALL_ID, calling, ended, newCase, phoneNumber, START } from '../calls/new-case.ts';
import { askRoute, problemOf } from './asking.ts';

const ID = newNotificationId(START, '3f0c0000-0000-4000-8000-0000000000e1');

let answer: Sent = { kind: 'waves too late' };
let sent: (NotificationRequest & { readonly key: string | undefined })[];
let found: NotificationBody[];
let listed: Omit<Parameters<Phone['list']>[0], 'isMeant'>[];
let acknowledgedBy: string[];
let stoppedBy: (string | undefined)[];
let standing: Awaited<ReturnType<Phone['needingAttention']>>['phone'];
beforeEach(() => {
  [sent, found, listed, acknowledgedBy, stoppedBy, standing] = [[], [], [], [], [], { usable: true }];
});

const first = async () => Promise.resolve(found[0]);
const phone = {
  callbackBaseUrl: 'https://tunnel.example.org',
  send: async (request: NotificationRequest, key: string | undefined) => {
    sent.push({ ...request, key });
    return Promise.resolve(answer);
  },
  list: async ({ isMeant, ...query }: Parameters<Phone['list']>[0]) => {
    listed.push(query);
    return Promise.resolve({ found: found.filter(isMeant), next: found.length > 1 ? ID : undefined });
  },
  needingAttention: async () => Promise.resolve({ notifications: found, phone: standing }),
  read: first,
  stop: async (_: unknown, __: unknown, by?: string) => {
    stoppedBy.push(by);
    return first();
  },
  acknowledge: async (_: unknown, by: string) => {
    acknowledgedBy.push(by);
    return first();
  },
};
/** The path of all notifications, and of test calls. */
const [whole, test] = [notifications(phone), testCall(phone)];
const [read, stop, acknowledge] = [readNotification(phone), stopNotification(phone), acknowledgeNotification(phone)];

const posted = async (route: Route, body: unknown, query = '', headers = {}, id: string = ID) =>
  askRoute(route, `/api/${route.path.replace('{id}', id)}${query}`, {
    method: 'POST',
    params: { id },
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
/** Posts a notification about a confirmed fire to one person, with further members. */
const post = async (more: object, headers: Readonly<Record<string, string>> = {}, query = '') =>
  posted(whole, { ...good, ...more }, query, headers);
const get = async (query = '') => askRoute(whole, `/api/notifications${query}`);
const getOne = async (id: string = ID) => askRoute(read, `/api/notifications/${id}`, { params: { id } });

const [FIRST, SECOND] = ['+12065550100', '+12065550101'];
const good = { channel: 'phone', alert_type: 'ConfirmedFire', recipients: [FIRST] };
const callees = (...numbers: readonly string[]) => numbers.map((number) => ({ number }));
const TYPES = 'must be one of Anomaly, PointOfInterest, ReportOfFire, ConfirmedFire, BurnJob, Custom';
const A_LIST = 'must be an array of phone numbers, or of arrays of them';
const SOMEBODY = 'must name at least one phone number';
const A_NUMBER = 'must be a phone number in E.164 form, such as +12065550100';
const TIME = 'must be an integer from 30 to 3600';
const NEEDED = 'must be an integer from 1 to the number of recipients';
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
    ...each('details', ['', '  ', 'a\u001fb', 'a\u202Eb', 'x'.repeat(201)], 'must be 1 to 200 visible characters'),
    ...each('details', ['<br/>', 'a > b', 'R &amp; D', '&#38;', '&#x26;'], 'must be plain text without markup'),
    [{ recipient: FIRST, [FIRST]: 1 }, 'recipient: is unknown', '+…: is unknown'],
  ])('%j', async (more, ...faults) => {
    expect(problemOf(await post(more))).toMatchObject({ status: 400, errors: faults.map(errorOf) });
    expect(sent).toEqual([]);
  });

  it.each([[[good]], [null]])('the body %j', async (body) => {
    const errors = [{ field: 'body', detail: OBJECT }];
    expect(problemOf(await posted(whole, body))).toMatchObject({ status: 400, errors });
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

const failedBy = <Number>(code: FailedCode, recipient: Number) =>
  ({ recipient, status: 'failed', code, reason: 'refused (400)' }) as const;

describe('POST /api/notifications answers', () => {
  const failed = failedBy('refused', phoneNumber(FIRST));
  const placed = { recipient: phoneNumber(SECOND), status: 'placed', callId: CALL_ID } as const;
  it.each<[Sent['kind'], codes: FailedCode[], status: number, code: string, detail: RegExp]>([
    ['key of another request', [], 422, 'key_reused', /in the last 24 hours/],
    ['waves too late', [], 422, 'waves_too_late', /Send fewer waves or a shorter wave_seconds/],
    ['nobody callable', ['not_allowed', 'impossible_number'], 422, 'nobody_allowed', /PHONE_ALLOWED_PREFIXES/],
    ['nobody callable', ['impossible_number'], 422, 'impossible_number', /No phone number/],
    ['nobody callable', ['impossible_number', 'day_limit'], 502, 'nobody_callable', /see calls/],
    ['sent', ['refused', 'refused'], 502, 'nobody_callable', /see calls/],
  ])('%s, %j, with a %i', async (kind, codes, status, code, detail) => {
    const calls = codes.map((one) => failedBy(one, phoneNumber(FIRST)));
    answer = kind === 'sent' ? { kind, id: ID, calls } : kind === 'nobody callable' ? { kind, calls } : { kind };
    // A problem is logged and passed on.
    const masked = codes.map((one) => failedBy(one, maskPhoneNumber(phoneNumber(FIRST))));
    const more = { ...(kind === 'sent' && { notification_id: ID }), ...(codes.length > 0 && { calls: masked }) };
    const said = { status, code, detail: expect.stringMatching(detail), ...more };
    expect(problemOf(await post({}))).toEqual({ type: expect.any(String), title: expect.any(String), ...said });
  });

  it('202 as soon as somebody is called, or will be: one outcome for each, in the order of the request', async () => {
    answer = { kind: 'sent', id: ID, calls: [failed, placed] };
    const call = { recipient: SECOND, status: 'placed', call_connection_id: CALL_ID };
    expect(await post({})).toMatchObject({ status: 202, body: { notification_id: ID, calls: [failed, call] } });
    const waiting = { recipient: phoneNumber(SECOND), status: 'waiting', code: 'line', reason: 'busy' } as const;
    answer = { kind: 'sent', id: ID, calls: [failed, { ...waiting, since: START }] };
    const later = { ...waiting, since: '2026-11-21T08:00:00.000Z' };
    expect(await post({})).toMatchObject({ status: 202, body: { calls: [failed, later] } });
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
    expect(problemOf(await posted(test, body, query))).toMatchObject({ status: 400, errors: [errorOf(fault)] });
    expect(sent).toEqual([]);
  });

  it('asks for a call about Custom if no type is given, whose events go to the address for test calls', async () => {
    await posted(test, [FIRST]);
    await posted(test, [FIRST], '?alert_type=BurnJob&confirm=true');
    const common = { waves: [callees(FIRST)], callbackBaseUrl: 'https://tunnel.example.org' };
    expect(sent).toMatchObject([
      { alertType: { name: 'Custom' }, confirm: false, ...common },
      { alertType: { name: 'BurnJob' }, confirm: true, ...common },
    ]);
  });
});

const ana = { number: phoneNumber(FIRST), name: 'Ana' };
const asked = { waves: [[ana, { number: phoneNumber(SECOND) }]], reference: 'ridge-04' };
const known = newCase(START, asked, { id: ID });
const body = bodyOf(known, START, new Map([[0, 'number']]));

/** In the form of JSON. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** An attempt that a stop ended. */
const stoppedCall = attemptSchema.parse({ ...busy(START), outcome: 'stopped' });

describe('one notification', () => {
  it('is answered as it stands, and as it is described', async () => {
    const worsened = ended(acknowledged(known, 'Ana', START), 1, 'failed');
    const rang = ended(calling(known, 0, stoppedCall), 0, 'stopped');
    for (const stored of [body, bodyOf(worsened, START), bodyOf(stoppedNotification(rang, 'Ana', at(START)), START)]) {
      found = [stored];
      const { status, body: answered } = await getOne();
      expect([status, answered]).toEqual([200, plain(stored)]);
      expect((await posted(stop, undefined)).body).toEqual(answered);
    }
    expect(found).toMatchObject([{ status: 'stopped', recipients: [{ attempts: [{ outcome: 'stopped' }] }, {}] }]);
  });

  it('is acknowledged under a name of 1 to 60 visible characters, and stopped with or without one', async () => {
    found = [body];
    const long = { by: 'x'.repeat(60) };
    const wrong = [{ by: ' ' }, { by: 'x'.repeat(61) }, { by: 'a\nb' }, { by: 7 }, { by: 'Ana', at: 7 }, [], 'Ana'];
    for (const by of [undefined, {}, long]) expect((await posted(stop, by)).status).toBe(200);
    for (const by of wrong) expect((await posted(stop, by)).status).toBe(400);
    expect((await posted(acknowledge, long)).status).toBe(200);
    for (const by of [undefined, {}, ...wrong]) expect((await posted(acknowledge, by)).status).toBe(400);
    expect([stoppedBy, acknowledgedBy]).toEqual([[undefined, undefined, long.by], [long.by]]);
  });

  it('of no possible id, or of an unknown one, is a 404', async () => {
    const [gone, impossible] = [
      { status: 404, code: 'unknown_notification' },
      { status: 404, code: 'not_found' },
    ];
    for (const one of [await getOne(), await posted(stop, undefined)]) expect(problemOf(one)).toMatchObject(gone);
    expect(problemOf(await getOne('x'))).toMatchObject(impossible);
  });
});

describe('GET /api/notifications', () => {
  it('lists 20 unless it is asked for others, and says where the list goes on', async () => {
    expect((await get()).body).toEqual({ notifications: [] });
    found = [body, body];
    expect((await get(`?limit=500&cursor=${ID}`)).body).toEqual({ notifications: found.map(plain), next_cursor: ID });
    await get('?limit=1&ts_utc_start=2026-11-21T08:00:00Z&ts_utc_end=2026-11-21T09:00:00.0009Z');
    await get('?ts_utc_start=1969-07-20T20:17:00Z&ts_utc_end=1970-01-01T00:00:00Z');
    await get('?ts_utc_start=1970-01-01T00:00:00Z');
    expect(listed).toEqual([
      { most: 20, after: undefined, since: undefined, until: undefined },
      { most: 500, after: ID, since: undefined, until: undefined },
      { most: 1, after: undefined, since: START, until: START + 3_600_000 },
      { most: 20, after: undefined, since: 0, until: 0 },
      { most: 20, after: undefined, since: 0, until: undefined },
    ]);
  });

  it.each([
    ['?status=in_progress', 1],
    ['?status=stopped', 0],
    ['?alert_type=Custom&reference=ridge-04', 1],
    ['?alert_type=ConfirmedFire', 0],
    ['?reference=ridge', 0],
    ['?ts_utc_start=2026-11-21T08:00:00Z&ts_utc_end=2026-11-21T08:00:00Z', 1],
    ['?ts_utc_start=2026-11-21T08:00:00.000001Z', 0],
    ['?ts_utc_end=2026-11-21T07:59:59.999999Z', 0],
  ])('%s lists %i of one', async (query, count) => {
    found = [body];
    for (const more of ['', '&attention=true'])
      expect((await get(`${query}${more}`)).body).toMatchObject({ notifications: found.slice(0, count).map(plain) });
  });

  it.each(['?limit=0', '?limit=501', '?cursor=x', '?attention=yes', '?status=over', '?page=2'])(
    '%s is refused',
    async (query) => expect((await get(query)).status).toBe(400),
  );

  it('attention=true says whether calls can be placed; a list does not', async () => {
    expect((await get('?attention=true')).body).toEqual({ notifications: [], phone: { usable: true } });
    standing = { usable: false, since: '2026-11-21T07:00:00.000Z', reason: 'no permission' };
    expect((await get('?attention=true')).body).toEqual({ notifications: [], phone: standing });
    expect((await get()).body).not.toHaveProperty('phone');
  });
});

it('a phone that is off has no notifications, and no time to ask again', async () => {
  const problem = { status: 503, code: 'phone_off', detail: expect.stringContaining('PHONE=off') };
  const off = await askRoute(notifications('off'), '/api/notifications');
  expect([problemOf(off), off.headers.get('retry-after')]).toMatchObject([problem, null]);
  const called = await askRoute(callback(ALERT_TYPES[0], 'off'), '/api/AnomalyCallback', { method: 'POST' });
  expect(problemOf(called)).toMatchObject(problem);
});
