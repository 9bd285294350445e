import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { CommandError, readArguments } from '../../infra/command-line.ts';
import { announcement } from '../../infra/local/announcement.ts';
import { believableDay } from '../../infra/local/demo/day.ts';
import { freePort } from '../../infra/local/free-port.ts';
import { startLocalRun } from '../../infra/local/local-run.ts';
import { START } from '../../infra/local/start-options.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { bareEnvironment, NO_SETTINGS, npmStart } from './npm-start.ts';

/** Posts JSON to a local run. */
const post = (port: number, path: string, body: unknown): Promise<Response> =>
  fetch(`http://localhost:${port}/api/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** CallConnected as a person posts it, without a token. */
const callbackByHand = (port: number): Promise<Response> =>
  post(port, 'CustomCallback', [
    {
      specversion: '1.0',
      id: '1',
      source: 'by-hand',
      type: 'Microsoft.Communication.CallConnected',
      data: { callConnectionId: '11111111-2222-4333-8444-555555555555' },
    },
  ]);

const dayOf = async (port: number, date: string): Promise<unknown> =>
  (await fetch(`http://localhost:${port}/api/analytics/day?date=${date}`)).json();

const silent = (): void => undefined;

/** What an npm script of this project prints, without npm in between. */
const printedBy = async (script: string, args: readonly string[]): Promise<string> =>
  (
    await promisify(execFile)(process.execPath, ['--import', 'tsx', `infra/local/${script}.ts`, ...args], {
      env: bareEnvironment(),
    })
  ).stdout;

const DIRECTLY = [process.execPath, '--import', 'tsx', 'infra/local/start.ts'] as const;

// Windows has no process groups to send Ctrl-C to.
describe.skipIf(process.platform === 'win32')('npm start', { timeout: 120_000 }, () => {
  it('runs the whole service with what its options say; Ctrl-C, SIGTERM to npm alone and a crash leave nothing; --data keeps the tables', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'start-data-'));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
    const port = await freePort();
    const first = npmStart(['--port', `${port}`, '--data', dataDir, '--lines', '1', '--verify-callbacks']);
    await first.untilReady();
    const refused = npmStart(['--port', `${port}`], {}, DIRECTLY);
    const event = cloudEvent({ data: { ts_utc: '2026-03-14T08:00:00Z', detections: { smoke: 2 } } });
    expect((await post(port, 'events', event)).status).toBe(200);
    expect(first.output()).not.toContain('callbacks are not verified');
    expect((await callbackByHand(port)).status).toBe(401);
    await post(port, 'test-call', ['+12065550100', '+12065551100']);
    await vi.waitFor(() => expect(first.output()).toMatch(/\[phone\] \+1206555\d100 hears: /), 10_000);
    expect(first.output()).toMatch(/\[phone\] \+1206555\d100: no line is free/);
    expect(await refused.exitCode).toBe(1);
    expect(refused.output()).toContain(`Port ${port} is in use.`);
    expect(refused.output()).not.toMatch(/\n\s+at /);
    first.ctrlC();
    await first.untilNothingIsLeft();
    // What the last process wrote may arrive after its end.
    await vi.waitFor(() => expect(first.output()).toContain('Everything has stopped.'), 10_000);

    const second = npmStart(['--port', `${port}`, '--data', dataDir], { PHONE: 'off' });
    await second.untilReady();
    expect(second.output()).toContain('phone   off (PHONE=off): nobody is phoned');
    expect(second.output()).not.toContain('test-call');
    expect(await dayOf(port, '2026-03-14')).toMatchObject({ total_events: 1, counts_per_category: { smoke: 2 } });
    second.signal('SIGTERM');
    await second.untilNothingIsLeft();

    // A crash of the process that holds all others.
    const third = npmStart(['--port', `${port}`], {}, DIRECTLY);
    await third.untilReady();
    third.signal('SIGKILL');
    await third.untilNothingIsLeft();
  });

  it('names each wrong setting once, and leaves nothing running', async () => {
    const wrong = { COUNTER_SHARDS: '65', ACS_RESOURCE_ID: 'my-acs' };
    const npm = npmStart(['--port', `${await freePort()}`], wrong, DIRECTLY);
    expect(await npm.exitCode).toBe(1);
    expect(npm.output().match(/COUNTER_SHARDS: must be a whole number from 1 to 64/g)).toHaveLength(1);
    expect(npm.output().match(/ACS_RESOURCE_ID: must be a GUID/g)).toHaveLength(1);
    await npm.untilNothingIsLeft();
  });
});

describe('a local run', () => {
  const options = { dataDir: undefined, settingsFile: NO_SETTINGS, lines: 2, verifiesCallbacks: false };

  it('has all that the demo shows: a day that the endpoints and the audit confirm, and calls; it says which part ended by itself', async () => {
    const port = await freePort();
    const printed: string[] = [];
    const environment = { ...bareEnvironment(), CALL_ATTEMPTS: '2' };
    const pace = { ringMs: 50, eventMs: 10, speakMs: 100 };
    const run = await startLocalRun({ ...options, port }, environment, (line) => printed.push(line), pace);
    onTestFinished(() => run.stop());

    // Nobody set a check: anybody may post a callback, and one warning says so.
    expect(printed.filter((line) => line.includes('callbacks are not verified'))).toHaveLength(1);
    expect((await callbackByHand(port)).status).toBe(200);
    const refused = 'refused: POST /calling/callConnections/11111111-2222-4333-8444-555555555555:play';
    await vi.waitFor(() => expect(printed.join('\n')).toContain(refused), 10_000);

    const date = '2026-03-14';
    const demo = await printedBy('demo', ['--url', run.url, '--date', date]);
    const frames = new Set(believableDay(date, Date.now()).map(({ data }) => data.event_id)).size;
    expect(await dayOf(port, date)).toMatchObject({ total_events: frames, active_cameras: 20 });
    expect(demo).toMatch(new RegExp(`camera frames +${frames.toLocaleString('en-GB')}\n`));
    expect(demo).toMatch(/callee hears +You've received a new Alert from Wildfire Watch\. Custom Alert/);
    expect(demo).toContain('CallDisconnected');
    const state = demo.slice(demo.lastIndexOf('GET /api/notifications/'));
    const words = [...state.matchAll(/"(?:status|outcome)": "(\w+)"/g)].map(([, word]) => word);
    expect(words.join(' ')).toMatch(/^completed not_reached no_answer no_answer confirmed confirmed stopped\b/);
    expect(demo).toContain('ContinuousDtmfRecognitionToneReceived → 200');
    expect(demo).toContain('"type": "Notification.RecipientFinal"');

    // The audit finds the run's storage by its port, and ends with 0 only if every counter is right.
    const audit = await printedBy('audit', ['--date', date, '--port', `${port}`, '--settings', NO_SETTINGS]);
    expect(audit).toContain(`${frames.toLocaleString('en-GB')} events`);

    run.azurite?.kill();
    expect(await run.partLost).toBe('Azurite ended by SIGKILL');
  }, 120_000);

  it('says which real services it uses', () => {
    const settings = { TABLES_ENDPOINT: 'https://a.example', ACS_CONNECTION_STRING: 'endpoint=https://b.example' };
    const parts = { azurite: undefined, simulator: undefined, partLost: Promise.resolve(''), kill: silent };
    const run = { ...parts, url: 'http://localhost:7071', settings, warnings: ['Mind.'], stop: async () => undefined };
    const said = announcement(run, { ...options, port: 7071 }, 1);
    expect(said).toContain('tables  the storage that TABLES_ENDPOINT names');
    expect(said).toContain('phone   the ACS that ACS_CONNECTION_STRING names: real calls');
    expect(said).toContain('Warning: Mind.');
  });

  it('does not start if calls were real and nobody would hear anything', async () => {
    const acs = { ACS_CONNECTION_STRING: 'endpoint=https://acs.invalid/;accesskey=dGVzdA==' };
    for (const own of [acs, { ...acs, CALLBACK_BASE_URL: 'http://localhost:7071' }]) {
      const starting = startLocalRun({ ...options, port: await freePort() }, { ...bareEnvironment(), ...own }, silent);
      await expect(starting).rejects.toThrow(/^Calls would be real.*\n.*Set CALLBACK_BASE_URL|Set CALLBACK_BASE_URL/);
    }
  });
});

it.each([
  [['--prot', '8000'], "Unknown option '--prot'"],
  [['--port', '70000'], '70000 is not a port.'],
  [['--port', 'http'], 'http is not a port.'],
  [['--data', ''], '--data needs a directory.'],
  [['--lines', '0'], '0 is not a number of lines.'],
  [['extra'], "Unexpected argument 'extra'"],
])('npm start -- %j is refused with what is wrong and what there is', (args, message) => {
  expect(() => readArguments(START, args)).toThrow(CommandError);
  expect(() => readArguments(START, args)).toThrow(message);
  expect(() => readArguments(START, args)).toThrow('npm start -- [--port N] [--data DIR] [--settings FILE]');
});
