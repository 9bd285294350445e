import { describe, expect, it } from 'vitest';

import { instantFrom, parseInstant } from '../../src/analytics/model/instant.ts';
import { deliveryHandshake } from '../../src/http/delivery-handshake.ts';
import { recordEvents } from '../../src/http/record-events.ts';
import { MemoryStorage } from '../analytics/counting.ts';
import { DAY } from '../analytics/oracle.ts';
import { ask, codesOf, problemOf } from './asking.ts';
import { cloudEvent } from './cloud-event.ts';

/** 2024-02-29. */
const START = 19_782n * DAY;
const NOW = instantFrom(parseInstant('2026-11-21T08:30:00Z') ?? 0n);

const open = () => {
  const storage = new MemoryStorage();
  const { handler } = recordEvents({ recorder: storage.process().recorder, now: () => NOW });
  const post = async (body: unknown, query = '', headers: Record<string, string> = {}) => {
    const sent = typeof body === 'string' ? body : JSON.stringify(body);
    return ask(handler, `/api/events${query}`, { method: 'POST', body: sent, headers });
  };
  return { post, answer: async () => storage.process().answer({ start: START, end: START + DAY - 1n }) };
};

/** So many categories, each with the same count. */
const named = (count: number, prefix = 'c', value = 1): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, value]));

describe('POST /api/events', () => {
  it('records an event, and says that it changes nothing when it comes again', async () => {
    const { post, answer } = open();
    const event = cloudEvent({ data: { detections: { smoke: 2 }, reviewed: true, annotations: { fire: 1 } } });
    expect(await post(event)).toMatchObject({ status: 200, body: { recorded: 1, unchanged: 0 } });
    expect(await post([event], '?code=k&clientId=default')).toMatchObject({ body: { recorded: 0, unchanged: 1 } });
    expect(await answer()).toEqual({
      total_events: 1,
      active_camera_ids: ['ridge-04'],
      counts_per_category: { smoke: 2 },
      reviewed_total_events: 1,
      reviewed_counts_per_category: { fire: 1 },
      annotated_total_events: 1,
      annotated_counts_per_category: { fire: 1 },
    });
    expect(await post([])).toMatchObject({ status: 200, body: { recorded: 0, unchanged: 0 } });
  });

  it('records the good ones of a batch and lists the wrong ones, in order: also what only the recorder can refuse', async () => {
    const { post, answer } = open();
    const result = await post([
      cloudEvent({ type: 'other' }),
      cloudEvent({ data: { event_id: '1', detections: named(40) } }),
      null,
      cloudEvent({ data: { event_id: '2', annotations: named(24, 'd') } }),
      cloudEvent({ data: { event_id: '1', detections: named(40) } }),
      cloudEvent({ data: { event_id: '3', detections: { fire: 1 } } }),
      cloudEvent({ data: { event_id: '3', camera_id: 'ridge-05', detections: { fire: 1 } } }),
      cloudEvent({ data: { event_id: '1', ts_utc: '2024-02-29T08:00:00.123457Z', reviewed: true } }),
    ]);
    expect(problemOf(result)).toMatchObject({
      status: 400,
      detail: '4 of 8 events are invalid; the others are stored.',
      errors: [
        { index: 0, field: 'type' },
        { index: 2, detail: 'must be an object: a CloudEvent' },
        { index: 5, event_id: '3', detail: expect.stringContaining('64 categories') },
        { index: 7, event_id: '1', detail: expect.any(String) },
      ],
      recorded: 3,
      unchanged: 1,
    });
    expect(await answer()).toMatchObject({ total_events: 3, active_camera_ids: ['ridge-04', 'ridge-05'] });
  });

  it.each<[string, Parameters<typeof cloudEvent>[0]]>([
    ['attributes that it does not know', { datacontenttype: 'application/json', traceparent: '00' }],
    ['no facet', {}],
    ['empty facets', { data: { detections: {}, annotations: {}, reviewed: false } }],
    ['categories that JavaScript has a meaning for', { data: { detections: { constructor: 1, toString: 2 } } }],
    ['counts at their ends', { data: { detections: { fire: 0, smoke: 10_000 } } }],
    ['ids at their ends', { id: 'm', data: { event_id: '/'.repeat(128), camera_id: "'" } }],
    ['64 categories', { data: { detections: named(64) } }],
    ['the first frame of 2000', { data: { ts_utc: '2000-01-01T00:00:00Z' } }],
    ['a frame exactly a day ahead', { data: { ts_utc: '2026-11-22T08:30:00Z' } }],
    ['a frame without an offset, which is UTC', { data: { ts_utc: '2026-11-21T08:00:00' } }],
    ['a time with an offset and nanoseconds', { time: '2026-11-21T01:00:02.123456789-07:00' }],
  ])('takes an event with %s', async (_what, members) => {
    expect(await open().post(cloudEvent(members))).toMatchObject({ status: 200, body: { recorded: 1, unchanged: 0 } });
  });

  it('takes 5,000 events and 4 MiB', async () => {
    const { post } = open();
    const batch = JSON.stringify([
      ...Array.from({ length: 4_999 }, () => cloudEvent()),
      cloudEvent({ data: { event_id: 'x' } }),
    ]);
    const padded = `${' '.repeat(4 * 1_048_576 - batch.length)}${batch}`;
    expect(await post(padded)).toMatchObject({ status: 200, body: { recorded: 2, unchanged: 4_998 } });
    expect(problemOf(await post(` ${padded}`)).status).toBe(413);
  });
});

/** A valid event with another value at a path such as `data.detections.fire`; `undefined` takes the member out. */
const withValue = (path: string, value: unknown): unknown => {
  const [member = '', inData, category] = path.split('.');
  if (inData === undefined) return { ...cloudEvent(), [member]: value };
  return cloudEvent({ data: { [inData]: category === undefined ? value : { [category]: value } } });
};

/** The data of an event with so many categories in its facets. */
const many = (detections: number, annotations: number): unknown =>
  cloudEvent({ data: { detections: named(detections), annotations: named(annotations, 'd') } })['data'];

const refusal = async (body: string, query = '') => problemOf(await open().post(body, query));

const DEEP = `${'['.repeat(100_000)}1${']'.repeat(100_000)}`;

const NOT_JSON = 'The body is not valid JSON.';
const NO_EVENT = 'The body must be a CloudEvent or an array of CloudEvents.';
const AN_ID = 'must be a string';
const AN_OFFSET = 'must be a time with an offset, such as 2026-11-21T08:00:02.5Z';
const A_TIME = 'must be a time such as 2026-11-21T08:00:00.123456Z';
const AHEAD = 'is more than one day ahead of now';
const COUNTS = 'must be an object that maps categories to counts';
const COUNT = 'must be an integer from 0 to 10000';
const NO_CATEGORY = 'is not a category name: a letter, then up to 63 letters, digits, _ or -';
const MEMBERS = 'the members of data are event_id, camera_id, ts_utc, detections, reviewed, annotations';

describe('POST /api/events refuses a request as a whole', () => {
  it.each<[string, string, number, string]>([
    ['of lines of JSON', `${JSON.stringify(cloudEvent())}\n${JSON.stringify(cloudEvent())}`, 400, NOT_JSON],
    ['that is null', 'null', 400, NO_EVENT],
    ['that is a text', '"CameraEvent.Changed"', 400, NO_EVENT],
    ['of 5,001 events', `[${'{},'.repeat(5_000)}{}]`, 413, 'The request has 5001 events. The maximum is 5000.'],
    ['of more than 4 MiB', `["${'x'.repeat(4 * 1_048_576)}"]`, 413, 'The body is larger than 4194304 bytes.'],
  ])('%s', async (_what, body, status, detail) => {
    expect(await refusal(body)).toEqual({ status, detail });
  });

  it('with a parameter in its address', async () => {
    expect(await refusal(JSON.stringify([cloudEvent()]), '?batch=1&=2')).toMatchObject({
      status: 400,
      errors: ['batch', '(no name)'].map((field) => ({ field, detail: 'is unknown: this path has no parameters' })),
    });
  });
});

describe('POST /api/events names by index, with what is wrong about it,', () => {
  it.each<[code: string, field: string, said: string, wrong: readonly unknown[]]>([
    ['missing', 'specversion', 'must be "1.0"', [undefined]],
    ['invalid', 'specversion', 'must be "1.0"', [null, 1, '0.3', '1.0 ', ['1.0']]],
    ['missing', 'type', 'must be "CameraEvent.Changed"', [undefined]],
    ['invalid', 'type', 'must be "CameraEvent.Changed"', [null, 7, 'CameraEvent.Created', 'cameraevent.changed']],
    ['invalid', 'source', 'must be a string', [null, 7, {}, ['/ai']]],
    ['empty', 'source', 'is empty', ['']],
    ['invalid', 'id', AN_ID, [null, 7, ['m-1']]],
    ['too_long', 'id', 'is longer than 128 characters', ['x'.repeat(129)]],
    ['missing', 'time', AN_OFFSET, [undefined]],
    ['invalid', 'time', AN_OFFSET, [null, 1_795_248_000, 'now', '2026-11-21', '2026-11-21T08:00Z']],
    ['invalid', 'time', AN_OFFSET, ['2026-11-21T08:00:00', '2026-02-29T08:00:00Z', '2026-11-21T08:00:00+24:00']],
    ['too_late', 'time', AHEAD, ['2026-11-22T08:30:00.000001Z', '9999-12-31T23:59:59Z']],
    ['missing', 'data.camera_id', AN_ID, [undefined]],
    ['invalid', 'data.camera_id', AN_ID, [null, 4, false, {}, ['ridge-04']]],
    ['empty', 'data.camera_id', 'is empty', ['']],
    ['invalid', 'data.camera_id', 'has a control character', ['a\nb']],
    ['invalid', 'data.ts_utc', A_TIME, [null, 1_795_248_000_000, 'yesterday', '2026-11-21', '10000-01-01T00:00:00Z']],
    ['too_early', 'data.ts_utc', 'is before 2000-01-01', ['1999-12-31T23:59:59.999999Z']],
    ['too_late', 'data.ts_utc', AHEAD, ['2026-11-22T08:30:00.000001Z', '9999-12-31T23:59:59Z']],
    ['invalid', 'data.reviewed', 'must be true or false', [null, 0, 1, 'true', {}, [true]]],
    ['invalid', 'data.detections', COUNTS, [null, 5, 'fire', true, ['fire'], [['fire', 1]]]],
    ['invalid', 'data.detections.fire', COUNT, [0.5, '1', null, true, [1], {}]],
    ['out_of_range', 'data.detections.fire', COUNT, [-1, 10_001, 2 ** 53]],
    ['invalid', 'data.detections.sm oke', NO_CATEGORY, [1]],
    ['invalid', 'data.detections.a/b~c', NO_CATEGORY, [1]],
    ['invalid', 'data.annotations.9fire', NO_CATEGORY, [1, 0]],
    ['invalid', 'data.detections.__proto__', NO_CATEGORY, [1, { fire: 1 }]],
    // In one facet, and in both together.
    ['too_many', 'data', 'has more than 64 categories', [many(65, 0), many(40, 25)]],
    ['unknown', 'data.detection', `is unknown: ${MEMBERS}`, [{ smoke: 1 }]],
  ])('%s: %s %s', async (code, field, said, wrong) => {
    const steps = field.split('.').map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'));
    const { body } = await open().post(wrong.map((value) => withValue(field, value)));
    expect(body).toMatchObject({
      code: 'events_refused',
      detail: `${wrong.length} of ${wrong.length} events are invalid.`,
      errors: wrong.map((_, index) => ({
        code,
        index,
        ...(field !== 'id' && { id: 'm-1' }),
        event_id: 'f-1029',
        ...(field !== 'data.camera_id' && { camera_id: 'ridge-04' }),
        field,
        pointer: `/${[index, ...steps].join('/')}`,
        detail: `${field} ${said}`,
      })),
      recorded: 0,
      unchanged: 0,
      superseded: 0,
    });
  });

  it.each<[string, unknown, string, object?]>([
    ['null', null, ' must be an object: a CloudEvent'],
    ['a list', [cloudEvent()], ' must be an object: a CloudEvent'],
    ['no data', { ...cloudEvent(), data: undefined }, 'data must be an object', { id: 'm-1' }],
    ['data that is text', { ...cloudEvent(), data: '{}' }, 'data must be an object', { id: 'm-1' }],
    [
      'an event without its id',
      cloudEvent({ data: { event_id: 1029 } }),
      `data.event_id ${AN_ID}`,
      { id: 'm-1', camera_id: 'ridge-04' },
    ],
  ])('%s, without the id of an event that it does not have', async (_, event, said, about = {}) => {
    const field = said.slice(0, said.indexOf(' '));
    const { errors } = await refusal(JSON.stringify([event]));
    expect(errors).toEqual([{ index: 0, ...about, ...(field !== '' && { field }), detail: said.trim() }]);
  });

  it.each([
    ['a number beyond all', 'data.detections.fire', '1e400', COUNT],
    ['nesting beyond any stack', 'data.detections', DEEP, COUNTS],
  ])('%s', async (_, field, text, said) => {
    const body = JSON.stringify(withValue(field, 'here')).replace('"here"', text);
    expect(await refusal(`[${body}]`)).toMatchObject({ errors: [{ index: 0, field, detail: `${field} ${said}` }] });
  });

  it('all that is wrong about one event at once, each with its field and the event; the others are recorded', async () => {
    const data = { reviewed: 'yes', detections: { fire: -1 }, detection: { smoke: 1 }, ts_utc: '1999-12-31T00:00:00Z' };
    const faults: readonly (readonly [field: string, said: string])[] = [
      ['id', 'is empty'],
      ['data.ts_utc', 'is before 2000-01-01'],
      ['data.detections.fire', COUNT],
      ['data.reviewed', 'must be true or false'],
      ['data.detection', `is unknown: ${MEMBERS}`],
      ['time', AHEAD],
    ];
    const wrong = cloudEvent({ id: '', time: '2099-01-01T00:00:00Z', data });
    const about = { index: 1, event_id: 'f-1029', camera_id: 'ridge-04' };
    expect(await refusal(JSON.stringify([cloudEvent(), wrong]))).toEqual({
      status: 400,
      detail: '1 of 2 events are invalid; the others are stored.',
      errors: faults.map(([field, said]) => Object.assign({ field, detail: `${field} ${said}` }, about)),
      recorded: 1,
      unchanged: 0,
      superseded: 0,
    });
  });

  it('an event with a hundred faults: the first twenty, and how many more; each of 5,000 events', async () => {
    const { errors: all } = await refusal(`[${'null,'.repeat(4_999)}null]`);
    expect(all).toHaveLength(5_000);
    const { errors } = await refusal(JSON.stringify(cloudEvent({ data: { detections: named(100, 'c', -1) } })));
    expect(errors).toHaveLength(21);
    expect(errors).toContainEqual(
      expect.objectContaining({ index: 0, event_id: 'f-1029', detail: 'has 80 more faults' }),
    );
  });
});

describe('POST /api/events tells machines', () => {
  it('what only the recorder can refuse, and the pointer of an event that is alone', async () => {
    const { post } = open();
    await post(cloudEvent());
    const moved = cloudEvent({ data: { ts_utc: '2024-02-29T08:00:00.123457Z' } });
    expect(codesOf(await post(moved))).toEqual({ code: 'events_refused', errors: [['changed_time', '']] });
    const wrong = cloudEvent({ data: { camera_id: '' } });
    expect(codesOf(await post(wrong))).toMatchObject({ errors: [['empty', '/data/camera_id']] });
  });

  it('a number in a name is not repeated: the pointer ends before it', async () => {
    const wrong = cloudEvent({ data: { '+12065550100': 1 } });
    const answer = await open().post([wrong]);
    expect(codesOf(answer)).toMatchObject({ errors: [['unknown', '/0/data']] });
    expect(JSON.stringify(answer.body)).not.toContain('2065550100');
  });

  it.each<[string, unknown, string, string]>([
    ['nothing', '', 'application/json', 'empty_body'],
    ['no JSON', '{', 'application/json', 'not_json'],
  ])('that a body is %s', async (_what, body, type, code) => {
    expect(codesOf(await open().post(body, '', { 'content-type': type }))).toEqual({ code, errors: [] });
  });

  it('that events are in the schema of Event Grid, and tells people what to set', async () => {
    const event = {
      id: '1',
      topic: '/t',
      subject: 's',
      eventType: 'CameraEvent.Changed',
      eventTime: '2024-02-29T08:00:00Z',
    };
    const data = { ...event, dataVersion: '1.0', metadataVersion: '1', data: cloudEvent()['data'] };
    for (const headers of [{ 'aeg-event-type': 'Notification' }, { 'aeg-event-type': 'SubscriptionValidation' }, {}]) {
      const answer = await open().post([data], '', { 'content-type': 'application/json; charset=utf-8', ...headers });
      expect(codesOf(answer).code).toBe('event_grid_schema');
      expect(problemOf(answer).detail).toContain('CloudEvents v1.0');
    }
  });
});

const of = (second: number, smoke: number) =>
  cloudEvent({ time: `2024-02-29T08:00:0${second}Z`, data: { detections: { smoke } } });

describe('POST /api/events tells how many values are superseded by newer ones', () => {
  it('within those that are unchanged', async () => {
    const { post } = open();
    await post(of(5, 1));
    expect((await post([of(4, 2), of(5, 3), of(5, 1), of(6, 1)])).body).toEqual({
      recorded: 1,
      unchanged: 3,
      superseded: 2,
    });
  });
});

describe('POST /api/events in binary mode', () => {
  const attributes = {
    'ce-specversion': '1.0',
    'ce-id': 'm-1',
    'ce-source': '/ai/worker-3',
    'ce-type': 'CameraEvent.Changed',
  };
  const data = { event_id: 'f-1', camera_id: 'ridge-04', ts_utc: '2024-02-29T08:00:00Z', detections: { smoke: 1 } };
  const headers = { ...attributes, 'ce-time': '2024-02-29T08:00:02Z', 'content-type': 'application/json' };

  it('takes the attributes from headers, where other characters are percent-encoded', async () => {
    const { post } = open();
    expect((await post(data, '', { ...headers, 'ce-source': '/ai/worker%20%C3%A9', 'ce-other': 'x' })).body).toEqual({
      recorded: 1,
      unchanged: 0,
      superseded: 0,
    });
    expect((await post(data, '', { ...headers, 'ce-id': '100% of %E9' })).status).toBe(200);
  });

  it('names what is wrong: a header by its attribute, a member by its place in the body', async () => {
    const { 'ce-time': _, ...untimed } = headers;
    const answer = await open().post({ ...data, camera_id: '' }, '', untimed);
    expect(codesOf(answer)).toEqual({
      code: 'events_refused',
      errors: [
        ['missing', undefined],
        ['empty', '/camera_id'],
      ],
    });
    expect(problemOf(answer).errors).toMatchObject([{ field: 'time', index: 0 }, { field: 'data.camera_id' }]);
    expect(codesOf(await open().post([data], '', headers))).toMatchObject({ errors: [['invalid', '']] });
  });

  it('is not meant by a structured event that says so', async () => {
    const structured = { ...headers, 'content-type': 'application/cloudevents+json; charset=utf-8' };
    expect((await open().post(cloudEvent(), '', structured)).status).toBe(200);
  });
});

const handshake = async (headers: Record<string, string>) =>
  ask(deliveryHandshake().handler, '/api/events?code=k', { method: 'OPTIONS', headers });

describe('OPTIONS /api/events', () => {
  it('answers the handshake of CloudEvents webhooks, with a rate if one was asked for', async () => {
    const asked = { 'WebHook-Request-Origin': 'eventgrid.azure.net' };
    const { status, headers, body } = await handshake({ ...asked, 'WebHook-Request-Rate': '120' });
    expect([status, body, headers.get('allow')]).toEqual([200, undefined, 'POST, OPTIONS']);
    expect(headers.get('webhook-allowed-origin')).toBe('eventgrid.azure.net');
    expect(headers.get('webhook-allowed-rate')).toBe('*');
    expect((await handshake(asked)).headers.has('webhook-allowed-rate')).toBe(false);
  });

  it('says what the path takes to whoever does not want to deliver, and refuses an empty origin', async () => {
    const { status, headers } = await handshake({ 'WebHook-Request-Rate': '120' });
    expect([status, headers.get('allow'), headers.has('webhook-allowed-rate')]).toEqual([200, 'POST, OPTIONS', false]);
    expect(problemOf(await handshake({ 'WebHook-Request-Origin': '' }))).toMatchObject({
      status: 400,
      errors: [{ field: 'WebHook-Request-Origin', detail: 'is empty' }],
    });
  });
});
