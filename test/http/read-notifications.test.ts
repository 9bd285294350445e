import { beforeEach, describe, expect, it } from 'vitest';
import { ALERT_TYPES } from '../../src/calls/model/alert-types.ts';
import { newNotificationId } from '../../src/calls/model/ids.ts';
import type { NotificationBody, Phone } from '../../src/calls/phone.ts';
import { acknowledged, stoppedNotification } from '../../src/calls/state/notification.ts';
import { bodyOf } from '../../src/calls/state/view.ts';
import { callback } from '../../src/http/callback.ts';
import { notificationAnswer } from '../../src/http/notification-answer.ts';
import { acknowledgeNotification, readNotification, stopNotification } from '../../src/http/read-notifications.ts';
import type { Route } from '../../src/http/route/route.ts';
import { notifications } from '../../src/http/send-notification.ts';
import { busy, callees, calling, ended, must, newCase, START } from '../calls/new-case.ts';
import { askRoute, problemOf } from './asking.ts';

const ID = newNotificationId(START, '3f0c0000-0000-4000-8000-0000000000e1');

let listed: Omit<Parameters<Phone['list']>[0], 'isMeant'>[];
let acknowledgedBy: string[];
let standing: Awaited<ReturnType<Phone['needingAttention']>>['phone'];
let found: NotificationBody[];
beforeEach(() => {
  [listed, acknowledgedBy, standing, found] = [[], [], { usable: true }, []];
});

const first = async () => Promise.resolve(found[0]);
const one = {
  read: first,
  stop: first,
  acknowledge: async (_: unknown, by: string) => {
    acknowledgedBy.push(by);
    return first();
  },
};
const list = notifications({
  send: async () => Promise.reject(new Error('nobody is phoned')),
  list: async ({ isMeant, ...query }) => {
    listed.push(query);
    return Promise.resolve({ found: found.filter(isMeant), next: found.length > 1 ? ID : undefined });
  },
  needingAttention: async () => Promise.resolve({ notifications: found, phone: standing }),
});

const get = async (query = '') => askRoute(list, `/api/notifications${query}`);
const [read, stop, acknowledge] = [readNotification(one), stopNotification(one), acknowledgeNotification(one)];
const about = async (route: Route, method: string, body?: unknown, id: string = ID) =>
  askRoute(route, `/api/${route.path.replace('{id}', id)}`, {
    method,
    params: { id },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

const [ana, bo] = callees(2);
const waves = [[{ ...must(ana), name: 'Ana' }, must(bo)]];
const known = newCase(START, { waves, reference: 'ridge-04' }, { id: ID });
const body = bodyOf(known, START, new Map([[0, 'number']]));

/** As JSON has it. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('one notification', () => {
  it('is answered as it stands, and as it is described', async () => {
    const worsened = ended(acknowledged(known, 'Ana', START), 1, 'failed');
    const rang = ended(calling(known, 0, { ...busy(START), outcome: 'stopped' }), 0, 'stopped');
    for (const stored of [body, bodyOf(worsened, START), bodyOf(stoppedNotification(rang, START), START)]) {
      found = [stored];
      const { status, body: answered } = await about(read, 'GET');
      expect([status, answered, notificationAnswer.parse(answered)]).toEqual([200, plain(stored), plain(stored)]);
      expect((await about(stop, 'POST')).body).toEqual(answered);
    }
    expect(found).toMatchObject([{ status: 'stopped', recipients: [{ attempts: [{ outcome: 'stopped' }] }, {}] }]);
  });

  it('is taken in hand under a name of 1 to 60 visible characters', async () => {
    found = [body];
    expect((await about(acknowledge, 'POST', { by: 'x'.repeat(60) })).status).toBe(200);
    for (const wrong of [{}, { by: ' ' }, { by: 'x'.repeat(61) }, { by: 'a\nb' }, { by: 'Ana', at: 7 }, []])
      expect((await about(acknowledge, 'POST', wrong)).status).toBe(400);
    expect(acknowledgedBy).toEqual(['x'.repeat(60)]);
  });

  it('of no possible id, or of an unknown one, is a 404', async () => {
    for (const [route, method] of [
      [read, 'GET'],
      [stop, 'POST'],
    ] as const) {
      expect(problemOf(await about(route, method, undefined, 'x'))).toMatchObject({ status: 404, code: 'not_found' });
      expect(problemOf(await about(route, method))).toMatchObject({ status: 404, code: 'unknown_notification' });
    }
  });
});

describe('GET /api/notifications', () => {
  it('lists 20 unless it is asked for others, and says where the list goes on', async () => {
    expect((await get()).body).toEqual({ notifications: [] });
    found = [body, body];
    expect((await get(`?limit=100&cursor=${ID}`)).body).toEqual({ notifications: found.map(plain), next_cursor: ID });
    await get('?limit=1&ts_utc_start=2026-11-21T08:00:00Z&ts_utc_end=2026-11-21T09:00:00.0009Z');
    expect(listed).toEqual([
      { most: 20, after: undefined, since: undefined, until: undefined },
      { most: 100, after: ID, since: undefined, until: undefined },
      { most: 1, after: undefined, since: START, until: START + 3_600_000 },
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

  it.each(['?limit=0', '?limit=101', '?cursor=x', '?attention=yes', '?status=over', '?page=2'])(
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

it('a phone that is off has no notifications', async () => {
  const problem = { status: 503, code: 'phone_off', detail: expect.stringContaining('PHONE=off') };
  expect(problemOf(await askRoute(notifications('off'), '/api/notifications'))).toMatchObject(problem);
  expect(
    problemOf(await askRoute(callback(ALERT_TYPES[0], 'off'), '/api/AnomalyCallback', { method: 'POST' })),
  ).toMatchObject(problem);
});
