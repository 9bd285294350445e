import { beforeEach, describe, expect, it } from 'vitest';

import { instantFrom, parseInstant } from '../../src/analytics/model/instant.ts';
import { deliveryHandshake } from '../../src/http/delivery-handshake.ts';
import { eventsIn } from '../../src/http/event-batch.ts';
import { recordEvents } from '../../src/http/record-events.ts';
import { MemoryStorage } from '../analytics/counting.ts';
import { DAY } from '../analytics/oracle.ts';
import { askRoute, problemOf } from './asking.ts';
import { cloudEvent } from './cloud-event.ts';

/** 2024-02-29. */
const START = 19_782n * DAY;
const NOW = instantFrom(parseInstant('2026-11-21T08:30:00Z') ?? 0n);

type Headers = Readonly<Record<string, string>>;

let storage: MemoryStorage;
beforeEach(() => {
  storage = new MemoryStorage();
});
const route = recordEvents({
  recorder: { record: async (messages) => storage.process().recorder.record(messages) },
  now: () => NOW,
});

const post = async (body: unknown, headers: Headers = {}, query = '') => {
  const sent = typeof body === 'string' ? body : JSON.stringify(body);
  return askRoute(route, `/api/events${query}`, { method: 'POST', body: sent, headers });
};
const errorsOf = async (body: unknown, headers: Headers = {}) => problemOf(await post(body, headers)).errors;
/** The counts of the day, and its active cameras. */
const counts = async () => {
  const day = await storage.process().answer({ start: START, end: START + DAY - 1n });
  return { ...Object.fromEntries(day.counts), cameras: [...day.cameras] };
};

/** The counts of events in an answer. */
const counted = (recorded: number, unchanged: number, superseded = 0) => ({ recorded, unchanged, superseded });

/** `count` categories, each with the same value. */
const named = (count: number, prefix = 'c', value = 1): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, value]));

const of = (second: number, smoke: number) =>
  cloudEvent({ time: `2024-02-29T08:00:0${second}Z`, data: { detections: { smoke } } });

describe('POST /api/events', () => {
  it('stores an event once, and says that a repeat changes nothing', async () => {
    const event = cloudEvent({ data: { detections: { smoke: 2 }, reviewed: true, annotations: { fire: 1 } } });
    expect(await post(event)).toMatchObject({ status: 200, body: counted(1, 0) });
    expect((await post([event], {}, '?code=k&clientId=default')).body).toEqual(counted(0, 1));
    const ofReview = { reviewed: 1, annotated: 1, 'annotated fire': 1, 'reviewed fire': 1 };
    expect(await counts()).toEqual({ events: 1, 'detected smoke': 2, ...ofReview, cameras: ['ridge-04'] });
    expect((await post([])).body).toEqual(counted(0, 0));
  });

  it.each([
    [[1, 2, 3], 0],
    [[3, 1, 2], 0],
    [[2, 3, 4], 1],
    [[4, 2, 3], 1],
  ])(
    'takes a removed event out of all counts, and back in: messages of the seconds %j count %i',
    async (order, events) => {
      const messages = [
        { detections: { smoke: 1 } },
        { reviewed: true, annotations: { fire: 2 } },
        { removed: true },
        { removed: false },
      ].map((data, index) => cloudEvent({ time: `2024-02-29T08:00:0${index + 1}Z`, data }));
      await post(order.map((second) => messages[second - 1]));
      const all = { reviewed: 1, annotated: 1, 'annotated fire': 2, 'reviewed fire': 1 };
      const ofEvent = events === 1 ? { events, ...all } : {};
      expect(await counts()).toEqual({ ...ofEvent, cameras: ['ridge-04'] });
      const wrong = await errorsOf(cloudEvent({ data: { removed: 'yes' } }));
      expect(wrong).toMatchObject([{ field: 'data.removed', detail: 'data.removed must be true or false' }]);
    },
  );

  it('counts what a newer value, or another value of the same time, superseded', async () => {
    await post(of(5, 1));
    expect((await post([of(4, 2), of(5, 3), of(5, 1), of(6, 1)])).body).toEqual(counted(1, 3, 2));
  });

  it('stores the valid events of a batch and lists the others in order, also those that only the recorder refuses', async () => {
    const result = await post([
      cloudEvent({ type: 'other' }),
      cloudEvent({ data: { event_id: '1', detections: named(40) } }),
      cloudEvent({ data: { event_id: '2', annotations: named(24, 'd') } }),
      cloudEvent({ data: { event_id: '1', detections: named(40) } }),
      cloudEvent({ data: { event_id: '3', detections: { fire: 1 } } }),
      cloudEvent({ data: { event_id: '3', camera_id: 'ridge-05', detections: { fire: 1 } } }),
      cloudEvent({ data: { event_id: '1', ts_utc: '2024-02-29T08:00:00.123457Z', reviewed: true } }),
      null,
    ]);
    const about = { id: 'm-1', camera_id: 'ridge-04' };
    const sixtyFour = expect.stringMatching(/\b64\b/);
    expect(problemOf(result)).toMatchObject({
      status: 400,
      code: 'events_refused',
      detail: '4 of 8 events are invalid; the others are stored.',
      ...counted(3, 1),
      errors: [
        { index: 0, code: 'invalid', pointer: '/0/type', field: 'type', ...about, event_id: 'f-1029' },
        { index: 4, code: 'too_many', pointer: '/4', ...about, event_id: '3', detail: sixtyFour },
        { index: 6, code: 'changed_time', pointer: '/6', ...about, event_id: '1' },
        { index: 7, code: 'invalid', pointer: '/7' },
      ],
    });
    expect(await counts()).toMatchObject({ events: 3, cameras: ['ridge-04', 'ridge-05'] });
  });

  const aDayAhead = '2026-11-22T08:30:00Z';
  it.each<[string, Parameters<typeof cloudEvent>[0]]>([
    ['unknown attributes', { datacontenttype: 'application/json', traceparent: '00' }],
    ['empty facets', { data: { detections: {}, annotations: {}, reviewed: false } }],
    ['names of JavaScript members as categories', { data: { detections: { constructor: 1, toString: 2 } } }],
    ['the lowest and the highest count', { data: { detections: { fire: 0, smoke: 10_000 } } }],
    ['the shortest and the longest id', { id: 'm', data: { event_id: '/'.repeat(128), camera_id: "'" } }],
    ['the longest category', { data: { detections: { [`a${'-'.repeat(63)}`]: 1 } } }],
    ['64 categories', { data: { detections: named(64) } }],
    ['the first frame of 2000', { data: { ts_utc: '2000-01-01T00:00:00Z' } }],
    ['a frame and a time exactly a day ahead', { time: aDayAhead, data: { ts_utc: aDayAhead } }],
    ['a frame without an offset, which is UTC', { data: { ts_utc: '2026-11-21T08:00:00' } }],
    ['a time with an offset and nanoseconds', { time: '2026-11-21T01:00:02.123456789-07:00' }],
  ])('accepts an event with %s', async (_what, members) => {
    expect(await post(cloudEvent(members))).toMatchObject({ status: 200, body: counted(1, 0) });
  });

  it('accepts 5,000 events in 4 MiB, and not a byte more', async () => {
    const batch = JSON.stringify([cloudEvent({ data: { event_id: 'x' } }), ...Array(4_999).fill(cloudEvent())]);
    const padded = batch.padStart(4 * 1_048_576);
    expect(await post(padded)).toMatchObject({ status: 200, body: counted(2, 4_998) });
    expect(problemOf(await post(` ${padded}`))).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  const GRID = [{ id: '1', subject: 's', eventType: 'Changed', eventTime: '2024-02-29T08:00:00Z', data: {} }];
  it.each<[string, unknown, number, string, Headers?]>([
    ['null', 'null', 400, 'not_cloudevents'],
    ['a text', '"CameraEvent.Changed"', 400, 'not_cloudevents'],
    ['5,001 events', Array(5_001).fill(0), 413, 'too_many_events'],
    ['events in the schema of Event Grid', GRID, 400, 'event_grid_schema'],
    ['its validation', GRID, 400, 'event_grid_schema', { 'aeg-event-type': 'SubscriptionValidation' }],
  ])('refuses the whole request with %s', async (_what, body, status, code, headers = {}) => {
    const problem = problemOf(await post(body, { 'content-type': 'application/json', ...headers }));
    expect([problem.status, problem.code, problem.errors]).toEqual([status, code, undefined]);
  });

  it('examines no event of a request that has too many', () => {
    const unexamined = new Proxy({}, { get: (_, name) => expect.fail(`reads ${String(name)}`) });
    const headers = new Headers({ 'content-type': 'application/json' });
    const batch = Array.from({ length: 5_001 }, () => unexamined);
    expect(() => eventsIn(batch, headers)).toThrow(/5001 events/);
  });

  it.each([
    ['first', [...GRID, cloudEvent()], 0],
    ['last', [cloudEvent(), ...GRID], 1],
  ])(
    'refuses an event in the schema of Event Grid by its index if it is the %s of a batch',
    async (_where, batch, index) => {
      const { code, recorded, errors } = problemOf(await post(batch, { 'content-type': 'application/json' }));
      expect([code, recorded]).toEqual(['events_refused', 1]);
      expect(new Set(errors?.map((error) => error.index))).toEqual(new Set([index]));
    },
  );

  it('refuses a parameter in its address', async () => {
    const { status, errors } = problemOf(await post([cloudEvent()], {}, '?batch=1&=2'));
    expect([status, errors?.map(({ field }) => field)]).toEqual([400, ['batch', '(no name)']]);
  });
});

/** A valid event with another value at a path such as `data.detections.fire`; `undefined` takes the member out. */
const withValue = (path: string, value: unknown): unknown => {
  const [member = '', inData, category] = path.split('.');
  if (inData === undefined) return { ...cloudEvent(), [member]: value };
  return cloudEvent({ data: { [inData]: category === undefined ? value : { [category]: value } } });
};

/** The data of an event whose facets have these numbers of categories. */
const many = (detections: number, annotations: number): unknown =>
  cloudEvent({ data: { detections: named(detections), annotations: named(annotations, 'd') } })['data'];

const empty = (count: number): readonly object[] => Array.from({ length: count }, () => ({}));

const AHEAD = '2026-11-22T08:30:00.000001Z';

describe('POST /api/events names an invalid event', () => {
  it.each<[code: string, field: string, said: string, wrong: readonly unknown[]]>([
    ['invalid', 'specversion', '"1.0"', [undefined, null, 1, '0.3', '1.0 ', ['1.0']]],
    ['invalid', 'type', '"CameraEvent.Changed"', [undefined, null, 7, 'CameraEvent.Created', 'cameraevent.changed']],
    ['invalid', 'source', 'string', [null, 7, {}, ['/ai']]],
    ['empty', 'source', 'empty', ['']],
    ['invalid', 'id', 'string', [null, 7, ['m-1']]],
    ['too_long', 'id', '128', ['x'.repeat(129)]],
    ['invalid', 'time', 'offset', [undefined, null, 1_795_248_000, 'now', '2026-11-21', '2026-11-21T08:00Z']],
    ['invalid', 'time', 'offset', ['2026-11-21T08:00:00', '2026-02-29T08:00:00Z', '2026-11-21T08:00:00+24:00']],
    ['too_late', 'time', 'one day', [AHEAD, '9999-12-31T23:59:59Z']],
    ['invalid', 'data.camera_id', 'string', [undefined, null, 4, false, {}, ['ridge-04']]],
    ['empty', 'data.camera_id', 'empty', ['']],
    ['invalid', 'data.camera_id', 'control character', ['a\nb']],
    ['invalid', 'data.ts_utc', 'time', [null, 1_795_248_000_000, 'yesterday', '2026-11-21', '10000-01-01T00:00:00Z']],
    ['too_early', 'data.ts_utc', '2000-01-01', ['1999-12-31T23:59:59.999999Z']],
    ['too_late', 'data.ts_utc', 'one day', [AHEAD, '9999-12-31T23:59:59Z']],
    ['invalid', 'data.reviewed', 'true or false', [null, 0, 1, 'true', {}, [true]]],
    ['invalid', 'data.detections', 'object', [null, 5, 'fire', true, ['fire'], [['fire', 1]]]],
    ['invalid', 'data.detections.fire', '10000', [0.5, '1', null, true, [1], {}]],
    ['out_of_range', 'data.detections.fire', '10000', [-1, 10_001, 2 ** 53]],
    ['invalid', 'data.detections.a/b~c', '63 letters', [1]],
    ['invalid', 'data.annotations.9fire', '63 letters', [1, 0]],
    ['invalid', 'data.detections.__proto__', '63 letters', [1, { fire: 1 }]],
    ['too_many', 'data', '64', [many(65, 0), many(40, 25)]],
    ['unknown', 'data.detection', 'event_id, camera_id, ts_utc, detections, reviewed, annotations', [{ smoke: 1 }]],
  ])('%s: %s, %s', async (code, path, said, wrong) => {
    const answered = await post(wrong.map((value) => withValue(path, value)));
    const steps = path.split('.').map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'));
    expect(problemOf(answered)).toMatchObject({
      errors: wrong.map((value, index) => ({
        code: value === undefined || (value === null && !path.includes('.')) ? 'missing' : code,
        index,
        ...(path !== 'id' && { id: 'm-1' }),
        event_id: 'f-1029',
        ...(path !== 'data.camera_id' && { camera_id: 'ridge-04' }),
        field: path,
        pointer: `/${[index, ...steps].join('/')}`,
        detail: expect.stringContaining(said),
      })),
      ...counted(0, 0),
    });
  });

  it('by its index and the ids that it has', async () => {
    const withoutData = { ...cloudEvent(), data: '{}' };
    const errors = await errorsOf([null, [cloudEvent()], withoutData, cloudEvent({ data: { event_id: 7 } })]);
    const [code, detail] = [expect.any(String), expect.any(String)];
    expect(errors).toEqual([
      { code, index: 0, pointer: '/0', detail },
      { code, index: 1, pointer: '/1', detail },
      { code, index: 2, pointer: '/2/data', detail, id: 'm-1', field: 'data' },
      { code, index: 3, pointer: '/3/data/event_id', detail, id: 'm-1', camera_id: 'ridge-04', field: 'data.event_id' },
    ]);
  });

  it('though it is nested beyond any stack', async () => {
    const deep = `${'['.repeat(100_000)}1${']'.repeat(100_000)}`;
    const body = JSON.stringify(withValue('data.detections', 'here')).replace('"here"', deep);
    expect(await errorsOf(body)).toMatchObject([{ index: 0, field: 'data.detections' }]);
  });

  it('with all its faults, 20 at most', async () => {
    const data = { reviewed: 'yes', detections: { fire: -1 }, detection: { smoke: 1 }, ts_utc: '1999-12-31T00:00:00Z' };
    const fields = ['id', 'data.ts_utc', 'data.detections.fire', 'data.reviewed', 'data.detection', 'time'];
    expect(await errorsOf(cloudEvent({ id: '', time: '2099-01-01T00:00:00Z', data }))).toMatchObject(
      fields.map((field) => ({ index: 0, field })),
    );
    const { errors, errors_total: total } = problemOf(
      await post(cloudEvent({ data: { detections: named(64, 'c', -1) } })),
    );
    expect([errors?.length, total]).toEqual([20, 64]);
  });

  it('100 faults at most, in the order of the events, and the number of all of them', async () => {
    const known = cloudEvent({ data: { event_id: 'known' } });
    await post(known);
    const moved = cloudEvent({ data: { event_id: 'known', ts_utc: '2024-02-29T08:00:00.5Z' } });
    const problem = problemOf(await post([null, moved, ...empty(4_998)]));
    // Each empty object lacks five attributes and its data.
    expect(problem).toMatchObject({
      detail: '5000 of 5000 events are invalid.',
      errors_total: 2 + 4_998 * 6,
      errors: [
        { index: 0 },
        { index: 1, code: 'changed_time' },
        ...empty(6).map(() => ({ index: 2, code: 'missing' })),
        ...empty(92),
      ],
    });
    expect(problem.errors).toHaveLength(100);
    expect(problem).not.toHaveProperty('errors_total', 100);
    expect(problemOf(await post([null]))).not.toHaveProperty('errors_total');
  });

  const manyNames = Object.fromEntries(Array.from({ length: 300_000 }, (_, index) => [`${index}`, 1]));
  it.each([
    ['categories', { detections: manyNames, reviewed: 7 }, ['data.reviewed', 'data'], undefined],
    ['members', manyNames, Array.from({ length: 20 }, (_, index) => `data.${index}`), 300_000],
  ])('though it has 300,000 wrong names of %s: in less than 100 MB', async (_what, data, fields, total) => {
    const body = JSON.stringify([cloudEvent({ data })]);
    const before = process.memoryUsage().heapUsed;
    const problem = problemOf(await post(body));
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100_000_000);
    expect(problem.errors?.map(({ field }) => field)).toEqual(fields);
    expect(problem.errors_total).toBe(total);
  });

  it('in the same way if a required attribute is null or absent, and takes no notice of null in another attribute', async () => {
    for (const attribute of ['specversion', 'id', 'source', 'type', 'time']) {
      const errors = await Promise.all([null, undefined].map((value) => errorsOf(cloudEvent({ [attribute]: value }))));
      expect(errors[0]).toMatchObject([{ code: 'missing', field: attribute }]);
      expect(errors[1]).toEqual(errors[0]);
    }
    expect((await post(cloudEvent({ subject: null, datacontenttype: null, dataschema: null }))).status).toBe(200);
  });

  it('without repeating a phone number or a long name: the pointer ends before it', async () => {
    const data = { '+12065550100': 1, detections: { [`a${'-'.repeat(64)}`]: 1 } };
    const errors = await errorsOf([cloudEvent({ data })]);
    expect(errors).toMatchObject([
      { code: 'invalid', pointer: '/0/data/detections' },
      { code: 'unknown', pointer: '/0/data' },
    ]);
    expect(JSON.stringify(errors)).not.toMatch(/2065550100|-{64}/);
  });
});

describe('POST /api/events in binary mode', () => {
  const { 'ce-time': time, ...untimed } = {
    'ce-specversion': '1.0',
    'ce-id': 'm-1',
    'ce-source': '/ai/worker%20%C3%A9',
    'ce-type': 'CameraEvent.Changed',
    'ce-time': '2024-02-29T08:00:02Z',
    'ce-other': 'x',
    'content-type': 'application/json',
  };
  const headers = { ...untimed, 'ce-time': time };
  const data = { event_id: 'f-1', camera_id: 'ridge-04', ts_utc: '2024-02-29T08:00:00Z', detections: { smoke: 1 } };

  it('takes the attributes from headers, whose other characters are percent-encoded', async () => {
    expect((await post(data, headers)).body).toEqual(counted(1, 0));
    expect((await post(data, { ...headers, 'ce-id': '100% of %C3%A9' })).status).toBe(200);
    const quoted = {
      'ce-time': '"2024-02-29T08:00:02Z"',
      'ce-id': '"m \\"1\\" %C3%A9"',
      'ce-type': '"CameraEvent.Changed"',
    };
    expect((await post(data, { ...headers, ...quoted })).status).toBe(200);
    expect(await errorsOf({ ...data, camera_id: '' }, { ...headers, ...quoted })).toMatchObject([{ id: 'm "1" é' }]);
    const structured = { ...headers, 'content-type': 'application/cloudevents+json; charset=utf-8' };
    expect((await post(cloudEvent(), structured)).status).toBe(200);
  });

  it.each(['/caf%E9', '/caf\u00E9', '/%C0%A0', '"/caf%E9"', '/%ED%A0%80'])(
    'refuses a header that encodes no UTF-8: %j',
    async (source) => {
      const errors = [{ code: 'invalid', field: 'source', detail: expect.stringContaining('percent-encoded UTF-8') }];
      expect(problemOf(await post(data, { ...headers, 'ce-source': source }))).toMatchObject({ status: 400, errors });
    },
  );

  it('names a header by its attribute, a member by its place in the body', async () => {
    const errors = await errorsOf({ ...data, camera_id: '' }, { ...untimed, 'ce-id': 'm%20%C3%A9 100%' });
    expect(errors).toMatchObject([
      { code: 'missing', field: 'time', id: 'm é 100%' },
      { code: 'empty', field: 'data.camera_id', pointer: '/camera_id' },
    ]);
    expect(errors?.[0]).not.toHaveProperty('pointer');
    expect(await errorsOf([data], headers)).toMatchObject([{ code: 'invalid', pointer: '' }]);
    const alone = cloudEvent({ data: { camera_id: '' } });
    expect(await errorsOf(alone)).toMatchObject([{ code: 'empty', pointer: '/data/camera_id' }]);
  });
});

const ORIGIN = { 'WebHook-Request-Origin': 'eventgrid.azure.net' };
const handshake = deliveryHandshake();
const RATE = { 'WebHook-Request-Rate': '120' };

it.each<[Headers, status: number, allow: string | null, origin: string | null, rate: string | null]>([
  [{ ...ORIGIN, ...RATE }, 200, 'POST, OPTIONS', 'eventgrid.azure.net', '*'],
  [ORIGIN, 200, 'POST, OPTIONS', 'eventgrid.azure.net', null],
  [RATE, 200, 'POST, OPTIONS', null, null],
  [{ 'WebHook-Request-Origin': '' }, 400, null, null, null],
])('OPTIONS /api/events answers the handshake of webhooks: %j', async (headers, ...expected) => {
  const answered = await askRoute(handshake, '/api/events?code=k', { method: 'OPTIONS', headers });
  const names = ['allow', 'webhook-allowed-origin', 'webhook-allowed-rate'];
  expect([answered.status, ...names.map((name) => answered.headers.get(name))]).toEqual(expected);
});
