import { readdirSync, readFileSync } from 'node:fs';

import { TableClient } from '@azure/data-tables';
import { describe, expect, inject, it, onTestFinished } from 'vitest';

import { ALERT_TYPES } from '../../src/calls/alert-types.ts';
import { type App, startApp, testEnvironment } from '../harness/app.ts';
import { setStage } from '../harness/phone-stage.ts';
import { until } from '../harness/until.ts';
import { bicepFile, descendants, propertiesOf, textOf } from './bicep-files.ts';
import { alertQueries } from './kql.ts';
import { type Row, rowsOf, type Tables } from './kql-rows.ts';

/** What each alert fires for: the values of its dimension, or nothing but that it fires. */
const dimensions = new Map(
  descendants(bicepFile('modules/alerts.bicep').root)
    .filter(({ type }) => type === 'object')
    .map((object) => new Map(propertiesOf(object).map(({ key, value }) => [key, textOf(value)])))
    .flatMap((rule) => {
      const [name, dimension] = [rule.get('name'), rule.get('dimension')];
      return name === undefined || dimension === undefined ? [] : [[name, dimension] as const];
    }),
);

const queryOf = (alert: string): string => {
  const found = alertQueries().find(({ name }) => name === alert);
  if (found === undefined) throw new Error(`there is no alert ${alert}`);
  return found.text;
};

/** The rows that an alert counts. */
const counted = (alert: string, tables: Tables): readonly Row[] => rowsOf(queryOf(alert), tables);

/** What an alert that is about lines fires for, each once. */
const firedFor = (alert: string, tables: Tables): readonly string[] => [
  ...new Set(counted(alert, tables).map((row) => String(row[dimensions.get(alert) ?? '']))),
];

/** What an app has logged, as Application Insights keeps it. */
const tracesOf = (...apps: readonly Pick<App, 'output'>[]): Tables => ({
  traces: apps
    .flatMap((app) => app.output().split('\n'))
    .flatMap((line) => {
      const start = line.indexOf('{"event":');
      return start < 0 ? [] : [{ timestamp: '', message: line.slice(start) }];
    }),
});

describe('rows of a query', () => {
  const tables = {
    traces: [
      { message: '{"event":"a","code":408,"kind":"x"}' },
      { message: '{"event":"b"}' },
      { message: 'no JSON' },
      { message: '{"event":"a","code":"401"}' },
    ],
    exceptions: [{ type: 'E' }],
  };
  it.each([
    ['traces', 4],
    ['traces | where tostring(parse_json(message).event) == "a"', 2],
    ['traces | extend l = parse_json(message) | where tostring(l.event) in ("b", "c")', 1],
    ['traces | extend l = parse_json(message) | where tostring(l.event) !in ("b", "c")', 3],
    ['traces | extend code = toint(parse_json(message).code) | where code >= 400 and code != 408', 1],
    ['traces | extend code = toint(parse_json(message).code) | where code != 1', 2],
    [
      'traces | extend l = parse_json(message) | where (l.event == "b" or toint(l.code) < 402) and message has "EVENT"',
      2,
    ],
    ['union exceptions, (traces | where message =~ "NO json")', 2],
  ])('%s: %i', (query, rows) => {
    expect(rowsOf(query, tables)).toHaveLength(rows);
  });

  it('are made of columns, those of before among them', () => {
    const query =
      'traces | extend a = 1 | project b = strcat("x", tostring(a)), c = coalesce(tostring(d), "e") | extend f = b';
    expect(rowsOf(query, { traces: [{}] })).toEqual([{ b: 'x1', c: 'e', f: 'x1' }]);
  });

  it.each([
    'traces | summarize count()',
    'traces | where f(x)',
    'traces | where a ==',
    'traces where',
    'traces | where #',
  ])('%s: is not known', (query) => {
    expect(() => rowsOf(query, tables)).toThrow(/not known|too early|not expected|unknown/);
  });
});

const NUMBERS = {
  answers: '+12065550400',
  busyThenAnswers: '+12065550406',
  neverAnswers: '+12065550401',
  declines: '+12065550403',
  invalid: '+12065550404',
  speechRefused: '+12065550410',
  speechNotConfigured: '+12065550411',
  requestRefused: '+12065550436',
};

const NOT_REACHED = [
  'neverAnswers',
  'declines',
  'invalid',
  'speechRefused',
  'speechNotConfigured',
  'requestRefused',
] as const;

it('wake people about who was not reached, and about calls at which the service failed: not about busy or no answer', async () => {
  const stage = await setStage({ environment: { CALL_ATTEMPTS: '2', CALL_RETRY_SECONDS: '5' } });
  const ids = new Map<string, string>();
  for (const [name, number] of Object.entries(NUMBERS)) {
    ids.set(name, (await stage.alert('ConfirmedFire', [number])).notification_id ?? '');
  }
  for (const id of ids.values()) await stage.completed(id, 30_000);
  expect(stage.logged('attempt ended').map(({ outcome }) => outcome)).toEqual(
    expect.arrayContaining(['no_answer', 'busy', 'declined', 'refused', 'unknown', 'heard']),
  );
  const tables = tracesOf(...stage.apps);

  // Each once, after the last attempt.
  expect(firedFor('not-reached', tables).toSorted()).toEqual(
    NOT_REACHED.map((name) => `${ids.get(name)} 0`).toSorted(),
  );
  expect(counted('not-reached', tables)).toHaveLength(NOT_REACHED.length);
  // Every silent call, and the request that ACS has refused.
  const silent = [NUMBERS.speechRefused, NUMBERS.speechNotConfigured].flatMap((number) =>
    stage.callsTo(number).map(({ id }) => id),
  );
  expect(silent).toHaveLength(4);
  expect(firedFor('failed-calls', tables).toSorted()).toEqual([...silent, ids.get('requestRefused') ?? ''].toSorted());
  const others = [
    'unexpected-errors',
    'damaged-rows',
    'rows-of-a-later-release',
    'daily-call-limit',
    'calls-without-table',
  ];
  for (const alert of others) expect({ alert, rows: counted(alert, tables) }).toEqual({ alert, rows: [] });
}, 60_000);

const ask = async (app: App, path: string, body?: unknown): Promise<number> =>
  (
    await fetch(`${app.url}/api/${path}`, {
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json' },
    })
  ).status;

const started = async (overrides: Readonly<Record<string, string>> = {}) => {
  const environment = testEnvironment(overrides);
  const app = await startApp({ environment, runsSchedules: false });
  onTestFinished(() => app.stop());
  const table = TableClient.fromConnectionString(
    inject('tablesConnectionString'),
    `${environment['TABLES_PREFIX']}analytics`,
    { allowInsecureConnection: true },
  );
  return { app, table };
};

const notification = (recipients: readonly string[]) => ({ channel: 'phone', alert_type: 'Custom', recipients });

const event = (date: string) => ({
  specversion: '1.0',
  id: '1',
  source: '/ai/worker-3',
  type: 'CameraEvent.Changed',
  time: `${date}T08:00:00Z`,
  data: { event_id: 'f-1', camera_id: 'ridge-04', ts_utc: `${date}T08:00:00Z`, detections: { smoke: 1 } },
});

/** Whether a log line with these fields is about a call that failed. */
const firesFor = (fields: object): boolean =>
  counted('failed-calls', { traces: [{ message: JSON.stringify(fields) }] }).length > 0;

it('wake nobody about a call request whose answer was unclear, which is sent again, nor about a line that is not free', () => {
  const notPlaced = { event: 'call not placed', notification_id: 'n' };

  expect(firesFor({ ...notPlaced, code: 401, reason: 'the phone service does not accept this app' })).toBe(true);
  expect(firesFor({ ...notPlaced, code: 404, reason: 'not found' })).toBe(true);
  expect(firesFor({ ...notPlaced, reason: 'unexpected error', kind: 'TypeError' })).toBe(true);
  expect(firesFor({ ...notPlaced, code: 500, reason: 'answered 500' })).toBe(false);
  expect(firesFor({ ...notPlaced, code: 408, reason: 'answered 408' })).toBe(false);
  expect(firesFor({ ...notPlaced, reason: 'no answer in time' })).toBe(false);
  expect(firesFor({ event: 'no line free', notification_id: 'n', code: 429, reason: 'throttled' })).toBe(false);
  expect(firesFor({ event: 'no line free', notification_id: 'n', reason: 'no token for the phone service' })).toBe(
    true,
  );
});

/** Requests as Application Insights keeps them. */
const answers = (name: string, resultCode: string, times = 1) =>
  Array.from({ length: times }, () => ({ name, resultCode }));

describe('what wakes people besides', () => {
  it('is that nobody can be phoned, because the phone service cannot be reached', async () => {
    // Nothing answers where the tests' ACS should be.
    const { app } = await started();
    await ask(app, 'notifications', notification(['+12065550400']));
    await until(() => app.output().includes('no line free'), 'the request has failed');
    expect(firedFor('failed-calls', tracesOf(app))).toHaveLength(1);
  });

  it('is the limit of the day', async () => {
    const { app } = await started({ CALLS_PER_DAY: '1' });
    expect(await ask(app, 'notifications', notification(['+12065550400', '+12065550500']))).toBe(202);
    expect(counted('daily-call-limit', tracesOf(app))).toHaveLength(1);
  });

  it('is a damaged row, and a row of a later release, by the partition of their day', async () => {
    const { app, table } = await started();
    for (const date of ['2026-11-19', '2026-11-20']) expect(await ask(app, 'events', [event(date)])).toBe(200);
    await table.upsertEntity({ partitionKey: '2026-11-19_00', rowKey: 'total', format: 99 }, 'Merge');
    await table.upsertEntity(
      { partitionKey: '2026-11-20_00', rowKey: 'total', format: 1, tally: 'no tally' },
      'Replace',
    );
    for (const date of ['2026-11-19', '2026-11-20']) expect(await ask(app, `analytics/day?date=${date}`)).toBe(500);

    expect(firedFor('rows-of-a-later-release', tracesOf(app))).toEqual(['2026-11-19_00']);
    expect(firedFor('damaged-rows', tracesOf(app))).toEqual(['2026-11-20_00']);
    expect(counted('unexpected-errors', tracesOf(app))).toEqual([]);
  });

  it('is that nothing new is recorded: what is sent again is not new', async () => {
    const { app } = await started();
    expect(await ask(app, 'events', [event('2026-11-20')])).toBe(200);
    expect(counted('counts-not-moving', tracesOf(app))).toHaveLength(1);
    expect(await ask(app, 'events', [event('2026-11-20')])).toBe(200);
    expect(counted('counts-not-moving', tracesOf(app))).toHaveLength(1);
  });

  it('is a day that cannot be closed because of a row, and not one that only storage has put off', () => {
    const lines = ['DamagedRow', 'LaterFormat', 'StorageTrouble'].map((kind) => ({
      message: JSON.stringify({
        event: 'day not closed',
        day: '2026-11-20',
        kind,
        partition: '2026-11-20_00',
        row: 'total',
      }),
    }));
    expect(firedFor('damaged-rows', { traces: lines })).toEqual(['2026-11-20_00']);
    expect(firedFor('rows-of-a-later-release', { traces: lines })).toEqual(['2026-11-20_00']);
    expect(counted('damaged-rows', { traces: lines })).toHaveLength(1);
    expect(counted('rows-of-a-later-release', { traces: lines })).toHaveLength(1);
  });

  it('is what the service answers 500 or above, but not that a phone which is switched off answers 503', () => {
    const requests = [
      ...answers('RecordEvents', '503'),
      ...answers('Notifications', '500'),
      ...answers('Notifications', '503', 2),
      ...ALERT_TYPES.flatMap(({ callbackPath }) => answers(callbackPath, '503')),
      ...answers('Notification', '503'),
      ...answers('AnalyticsDay', '200'),
    ];
    const phoneOff = /unlessPhoneIsOff: isPhoneOn \? '' : '(.*)'/.exec(
      bicepFile('modules/alerts.bicep').root.text,
    )?.[1];
    expect(phoneOff).toBeDefined();
    expect(counted('failed-requests', { requests })).toHaveLength(5 + ALERT_TYPES.length);
    expect(rowsOf(`${queryOf('failed-requests')}${phoneOff}`, { requests })).toEqual([
      { name: 'RecordEvents', resultCode: '503' },
      { name: 'Notifications', resultCode: '500' },
    ]);
  });

  it('is each timer that did not run, or did not end well', () => {
    const requests = [
      { name: 'Sweep', success: true, resultCode: '0' },
      { name: 'CloseDays', success: false, resultCode: '0' },
      { name: 'CloseDays', success: true, resultCode: '0' },
      { name: 'CloseDays', success: true, resultCode: '0' },
    ];
    expect(counted('sweep-stopped', { requests })).toHaveLength(1);
    expect(counted('close-days-stopped', { requests })).toHaveLength(2);
  });

  it('is a reason that the code gives', () => {
    const calls = new URL('../../src/calls/', import.meta.url);
    const sources = readdirSync(calls, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => readFileSync(new URL(path.replaceAll('\\', '/'), calls), 'utf8'))
      .join('\n');
    const reasons = [...queryOf('failed-calls').matchAll(/reason (?:==|in) \(?((?:"[^"]+"(?:, )?)+)/g)].flatMap(
      ([, texts = '']) => [...texts.matchAll(/"([^"]+)"/g)].map(([, text]) => text ?? ''),
    );
    expect(reasons).toHaveLength(3);
    expect(reasons.filter((reason) => !sources.includes(`'${reason}'`))).toEqual([]);
  });
});
