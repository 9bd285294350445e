import { cloudEvent } from './cloud-event.ts';

const named = (count: number, prefix = 'c'): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 1]));

/** Marks text that {@link json} writes as it is, for values that `JSON.stringify` cannot write. */
export const raw = (value: string): string => `raw<${value}>`;
/** A value as JSON; what `raw` marked is written as it is. */
export const json = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/"raw<((?:[^"\\]|\\.)*)>"/g, (_, text: string) => String(JSON.parse(`"${text}"`)));

/** What is wrong, the event, and what the problem must say. */
export const wrongEvents: readonly (readonly [string, unknown, string])[] = [
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
    'a frame of a broken clock',
    cloudEvent({ data: { ts_utc: '9999-12-31T23:59:59Z' } }),
    'data.ts_utc is more than one day ahead',
  ],
  [
    'a message of a broken clock',
    cloudEvent({ time: '9999-12-31T23:59:59Z' }),
    'time is more than one day ahead of now',
  ],
  ...wrongData('reviewed', [null, 0, 1, 'true', '', {}, [true]], 'must be true or false'),
  ...wrongCounts('detections'),
  ...wrongCounts('annotations'),
  [
    '65 categories in both together',
    cloudEvent({ data: { detections: named(40), annotations: named(25, 'd') } }),
    'data has more than 64 categories',
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
    [`${facet} of 65 categories`, withCounts(named(65)), 'data has more than 64 categories'] as const,
    [`${facet} of __proto__`, withCounts(raw('{"fire":1,"__proto__":1}')), '__proto__'] as const,
    [`${facet} of __proto__ alone`, withCounts(raw('{"__proto__":{"fire":1}}')), '__proto__'] as const,
  ];
}
