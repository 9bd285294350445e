import { describe, expect, it } from 'vitest';

import { instantFrom, parseInstant } from '../../src/analytics/instant.ts';
import { events } from '../../src/http/events.ts';
import { CountingStorage } from '../analytics/counting.ts';
import { ask, problemOf } from './asking.ts';
import { cloudEvent, type Members } from './cloud-event.ts';

const { recorder } = new CountingStorage().process();
const handler = events(recorder, () => instantFrom(parseInstant('2026-11-21T08:30:00Z') ?? 0n));

const post = async (body: string | Uint8Array, query = '') =>
  ask(handler, `/api/events${query}`, { method: 'POST', body });

const named = (count: number, prefix = 'c'): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 1]));

/** Text that takes the place of a value in JSON: what `JSON.stringify` cannot write. */
const raw = (value: string): string => `raw<${value}>`;
const json = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/"raw<((?:[^"\\]|\\.)*)>"/g, (_, text: string) => String(JSON.parse(`"${text}"`)));

describe('POST /api/events refuses a request as a whole', () => {
  it.each<[string, string | Uint8Array, number, string]>([
    ['without a body', '', 400, 'empty'],
    ['that is no JSON', '<event/>', 400, 'not valid JSON'],
    ['that is cut off', JSON.stringify([cloudEvent()]).slice(0, -1), 400, 'not valid JSON'],
    ['of lines of JSON', `${JSON.stringify(cloudEvent())}\n${JSON.stringify(cloudEvent())}`, 400, 'not valid JSON'],
    ['that is no UTF-8', Buffer.from(JSON.stringify(cloudEvent({ id: 'é' })), 'latin1'), 400, 'not valid UTF-8'],
    ['that is UTF-16', Buffer.from(JSON.stringify(cloudEvent()), 'utf16le'), 400, ''],
    ['that is null', 'null', 400, 'must be a CloudEvent'],
    ['that is a number', '5', 400, 'must be a CloudEvent'],
    ['that is a text', '"CameraEvent.Changed"', 400, 'must be a CloudEvent'],
    ['that is true', 'true', 400, 'must be a CloudEvent'],
    ['of 5,001 events', `[${'{},'.repeat(5_000)}{}]`, 413, '5001 events'],
    ['of more than 4 MiB', `["${'x'.repeat(4 * 1_048_576)}"]`, 413, '4194304 bytes'],
  ])('%s', async (_what, body, status, said) => {
    const problem = problemOf(await post(body));
    expect(problem).toMatchObject({ status, indices: [], detail: expect.stringContaining(said) });
  });

  it.each(['batch=1', 'camera_id=a', 'x=', '=1'])('with a parameter in its address: %s', async (query) => {
    const problem = problemOf(await post(JSON.stringify([cloudEvent()]), `?${query}`));
    expect(problem).toMatchObject({ status: 400, fields: [query.split('=')[0]] });
  });
});

/** What is wrong with an event, how the request looks, and what has to be said. */
const wrongEvents: readonly (readonly [string, unknown, string])[] = [
  ['null', null, 'must be an object'],
  ['a number', 5, 'must be an object'],
  ['a text', 'event', 'must be an object'],
  ['a list of events', [cloudEvent()], 'must be an object'],
  ['an empty object', {}, 'specversion'],
  [
    'an event of the Event Grid schema',
    { id: '1', eventType: 'CameraEvent.Changed', eventTime: '2026-11-21T08:00:00Z', data: {} },
    'specversion',
  ],
  ...wrongMember('specversion', [undefined, null, 1, '0.3', '1', '1.0 ', '', ['1.0']], 'must be "1.0"'),
  ...wrongMember(
    'type',
    [undefined, null, 7, '', 'CameraEvent.Created', 'cameraevent.changed', ['CameraEvent.Changed']],
    'must be "CameraEvent.Changed"',
  ),
  ...wrongMember('source', [undefined, null, 7, {}, ['/ai']], 'must be a string'),
  ['an empty source', cloudEvent({ source: '' }), 'source is empty'],
  ...wrongMember('id', [undefined, null, 7, {}, ['m-1']], 'must be a string'),
  ...wrongId('id', (id) => cloudEvent({ id })),
  ...wrongMember(
    'time',
    [
      undefined,
      null,
      1_795_248_000,
      {},
      '',
      'now',
      '2026-11-21',
      '2026-11-21T08:00Z',
      '2026-11-21 08:00:00Z',
      '2026-02-29T08:00:00Z',
      '2026-11-21T24:00:00Z',
      '2026-11-21T08:00:60Z',
      '2026-11-21T08:00:00',
      '2026-11-21T08:00:00.5',
      '2026-11-21T08:00:00+24:00',
    ],
    'must be a time with an offset',
  ),
  ['no data', { ...cloudEvent(), data: undefined }, 'data must be an object'],
  ['data that is null', { ...cloudEvent(), data: null }, 'data must be an object'],
  ['data that is text', { ...cloudEvent(), data: JSON.stringify(cloudEvent()['data']) }, 'data must be an object'],
  ['data that is a list', { ...cloudEvent(), data: [cloudEvent()['data']] }, 'data must be an object'],
  ['data in base64', { ...cloudEvent(), data: undefined, data_base64: 'e30=' }, 'data must be an object'],
  [
    'empty data',
    { ...cloudEvent(), data: {} },
    'data.event_id must be a string; data.camera_id must be a string; data.ts_utc must be',
  ],
  ...wrongData('event_id', [undefined, null, 1029, true, {}, ['f-1']], 'must be a string'),
  ...wrongId('data.event_id', (id) => cloudEvent({ data: { event_id: id } })),
  ...wrongData('camera_id', [undefined, null, 4, false, {}, ['ridge-04']], 'must be a string'),
  ...wrongId('data.camera_id', (id) => cloudEvent({ data: { camera_id: id } })),
  ...wrongData(
    'ts_utc',
    [
      undefined,
      null,
      1_795_248_000_000,
      {},
      '',
      'yesterday',
      '2026-11-21',
      '2026-11-21 08:00:00',
      '2026-02-30T08:00:00Z',
      '2026-11-21T25:00:00Z',
      '10000-01-01T00:00:00Z',
    ],
    'must be a time',
  ),
  [
    'a frame from before 2000, by a microsecond',
    cloudEvent({ data: { ts_utc: '1999-12-31T23:59:59.999999Z' } }),
    'data.ts_utc is before 2000-01-01',
  ],
  [
    'a frame more than a day ahead, by a microsecond',
    cloudEvent({ data: { ts_utc: '2026-11-22T08:30:00.000001Z' } }),
    'data.ts_utc is more than one day ahead',
  ],
  [
    'a frame of a broken clock',
    cloudEvent({ data: { ts_utc: '9999-12-31T23:59:59Z' } }),
    'data.ts_utc is more than one day ahead',
  ],
  ...wrongData('reviewed', [null, 0, 1, 'true', '', {}, [true]], 'must be true or false'),
  ...wrongCounts('detections'),
  ...wrongCounts('annotations'),
  [
    '65 categories in both together',
    cloudEvent({ data: { detections: named(40), annotations: named(25, 'd') } }),
    'more than 64 categories',
  ],
];

function wrongMember(member: string, values: readonly unknown[], said: string) {
  return values.map(
    (value) => [`${member} = ${JSON.stringify(value)}`, cloudEvent({ [member]: value }), `${member} ${said}`] as const,
  );
}

function wrongData(member: string, values: readonly unknown[], said: string) {
  return values.map(
    (value) =>
      [
        `data.${member} = ${JSON.stringify(value)}`,
        cloudEvent({ data: { [member]: value } }),
        `data.${member} ${said}`,
      ] as const,
  );
}

function wrongId(path: string, withId: (id: string) => unknown) {
  const wrong: readonly (readonly [string, string])[] = [
    ['', 'is empty'],
    ['x'.repeat(129), 'is longer than 128 characters'],
    ['a\u0000b', 'has a control character'],
    ['a\nb', 'has a control character'],
    ['\u009F', 'has a control character'],
    ['\uD83D', 'not a character'],
    ['\uFDD0', 'not a character'],
  ];
  return wrong.map(([id, said]) => [`${path} = ${JSON.stringify(id).slice(0, 20)}`, withId(id), said] as const);
}

function wrongCounts(facet: 'detections' | 'annotations') {
  const withCounts = (counts: unknown): unknown => cloudEvent({ data: { [facet]: counts } });
  const noCounts = [null, 5, 'fire', true, [], ['fire'], [['fire', 1]]];
  const noCategories = [
    '',
    '9fire',
    '-fire',
    '_fire',
    'fi re',
    'fire!',
    'fïre',
    'f.g',
    'fire\n',
    ' fire',
    `x${'y'.repeat(64)}`,
    '\u0000',
    '🔥',
  ];
  const noNumbers: readonly unknown[] = [
    -1,
    0.5,
    10_001,
    2 ** 53,
    raw('1e400'),
    raw('-1e400'),
    '1',
    '',
    null,
    true,
    [1],
    {},
    raw('[[[[1]]]]'),
  ];
  return [
    ...noCounts.map(
      (counts) =>
        [`${facet} = ${JSON.stringify(counts)}`, withCounts(counts), `data.${facet} must be an object`] as const,
    ),
    ...noCategories.map(
      (name) => [`${facet} of ${JSON.stringify(name)}`, withCounts({ [name]: 1 }), `data.${facet}`] as const,
    ),
    ...noNumbers.map(
      (count) =>
        [
          `${facet} of fire = ${JSON.stringify(count)}`,
          withCounts({ fire: count }),
          `data.${facet}.fire must be an integer from 0 to 10000`,
        ] as const,
    ),
    [
      `${facet} of a good and a bad category`,
      withCounts({ fire: 1, 'sm oke': 1 }),
      `data.${facet}.sm oke is no category`,
    ] as const,
    [`${facet} of 65 categories`, withCounts(named(65)), 'more than 64 categories'] as const,
    [`${facet} of __proto__`, withCounts(raw('{"fire":1,"__proto__":1}')), '__proto__'] as const,
    [`${facet} of __proto__ alone`, withCounts(raw('{"__proto__":{"fire":1}}')), '__proto__'] as const,
  ];
}

describe('POST /api/events names by index, with what is wrong about it,', () => {
  it.each(wrongEvents)('%s', async (_what, event, said) => {
    const before: Members = { type: 'other' };
    const answer = await post(json([before, event]));
    const problem = problemOf(answer);
    expect(problem).toMatchObject({ status: 400, indices: [0, 1] });
    expect(answer.body).toMatchObject({
      recorded: 0,
      unchanged: 0,
      errors: [{ index: 0 }, { index: 1, detail: expect.stringContaining(said) }],
    });
  });

  it('an event that is sent alone, as index 0', async () => {
    expect((await post(json(cloudEvent({ type: 'x' })))).body).toMatchObject({
      errors: [{ index: 0 }],
      recorded: 0,
      unchanged: 0,
    });
  });

  it('each of 5,000 that are wrong', async () => {
    const problem = problemOf(await post(`[${'{},'.repeat(4_999)}{}]`));
    expect(problem.indices).toEqual(Array.from({ length: 5_000 }, (_, index) => index));
  });

  it('an event so deep that a recursive reader would fall over it', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(problemOf(await post(`[${deep}]`))).toMatchObject({ status: 400, indices: [0] });
    const inside = json(cloudEvent({ data: { detections: raw(deep) } }));
    expect(problemOf(await post(inside))).toMatchObject({
      status: 400,
      details: 'data.detections must be an object that maps categories to counts',
    });
    const object = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    expect(problemOf(await post(object))).toMatchObject({ status: 400, indices: [0] });
  });

  it('several things that are wrong about one event', async () => {
    const { details } = problemOf(
      await post(json([cloudEvent({ id: '', data: { reviewed: 'yes', detections: { fire: -1 } } })])),
    );
    expect(details).toBe(
      'id is empty; data.detections.fire must be an integer from 0 to 10000; data.reviewed must be true or false',
    );
  });
});
