import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

import { afterEach, describe, expect, inject, it, vi } from 'vitest';

import { believableDay } from '../../infra/local/demo/day.ts';
import { freePort } from '../../infra/local/free-port.ts';
import { isRunning } from '../../infra/local/process-table.ts';
import { ownTablesPrefix } from '../harness/app.ts';
import { bareEnvironment, NO_SETTINGS, npmStart, type NpmStart, npxNpmStart } from './npm-start.ts';

const MINUTE = 60_000;

/** CallConnected as a person posts it, without a token. */
const callbackByHand = (port: number): Promise<Response> =>
  fetch(`http://localhost:${port}/api/CustomCallback`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify([
      {
        specversion: '1.0',
        id: '1',
        source: 'by-hand',
        type: 'Microsoft.Communication.CallConnected',
        data: { callConnectionId: '11111111-2222-4333-8444-555555555555' },
      },
    ]),
  });

/** Those of the processes that still run after a while in which all should have ended. */
const leftOf = async (pids: readonly number[]): Promise<readonly number[]> => {
  const end = performance.now() + 15_000;
  while (pids.some(isRunning) && performance.now() < end) await delay(100);
  return pids.filter(isRunning);
};

// Windows has no process groups to send Ctrl-C to.
describe.skipIf(process.platform === 'win32')('npm start', () => {
  const started: NpmStart[] = [];
  const keep = (npm: NpmStart): NpmStart => {
    started.push(npm);
    return npm;
  };
  const start = (...args: Parameters<typeof npmStart>): NpmStart => keep(npmStart(...args));

  afterEach(() => {
    for (const npm of started.splice(0)) npm.kill();
  });

  it(
    'runs the whole service; the demo fills a day that the endpoints confirm; Ctrl-C leaves nothing',
    async () => {
      const port = await freePort();
      const npm = start(['--port', `${port}`]);
      await npm.untilReady();
      const tree = npm.tree();

      const second = start(['--port', `${port}`]);
      expect(await second.exitCode).toBe(1);
      expect(second.output()).toContain(`Port ${port} is in use.`);
      expect(second.output()).not.toMatch(/\n\s+at /);

      // Nobody set a check: anybody may post a callback, and one warning says so.
      expect(npm.output().match(/callbacks are not verified/g)).toHaveLength(1);
      expect((await callbackByHand(port)).status).toBe(200);
      const refused = 'refused: POST /calling/callConnections/11111111-2222-4333-8444-555555555555:play';
      await vi.waitFor(() => expect(npm.output()).toContain(refused), 10_000);

      const date = '2026-03-14';
      const demo = await promisify(execFile)(
        'npm',
        ['run', 'demo', '--', '--url', `http://localhost:${port}`, '--date', date],
        { timeout: 2 * MINUTE },
      );
      const frames = new Set(believableDay(date, Date.now()).map(({ data }) => data.event_id)).size;
      const day = await (await fetch(`http://localhost:${port}/api/analytics/day?date=${date}`)).json();
      expect(day).toMatchObject({ total_events: frames, active_cameras: 20 });
      expect(demo.stdout).toMatch(new RegExp(`camera frames +${frames.toLocaleString('en-GB')}\n`));
      expect(demo.stdout).toMatch(/callee hears +You've received a new Alert from Wildfire Watch\. Custom Alert/);
      expect(demo.stdout).toContain('CallDisconnected');
      const state = demo.stdout.slice(demo.stdout.lastIndexOf('GET /api/notifications/'));
      const words = [...state.matchAll(/"(?:status|outcome)": "(\w+)"/g)].map(([, word]) => word);
      expect(words.join(' ')).toMatch(
        /^completed not_reached no_answer no_answer no_answer confirmed confirmed stopped\b/,
      );
      expect(demo.stdout).toContain('ContinuousDtmfRecognitionToneReceived → 200');
      expect(demo.stdout).toContain('"type": "Notification.RecipientFinal"');
      expect(npm.output()).toContain('[phone] ');

      // The audit finds the run's storage by its port, and ends with 0 only where every counter is right.
      const audit = await promisify(execFile)(
        'npm',
        ['run', 'audit', '--', '--date', date, '--port', `${port}`, '--settings', NO_SETTINGS],
        { timeout: MINUTE, env: bareEnvironment() },
      );
      expect(audit.stdout).toContain(`${frames.toLocaleString('en-GB')} events`);

      npm.ctrlC();
      expect(await leftOf(tree)).toEqual([]);
      // What the last process wrote may arrive after its end.
      await vi.waitFor(() => expect(npm.output()).toContain('Everything has stopped.'), 10_000);
    },
    3 * MINUTE,
  );

  it(
    'keeps the tables in the directory of --data; takes --lines calls at a time; SIGTERM to npm alone stops everything',
    async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'start-data-'));
      const port = await freePort();
      const args = ['--port', `${port}`, '--data', dataDir, '--lines', '1', '--verify-callbacks'];
      const first = start(args);
      await first.untilReady();
      const firstTree = first.tree();
      const recorded = await fetch(`http://localhost:${port}/api/events`, {
        method: 'POST',
        headers: { 'content-type': 'application/cloudevents+json' },
        body: JSON.stringify({
          specversion: '1.0',
          id: '1',
          source: '/test',
          type: 'CameraEvent.Changed',
          time: '2026-03-14T08:00:01Z',
          data: { event_id: 'kept', camera_id: 'ridge-04', ts_utc: '2026-03-14T08:00:00Z', detections: { smoke: 2 } },
        }),
      });
      expect(recorded.status).toBe(200);

      expect(first.output()).not.toContain('callbacks are not verified');
      expect((await callbackByHand(port)).status).toBe(401);
      await fetch(`http://localhost:${port}/api/test-call`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '["+12065550100", "+12065551100"]',
      });
      await vi.waitFor(() => expect(first.output()).toMatch(/\[phone\] \+1206555\d100 hears: /), 10_000);
      expect(first.output()).toMatch(/\[phone\] \+1206555\d100: no line is free/);
      first.signal('SIGTERM');
      expect(await leftOf(firstTree)).toEqual([]);

      const second = start(args);
      await second.untilReady();
      const secondTree = second.tree();
      const day = await (await fetch(`http://localhost:${port}/api/analytics/day?date=2026-03-14`)).json();
      expect(day).toMatchObject({ total_events: 1, counts_per_category: { smoke: 2 } });

      process.kill(second.pidOf('start.ts'), 'SIGKILL');
      expect(await leftOf(secondTree)).toEqual([]);
      await rm(dataDir, { recursive: true });
    },
    2 * MINUTE,
  );

  it(
    'SIGTERM to an npx far above stops everything',
    async () => {
      const npx = keep(npxNpmStart(['--port', `${await freePort()}`]));
      await npx.untilReady();
      const tree = npx.tree();
      npx.signal('SIGTERM');

      expect(await leftOf(tree)).toEqual([]);
    },
    MINUTE,
  );

  it(
    'says which part ended by itself, stops the others and fails',
    async () => {
      const npm = start(['--port', `${await freePort()}`]);
      await npm.untilReady();
      const tree = npm.tree();
      process.kill(npm.pidOf('azurite'), 'SIGKILL');

      expect(await npm.exitCode).toBe(1);
      expect(npm.output()).toContain('Azurite ended by SIGKILL. Stopping the rest');
      expect(await leftOf(tree)).toEqual([]);
    },
    MINUTE,
  );

  it.each([
    [['--prot', '8000'], "Unknown option '--prot'"],
    [['--port', '70000'], '70000 is not a port.'],
    [['--port', 'http'], 'http is not a port.'],
    [['--data', ''], '--data needs a directory.'],
    [['--lines', '0'], '0 is not a number of lines.'],
    [['extra'], "Unexpected argument 'extra'"],
  ])('%j is refused with what is wrong and what there is', async (args, message) => {
    const npm = start(args);

    expect(await npm.exitCode).toBe(1);
    expect(npm.output()).toContain(message);
    expect(npm.output()).toContain('npm start -- [--port N] [--data DIR] [--settings FILE]');
  });

  it('wrong settings are named, and nothing is left running', async () => {
    const npm = start(['--port', `${await freePort()}`], { COUNTER_SHARDS: '65' });

    expect(await npm.exitCode).toBe(1);
    expect(npm.output()).toContain('COUNTER_SHARDS: must be a whole number from 1 to 64');
  });

  it(
    'storage and ACS that a setting names are used in place of its own parts',
    async () => {
      const npm = start(['--port', `${await freePort()}`], {
        TABLES_CONNECTION_STRING: inject('tablesConnectionString'),
        TABLES_PREFIX: ownTablesPrefix(),
        ACS_CONNECTION_STRING: 'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
        ACS_SOURCE_PHONE_NUMBER: '+12065550199',
        ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://speech.invalid/',
      });
      await npm.untilReady();

      expect(npm.output()).toContain('tables  the storage that TABLES_CONNECTION_STRING names');
      expect(npm.output()).toContain('phone   the ACS that ACS_CONNECTION_STRING names: real calls');
      expect(npm.output()).toContain('Set TEST_CALLBACK_BASE_URL to a public https address');
      const tree = npm.tree();
      npm.ctrlC();
      expect(await leftOf(tree)).toEqual([]);
    },
    MINUTE,
  );
});
