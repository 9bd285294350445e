import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { bundle } from '../../infra/bundle.ts';
import { parseSchedule } from '../../infra/local/functions-host/schedule.ts';
import { type App, type AppOptions, startApp } from '../harness/app.ts';

let directory: string;

const startTimersApp = (options: Partial<AppOptions> = {}): Promise<App> =>
  startApp({
    bundle: { path: join(directory, 'main.cjs') },
    environment: { YEARLY_SCHEDULE: '0 0 0 1 1 *' },
    ...options,
  });

/** The lines of an app that begin with a word. */
const linesOf = (app: App, word: string): readonly string[] =>
  app
    .output()
    .split('\n')
    .filter((line) => line.startsWith(`${word} `));

const startFunction = (app: App, name: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${app.url}/admin/functions/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"input":""}',
    ...init,
  });

const until = (condition: () => void): Promise<void> => vi.waitFor(condition, { timeout: 15_000, interval: 50 });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'host-timers-'));
  const entry = fileURLToPath(new URL('fixtures/timers-app.ts', import.meta.url));
  await bundle({ entry, outfile: join(directory, 'main.cjs'), debug: true });
});

afterAll(() => rm(directory, { recursive: true }));

/** The first occurrences of a schedule after a fixed instant. */
const occurrencesOf = (text: string, count: number): readonly string[] => {
  const schedule = parseSchedule(text);
  const occurrences: number[] = [];
  let at = Date.parse('2026-11-21T10:20:30.500Z');
  while (occurrences.length < count) occurrences.push((at = schedule.next(at)));
  return occurrences.map((each) => new Date(each).toISOString().replace('.000Z', ''));
};

describe('a schedule', () => {
  it.each([
    ['*/30 * * * * *', ['2026-11-21T10:21:00', '2026-11-21T10:21:30']],
    ['0 */5 * * * *', ['2026-11-21T10:25:00', '2026-11-21T10:30:00']],
    ['0 5-50/20 * * * *', ['2026-11-21T10:25:00', '2026-11-21T10:45:00']],
    ['0 30 2,14 * * *', ['2026-11-21T14:30:00', '2026-11-22T02:30:00']],
    ['0 0 0 * * MON-FRI', ['2026-11-23T00:00:00', '2026-11-24T00:00:00']],
    ['0 0 0 * jan 0', ['2027-01-03T00:00:00', '2027-01-10T00:00:00']],
    // Both must match: a first of a month that is a Monday.
    ['0 0 0 1 * Mon', ['2027-02-01T00:00:00', '2027-03-01T00:00:00']],
    ['30 20 10 21 11 *', ['2027-11-21T10:20:30', '2028-11-21T10:20:30']],
  ])('%s occurs in UTC as NCRONTAB says', (text, occurrences) => {
    expect(occurrencesOf(text, 2)).toEqual(occurrences);
  });

  it.each(['* * * * *', '60 * * * * *', '0 0 0 L * *', '0 0 0 * * 7', '0 0 0 ? * *', '@daily', '00:00:30', ''])(
    '"%s" is not one',
    (text) => {
      expect(() => parseSchedule(text)).toThrow(`"${text}" is not an NCRONTAB expression of six fields.`);
    },
  );

  it('that never occurs is refused', () => {
    expect(() => parseSchedule('0 0 0 31 2 *')).toThrow('"0 0 0 31 2 *" never occurs.');
  });

  it.each([
    ['* * * * * *', true],
    ['0,30 * * * * *', true],
    ['0 * * * * *', false],
    ['*/10 0 * * * *', false],
  ])('%s occurs more than once a minute: %s', (text, isSubMinute) => {
    expect(parseSchedule(text).isSubMinute).toBe(isSubMinute);
  });
});

describe('timer functions on their schedules', () => {
  let app: App;
  beforeAll(async () => {
    app = await startTimersApp();
  });
  afterAll(() => app.stop());

  it('run at every occurrence and are told what the real host tells', async () => {
    await until(() => expect(linesOf(app, 'Second').length).toBeGreaterThanOrEqual(2));

    expect(new Set(linesOf(app, 'Second'))).toEqual(
      new Set(['Second {"schedule":{"adjustForDST":true},"scheduleStatus":null,"isPastDue":false}']),
    );
  });

  it('run one at a time; an occurrence that passes during a run starts the next one after it', async () => {
    await until(() => expect(linesOf(app, 'Slow').length).toBeGreaterThanOrEqual(5));

    expect(linesOf(app, 'Slow').slice(0, 5)).toEqual([
      'Slow 1 starts',
      'Slow 1 ends',
      'Slow 2 starts',
      'Slow 2 ends',
      'Slow 3 starts',
    ]);
  });

  it('go on after an error, which is in the log with the line of the source', async () => {
    await until(() => expect(linesOf(app, 'Failing').length).toBeGreaterThanOrEqual(2));

    expect(app.output()).toMatch(/Failing failed: Error: lightning struck\n.*timers-app\.ts:\d+/);
    expect(await (await fetch(`${app.url}/api/hello`)).text()).toBe('hello');
  });

  it('run when the host starts where they ask for it, and not before they are due otherwise', async () => {
    await until(() => expect(linesOf(app, 'AtStart')).toHaveLength(1));

    expect(linesOf(app, 'Yearly')).toEqual([]);
  });
});

describe('POST /admin/functions/{name}', () => {
  let app: App;
  beforeAll(async () => {
    app = await startTimersApp({ runsSchedules: false });
  });
  afterAll(() => app.stop());

  it('starts a function at once, with its status and the schedule that a setting names', async () => {
    const newYear = `${new Date().getUTCFullYear() + 1}-01-01T00:00:00.000+00:00`;
    const never = '0001-01-01T00:00:00+00:00';
    const status = { last: never, next: newYear, lastUpdated: never };

    const response = await startFunction(app, 'Yearly');

    expect({ status: response.status, body: await response.text() }).toEqual({ status: 202, body: '' });
    await until(() => expect(linesOf(app, 'Yearly')).toHaveLength(1));
    expect(JSON.parse(linesOf(app, 'Yearly')[0]?.slice('Yearly '.length) ?? '')).toEqual({
      schedule: { adjustForDST: true },
      scheduleStatus: status,
      isPastDue: false,
    });
  });

  it('gives no status where the function has no monitor', async () => {
    await startFunction(app, 'unmonitored');

    await until(() => expect(linesOf(app, 'Unmonitored')).toEqual([expect.stringContaining('"scheduleStatus":null')]));
  });

  it('answers 202 for a function that fails, and the host goes on', async () => {
    expect((await startFunction(app, 'Failing')).status).toBe(202);

    await until(() => expect(app.output()).toContain('Failing failed: Error: lightning struck'));
    expect((await fetch(`${app.url}/api/hello`)).status).toBe(200);
  });

  it.each([
    ['an unknown name', 'Nobody', {}, 404],
    ['an HTTP function', 'Hello', {}, 404],
    ['another method', 'Yearly', { method: 'PUT' }, 404],
    ['a body that is not said to be JSON', 'Yearly', { headers: { 'content-type': 'text/plain' } }, 415],
    ['a body that is not JSON', 'Yearly', { body: '{' }, 400],
    ['no body', 'Yearly', { body: null }, 400],
  ])('%s', async (_case, name, init, status) => {
    expect((await startFunction(app, name, init)).status).toBe(status);
  });

  it('is the only way to run a timer function where the schedules are off', async () => {
    // Two runs that were asked for, one after the other, take longer than the schedule needs for one.
    await startFunction(app, 'Slow');
    await until(() => expect(linesOf(app, 'Slow')).toHaveLength(2));
    await startFunction(app, 'Slow');
    await until(() => expect(linesOf(app, 'Slow')).toHaveLength(4));

    expect([...linesOf(app, 'Second'), ...linesOf(app, 'AtStart')]).toEqual([]);
  });

  it('needs the master key where keys are enforced: a function key is not enough', async () => {
    const locked = await startTimersApp({ functionKey: 'k3y', masterKey: 'm4ster', runsSchedules: false });

    expect((await startFunction(locked, 'Yearly?code=k3y')).status).toBe(403);
    expect((await startFunction(locked, 'Yearly?code=m4ster')).status).toBe(202);
    await locked.stop();
  });
});

describe('the life of the process', () => {
  it('stopping waits for a timer function that runs, and starts no other', async () => {
    const app = await startTimersApp();
    await until(() => expect(linesOf(app, 'Slow')).toContain('Slow 1 starts'));
    await app.stop();

    expect(await app.exited).toBe('The app ended with code 0');
    const slow = linesOf(app, 'Slow');
    expect(slow.at(-1)).toMatch(/ends$/);
    expect(slow.length % 2).toBe(0);
  });

  it.each([
    [{}, 'Yearly: the setting YEARLY_SCHEDULE of its schedule is missing.'],
    [{ YEARLY_SCHEDULE: '* * *' }, 'Yearly: "* * *" is not an NCRONTAB expression of six fields.'],
  ])('with %j the app does not start', async (environment, reason) => {
    await expect(startTimersApp({ environment })).rejects.toThrow(reason);
  });
});
