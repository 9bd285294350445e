import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, inject, it } from 'vitest';

import { announcement, demoCommand } from '../../infra/cli/start/announcement.ts';
import { chosenStorage } from '../../infra/cli/chosen-storage.ts';
import { believableDay } from '../../infra/cli/demo/day.ts';
import { demo } from '../../infra/cli/demo/steps.ts';
import { freePort } from '../../infra/emulators/free-port.ts';
import { startLocalRun } from '../../infra/cli/start/local-run.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { until } from '../harness/until.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { startProgram } from './send/running.ts';
import { bareEnvironment, NO_SETTINGS, npmStart } from './npm-start.ts';

const START = fileURLToPath(new URL('../../infra/cli/start.ts', import.meta.url));

/** Posts JSON to a local run. */
const post = (port: number, path: string, body: unknown): Promise<Response> =>
  fetch(`http://localhost:${port}/api/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** CallConnected as a person posts it, without a token. */
const callbackByHand = (port: number): Promise<Response> => {
  const data = { callConnectionId: '11111111-2222-4333-8444-555555555555' };
  const type = 'Microsoft.Communication.CallConnected';
  return post(port, 'CustomCallback', [{ specversion: '1.0', id: '1', source: 'by-hand', type, data }]);
};

const dayOf = async (port: number, date: string): Promise<unknown> =>
  (await fetch(`http://localhost:${port}/api/analytics/day?date=${date}`)).json();

const options = { settings: NO_SETTINGS, lines: 2, 'verify-callbacks': false };

// They wait for calls most of the time. Windows has no process groups to send Ctrl-C to.
describe.concurrent('runs side by side', () => {
  it.skipIf(process.platform === 'win32')(
    'npm start runs the whole service with what its options say; Ctrl-C and SIGTERM to npx alone leave nothing; --data keeps the tables',
    async (test) => {
      const dataDir = ownDirectory(test);
      const port = await freePort();
      const args = ['--port', `${port}`, '--data', dataDir, '--lines', '1', '--verify-callbacks'];
      // More than the simulated phone has: the service is refused.
      const first = npmStart(test, args, { CALLS_AT_ONCE: '3' });
      await first.untilReady();
      const refused = startProgram(
        process.execPath,
        ['--import', import.meta.resolve('tsx'), START, '--port', `${port}`],
        { environment: bareEnvironment() },
        test,
      );
      const event = cloudEvent({ data: { ts_utc: '2026-03-14T08:00:00Z', detections: { smoke: 2 } } });
      expect((await post(port, 'events', event)).status).toBe(200);
      expect(first.output()).not.toContain('callbacks are not verified');
      expect((await callbackByHand(port)).status).toBe(401);
      await post(port, 'test-call', ['+12065550100', '+12065551100']);
      await until(() => /\[phone\] \+1206555\d100 hears: /.test(first.output()), 'somebody hears it');
      await until(
        () => /\[phone\] \+1206555\d100: no line is free/.test(first.output()),
        'the other one finds no line',
      );
      const said = expect.stringMatching(new RegExp(`^Port ${port} is in use\\.(?![^]*\\n\\s+at )`));
      expect(await refused.ended).toMatchObject({ code: 1, said });
      first.ctrlC();
      await first.untilNothingIsLeft();
      // What the last process wrote may arrive after its end.
      await until(() => first.output().includes('Everything has stopped.'), 'it says so');

      const second = npmStart(test, ['--port', `${port}`, '--data', dataDir], { PHONE: 'off' }, true);
      await second.untilReady();
      expect(second.output()).toContain('phone   off (PHONE=off): nobody is phoned');
      expect(await dayOf(port, '2026-03-14')).toMatchObject({ total_events: 1, counts_per_category: { smoke: 2 } });
      second.signal('SIGTERM');
      await second.untilNothingIsLeft();
    },
  );

  it('a local run has all that the demo shows: a day that the endpoints confirm, and calls; it says which part ended by itself', async ({
    onTestFinished,
  }) => {
    const port = await freePort();
    const printed: string[] = [];
    const environment = { ...bareEnvironment(), CALL_ATTEMPTS: '1' };
    // Long enough for the start of listening, which runs beside the message.
    const parts = { pace: { ringMs: 50, eventMs: 10, speakMs: 1_500 }, bundle: inject('bundles').debug };
    const run = await startLocalRun({ ...options, port }, environment, (line) => printed.push(line), parts);
    onTestFinished(() => run.stop());

    // Nobody set a check: anybody may post a callback, and one warning says so.
    const warnings = () => printed.filter((line) => line.includes('callbacks are not verified'));
    await until(() => warnings().length > 0, 'it warns');
    expect(warnings()).toHaveLength(1);
    expect((await callbackByHand(port)).status).toBe(200);
    const refused = 'refused: POST /calling/callConnections/11111111-2222-4333-8444-555555555555:play';
    await until(() => printed.some((line) => line.includes(refused)), 'the simulator says so');

    const date = '2026-03-14';
    const end = Date.parse(`${date}T02:00:00Z`);
    const lines: string[] = [];
    await demo({ url: new URL(run.url), date }, end, (text) => lines.push(text));
    const told = lines.join('\n');
    const frames = new Set(believableDay(date, end).map(({ data }) => data.event_id)).size;
    expect(await dayOf(port, date)).toMatchObject({ total_events: frames, active_cameras: 20 });
    expect(told).toMatch(new RegExp(`camera frames +${frames.toLocaleString('en-GB')}\n`));
    expect(told).toMatch(/callee hears +You've received a new Alert from Wildfire Watch\. Custom Alert/);
    expect(told).toContain('CallDisconnected');
    const state = told.slice(told.lastIndexOf('GET /api/notifications/'));
    const words = [...state.matchAll(/"(?:status|outcome)": "(\w+)"/g)].map(([, word]) => word);
    expect(words.join(' ')).toMatch(/^completed not_reached no_answer confirmed confirmed stopped\b/);
    expect(told).toContain('ContinuousDtmfRecognitionToneReceived → 200');

    // So the audit finds the run's storage by its port.
    const connection = { connectionString: run.azurite?.connectionString };
    expect(await chosenStorage(port, NO_SETTINGS)).toEqual({ connection, prefix: '' });

    run.azurite?.kill();
    expect(await run.partLost).toBe('Azurite ended by SIGKILL');
  });

  it('a local run names each wrong setting once', async () => {
    const told: string[] = [];
    const wrong = { COUNTER_SHARDS: '65', ACS_RESOURCE_ID: 'my-acs' };
    const environment = { ...bareEnvironment(), TABLES_CONNECTION_STRING: inject('tablesConnectionString'), ...wrong };
    const print = (line: string) => told.push(line);
    const parts = { bundle: inject('bundles').debug };
    const starting = startLocalRun({ ...options, port: await freePort() }, environment, print, parts);
    told.push(await starting.then(() => 'It has started.', String));
    expect(told.join('\n').match(/COUNTER_SHARDS: must be a whole number from 1 to 64/g)).toHaveLength(1);
    expect(told.join('\n').match(/ACS_RESOURCE_ID: must be a GUID/g)).toHaveLength(1);
  });
});

/** Starts a local run on a folder. */
const startingOn = async (data: string) =>
  startLocalRun({ ...options, port: await freePort(), data }, bareEnvironment(), () => undefined, {
    bundle: inject('bundles').debug,
  });

describe('a local run', () => {
  it('says which real services it uses', () => {
    const settings = { TABLES_ENDPOINT: 'https://a.example', ACS_CONNECTION_STRING: 'endpoint=https://b.example' };
    const parts = { azurite: undefined, simulator: undefined, partLost: Promise.resolve(''), kill: () => undefined };
    const run = {
      ...parts,
      url: 'http://localhost:7071',
      settings,
      settingsFile: 'own.json',
      warnings: ['Mind.'],
      stop: async () => undefined,
    };
    const said = announcement(run, { ...options, port: 7071 }, 1);
    expect(said).toContain('tables  the storage that TABLES_ENDPOINT names');
    expect(said).toContain('phone   the ACS that ACS_CONNECTION_STRING names: real calls');
    expect(said).toContain('settings from the environment and own.json');
    expect(said).toContain('Warning: Mind.');
  });

  it.each([
    ['/usr/bin/node', 'npm run demo'],
    ['/home/ada/.npm/_npx/38/node_modules/node/bin/node', 'npx -y -p node@24 -c "npm run demo"'],
  ])('run by %s, prints a demo command that works in another terminal', (node, command) => {
    expect(demoCommand('npm run demo', node)).toBe(command);
  });

  it('refuses a folder that another run has, or that cannot be written, at once', async () => {
    const data = ownDirectory();
    await writeFile(join(data, 'npm-start.pid'), `${process.ppid}`);
    await expect(startingOn(data)).rejects.toThrow(`--data ${data} is in use by the process ${process.ppid}.`);
    await expect(startingOn(join(data, 'npm-start.pid', 'x'))).rejects.toThrow('cannot be written (ENOTDIR).');
  });

  it.runIf(process.platform === 'linux')('refuses at once a folder in which nothing can be made', async () => {
    await expect(startingOn('/proc/x')).rejects.toThrow('--data /proc/x cannot be written (ENOENT).');
  });

  it('refuses a real table together with a simulated phone', async () => {
    const environment = { ...bareEnvironment(), TABLES_ENDPOINT: 'https://a.table.core.windows.net' };
    const starting = startLocalRun({ ...options, port: await freePort() }, environment, () => undefined);
    await expect(starting).rejects.toThrow(/^The tables belong to a real service.* Set PHONE=off/);
  });

  it('does not start if calls were real and nobody would hear anything', async () => {
    const acs = { ACS_CONNECTION_STRING: 'endpoint=https://acs.invalid/;accesskey=dGVzdA==' };
    for (const own of [acs, { ...acs, CALLBACK_BASE_URL: 'http://localhost:7071' }]) {
      const environment = { ...bareEnvironment(), ...own };
      const starting = startLocalRun({ ...options, port: await freePort() }, environment, () => undefined);
      await expect(starting).rejects.toThrow(/^Calls would be real.* Set CALLBACK_BASE_URL to a public https address/);
    }
  });
});
