import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, inject, it } from 'vitest';

import { chosenCounters } from '../../infra/cli/chosen-storage.ts';
import { believableDay } from '../../infra/cli/demo/day.ts';
import { demo } from '../../infra/cli/demo/steps.ts';
import { announcement, demoCommand } from '../../infra/cli/start/announcement.ts';
import { startLocalRun } from '../../infra/cli/start/local-run.ts';
import { START, type StartOptions } from '../../infra/cli/start/options.ts';
import { freePort, portIsFree } from '../../infra/emulators/free-port.ts';
import { ROOT } from '../docs/markdown.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { until } from '../harness/until.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { NO_SETTINGS, startProgram } from './running.ts';

const OPTIONS = START.values.parse({ settings: NO_SETTINGS });
const DATE = '2026-03-14';
const { PATH, HOME } = process.env;

/** Starts a local run with the bundle of the tests, where calls take half a second: long enough for listening to begin. */
const startRun = async (
  options: Partial<StartOptions>,
  environment: NodeJS.ProcessEnv = {},
  print: (line: string) => void = () => undefined,
) => {
  const parts = { pace: { ringMs: 50, eventMs: 10, speakMs: 500 }, bundle: inject('bundles').debug };
  return startLocalRun({ ...OPTIONS, port: await freePort(), ...options }, { PATH, ...environment }, print, parts);
};

/** Posts JSON to a local run. @returns the status of the answer */
const post = async (url: string, path: string, body: unknown): Promise<number> => {
  const headers = { 'content-type': 'application/json' };
  return (await fetch(`${url}/api/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).status;
};

const CALL = '11111111-2222-4333-8444-555555555555';

/** CallConnected as a person posts it, without a token. @returns the status of the answer */
const callbackByHand = async (url: string): Promise<number> => {
  const type = 'Microsoft.Communication.CallConnected';
  const event = { specversion: '1.0', id: '1', source: 'by-hand', type, data: { callConnectionId: CALL } };
  return post(url, 'CustomCallback', [event]);
};

// Windows has no process groups to send Ctrl-C to.
const isWindows = process.platform === 'win32';
const terminal = (environment: NodeJS.ProcessEnv = {}) => ({
  cwd: ROOT,
  detached: true,
  environment: { PATH, HOME, ...environment },
});

// They wait for calls most of the time.
describe.concurrent('npm start', () => {
  it.skipIf(isWindows)(
    'runs the whole service with what its options say, keeps the tables of --data, and leaves nothing after Ctrl-C',
    async (test) => {
      const data = ownDirectory(test);
      const port = await freePort();
      const url = `http://localhost:${port}`;
      const own = ['--port', `${port}`, '--data', data, '--lines', '1', '--verify-callbacks'];
      const args = ['start', '--', '--settings', NO_SETTINGS, ...own];
      // More lines than the simulated phone has: the service is refused.
      const { child, output, signal } = startProgram('npm', args, terminal({ CALLS_AT_ONCE: '3' }), test);
      await until(() => child.exitCode !== null || output().includes('The service runs on'), 'npm start is ready');
      expect(output()).toContain(`Open ${url}/api/dashboard in a browser.`);
      const event = cloudEvent({ data: { event_id: 'event-of-the-first-run' } });
      expect(await post(url, 'events', event)).toBe(200);
      expect(await callbackByHand(url)).toBe(401);
      expect(output()).not.toContain('callbacks are not verified');
      await post(url, 'test-call', ['+12065550100', '+12065551100']);
      await until(() => /\[phone\] \+1206555\d100 hears: /.test(output()), 'a callee hears it');
      await until(() => /\[phone\] \+1206555\d100: no line is free/.test(output()), 'the other finds no line');
      await expect(startRun({ port })).rejects.toThrow(new RegExp(`^Port ${port} is in use\\.`));
      await expect(startRun({ data })).rejects.toThrow(/ is in use by the process \d+\./);

      const ports = new Set(output().match(/(?<=(?:127\.0\.0\.1|localhost):)\d+/g));
      signal('SIGINT');
      for (const used of ports) await until(async () => portIsFree(Number(used)), 'nothing is left');
      // The last output may arrive after the end of its process.
      await until(() => output().includes('Everything has stopped.'), 'it says so');
      expect(await readdir(data)).not.toContain('npm-start.pid');
      expect(await readFile(join(data, '__azurite_db_table__.json'), 'utf8')).toContain('event-of-the-first-run');
    },
  );

  it.skipIf(isWindows)('ends if only the npx that started it is ended', async (test) => {
    const script = `
      const { watchForStop } = await import(${JSON.stringify(join(ROOT, 'infra/cli/stop-request.ts'))});
      const { asked } = watchForStop();
      console.log('watching');
      setInterval(() => undefined, 1_000);
      console.log(await asked);
      process.exit();`;
    const path = join(ownDirectory(test), 'watch.mts');
    await writeFile(path, script);
    // The script is not a child of npx: a shell stands in between.
    const command = ['exec', '-c', `true; ${process.execPath} --import tsx ${path}; true`];
    const { child, output } = startProgram('npm', command, terminal(), test);
    await until(() => output().includes('watching'), 'the script watches');
    child.kill('SIGTERM');
    await until(() => output().includes('asked'), 'the script is asked to stop');
    expect(output()).toBe('watching\nasked\n');
  });

  it('has all that the demo shows: a day that the endpoints confirm, and calls; it names the part that ended', async (test) => {
    const printed: string[] = [];
    const settings = join(ownDirectory(test), 'own.json');
    // In a file, PHONE=off is for func start. The environment takes precedence over the file.
    await writeFile(settings, '{ "Values": { "PHONE": "off", "CALL_ATTEMPTS": "2" } }');
    const run = await startRun({ settings }, { CALL_ATTEMPTS: '1' }, (line) => printed.push(line));
    test.onTestFinished(() => run.stop());
    expect(run.settings).toMatchObject({ CALL_ATTEMPTS: '1', CALLS_AT_ONCE: '2', CALL_RETRY_SECONDS: '5' });

    // No setting verifies callbacks: every caller may post them, and one warning names that.
    expect(await callbackByHand(run.url)).toBe(200);
    const refused = `refused: POST /calling/callConnections/${CALL}:play`;
    await until(() => printed.some((line) => line.includes(refused)), 'the simulator says so');
    expect(printed.filter((line) => line.includes('callbacks are not verified'))).toHaveLength(1);

    const end = Date.parse(`${DATE}T00:20:00Z`);
    const lines: string[] = [];
    await demo({ url: new URL(run.url), date: DATE }, end, (text) => lines.push(text));
    const told = lines.join('\n');
    const frames = new Set(believableDay(DATE, end).map(({ data }) => data.event_id)).size;
    const day = await fetch(`${run.url}/api/analytics/day?date=${DATE}`);
    expect(await day.json()).toMatchObject({ total_events: frames, active_cameras: 20 });
    expect(told).toMatch(new RegExp(`camera frames +${frames}\n`));
    expect(told).toMatch(/callee hears +You've received a new Alert from Wildfire Watch\. Custom Alert/);
    const state = told.slice(told.lastIndexOf('GET /api/notifications/'));
    const words = [...state.matchAll(/"(?:status|outcome)": "(\w+)"/g)].map(([, word]) => word);
    expect(words.join(' ')).toMatch(/^completed not_reached no_answer confirmed confirmed stopped\b/);
    expect(told).toContain('ContinuousDtmfRecognitionToneReceived → 200');

    // The audit finds the run's storage by its port.
    const connection = { connectionString: run.azurite?.connectionString };
    const counters = { storage: { connection, prefix: '' }, shards: 1, tableName: 'analytics' };
    expect(await chosenCounters(Number(new URL(run.url).port), NO_SETTINGS)).toEqual(counters);

    run.azurite?.kill();
    expect(await run.partLost).toBe('Azurite ended by SIGKILL');
  });

  it('names each wrong setting once', async () => {
    const wrong = { COUNTER_SHARDS: '65', ACS_RESOURCE_ID: 'my-acs' };
    const environment = { TABLES_CONNECTION_STRING: inject('tablesConnectionString'), ...wrong };
    const told: string[] = [];
    await startRun({}, environment, (line) => told.push(line)).catch((error) => told.push(String(error)));
    const problems = ['COUNTER_SHARDS: must be an integer from 1 to 64', 'ACS_RESOURCE_ID: must be a GUID'];
    const lines = ['Error: The functions host ended with code 1:', 'The app cannot start:'];
    expect(told.join('\n')).toBe([...lines, ...problems.map((problem) => `  ${problem}`)].join('\n'));
  });
});

const real = { TABLES_ENDPOINT: 'https://a.table.core.windows.net' };
const acs = { ACS_CONNECTION_STRING: 'endpoint=https://acs.invalid/;accesskey=dGVzdA==' };
const local = { CALLBACK_BASE_URL: 'http://localhost:7071' };

it.each([
  ['a real table with the simulated phone', {}, real, /^The tables belong to a real service.* Set PHONE=off/],
  ['real calls without an address for callbacks', {}, acs, /^Calls would be real.* Set CALLBACK_BASE_URL to a public/],
  ['real calls with its own address', {}, { ...acs, ...local }, /^Calls would be real/],
  ['a folder below a file', { data: join(NO_SETTINGS, 'x') }, {}, /^--data .*x cannot be written \(ENOTDIR\)\.$/],
])('npm start refuses %s', async (_, options, environment, complaint) => {
  await expect(startRun(options, environment)).rejects.toThrow(complaint);
});

it('npm start says which real services it uses', () => {
  const services = { warnings: ['Mind.'], azurite: undefined, simulator: undefined, settingsFile: 'own.json' };
  const said = announcement({ url: 'http://localhost:7071', settings: { ...real, ...acs }, ...services }, OPTIONS, 1);
  expect(said).toContain('tables  the storage that TABLES_ENDPOINT names');
  expect(said).toContain('phone   the ACS that ACS_CONNECTION_STRING names: real calls');
  expect(said).toContain('settings from the environment and own.json');
  expect(said).toContain('Warning: Mind.');
  const off = announcement({ url: 'http://localhost:7071', settings: { PHONE: 'off' }, ...services }, OPTIONS, 1);
  expect(off).toContain('phone   off (PHONE=off): the service phones no person');
});

it.each([
  ['/usr/bin/node', 'npm run demo'],
  ['/home/ada/.npm/_npx/38/node_modules/node/bin/node', 'npx -y -p node@24 -c "npm run demo"'],
])('npm start, run by %s, prints a demo command that works in another terminal', (node, command) => {
  expect(demoCommand('npm run demo', node)).toBe(command);
});
