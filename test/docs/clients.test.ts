import { execFile, spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { copyFile, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';

import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import { freePort } from '../../infra/emulators/free-port.ts';
import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { ScriptedService } from '../cli/scripted-service.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { sharedStage } from '../harness/phone-stage.ts';
import { needProgram } from '../harness/program.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { codeBlocksOf, readText, ROOT } from './markdown.ts';

const run = promisify(execFile);
const FOLDER = join(ROOT, 'infra/clients');

/** The events that each client sends: the second event is wrong. */
const EVENTS = [
  cloudEvent({ data: { event_id: 'f-0' } }),
  { ...cloudEvent(), data: {} },
  cloudEvent({ data: { event_id: 'f-2' } }),
];

/** The functions to copy, each with a program that calls it with the service's address, and prints the answer. The pause is 0.05 s. */
const CLIENTS = [
  {
    file: 'send.py',
    program: 'python3',
    caller: `import json, sys
from send import send
print(json.dumps(send(json.load(open("events.json")), sys.argv[1], "k", 0.05)))`,
  },
  {
    file: 'send.mjs',
    program: process.execPath,
    caller: `import { readFileSync } from 'node:fs';
import { send } from './send.mjs';
console.log(JSON.stringify(await send(JSON.parse(readFileSync('events.json')), process.argv[2], 'k', 0.05)));`,
  },
  {
    file: 'CameraEvents.cs',
    program: 'dotnet',
    caller: `using System;
using System.IO;
Console.WriteLine(await CameraEvents.Send(File.ReadAllText("events.json"), args[0], "k", 0.05));`,
  },
];

/** Compiles all C# files of a directory, warnings are errors. The compiler alone takes a sixth of the time of `dotnet build`. */
const compileCsharp = async (cwd: string): Promise<void> => {
  const [, version = '', sdks = ''] = /(\S+) \[(.*)\]\s*$/.exec((await run('dotnet', ['--list-sdks'])).stdout) ?? [];
  const sdk = join(sdks, version);
  const [pack = ''] = globSync(join(sdks, `../packs/Microsoft.NETCore.App.Ref/${parseInt(version)}.*/ref/*`));
  const references = globSync(join(pack, '*.dll')).map((path) => `-r:${path}`);
  const options = ['-noconfig', '-nologo', '-nullable:enable', '-warnaserror', '-out:client.dll', ...references];
  await run('dotnet', ['exec', join(sdk, 'Roslyn/bincore/csc.dll'), ...options, '*.cs'], { cwd });
  await copyFile(join(sdk, 'dotnet.runtimeconfig.json'), join(cwd, 'client.runtimeconfig.json'));
};

/** Copies a client into a directory, with the program that calls it. @returns the file to run */
const prepare = async ({ file, program, caller }: (typeof CLIENTS)[number], cwd: string): Promise<string> => {
  await copyFile(join(FOLDER, file), join(cwd, file));
  await writeFile(join(cwd, `client${extname(file)}`), caller);
  if (program === 'dotnet') await compileCsharp(cwd);
  return program === 'dotnet' ? 'client.dll' : `client${extname(file)}`;
};

it.for(CLIENTS)(
  '$file continues through a lost connection, a 503 and half an answer, and gets the answer about a wrong event',
  async ({ file, program, caller }, { skip }) => {
    needProgram(program, skip);
    const service = await ScriptedService.start(({ number, headers }) => {
      if (number === 1) return 'reset';
      if (number === 2) return { status: 503, headers: { 'retry-after': '0' }, body: '{}' };
      if (number === 3) return 'torn';
      return headers['x-functions-key'] === 'k' ? 'record' : { status: 401 };
    });
    const cwd = ownDirectory();
    const compiled = await prepare({ file, program, caller }, cwd);
    const send = async (events: readonly object[]): Promise<string> => {
      await writeFile(join(cwd, 'events.json'), JSON.stringify(events));
      return (await run(program, [compiled, service.url], { cwd })).stdout;
    };
    const answer: unknown = JSON.parse(await send(EVENTS));
    expect(answer).toMatchObject({ recorded: 2, unchanged: 0, errors: [{ index: 1 }, { index: 1 }] });
    expect([...service.times]).toEqual([
      ['f-0', 1],
      [expect.anything(), 1],
      ['f-2', 1],
    ]);
    expect(service.requests).toBe(4);

    // Over 5 MiB the Functions host answers nothing that a client could understand.
    const tooLarge = send([cloudEvent({ note: 'x'.repeat(MAX_EVENTS_BYTES) })]);
    await expect(tooLarge).rejects.toThrow('more than 4 MiB: send the halves');
    expect(service.requests).toBe(4);
  },
);

/** A date in HTTP, in this number of seconds. */
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000 + 999).toUTCString();

it.for(CLIENTS)(
  '$file waits as long as Retry-After says, in seconds or as a date, and never less than its pause',
  async ({ file, program, caller }, { skip }) => {
    needProgram(program, skip);
    const arrivals: number[] = [];
    const asked = ['soon', 'Please wait until 2030', '-1', inSeconds(-3_600), 'Sun Nov  6 08:49:37 1994', '1'];
    const service = await ScriptedService.start(({ number }) => {
      arrivals.push(performance.now());
      if (number > asked.length + 1) return 'record';
      return { status: 503, headers: { 'retry-after': asked[number - 1] ?? inSeconds(1) }, body: '{}' };
    });
    const cwd = ownDirectory();
    const compiled = await prepare({ file, program, caller }, cwd);
    await writeFile(join(cwd, 'events.json'), JSON.stringify(EVENTS));
    await run(program, [compiled, service.url], { cwd });
    const waits = arrivals.slice(1).map((at, index) => at - (arrivals[index] ?? 0));
    expect(waits).toHaveLength(7);
    for (const wait of waits.slice(0, 5)) expect(wait).toSatisfy((ms) => ms >= 45 && ms < 900);
    for (const wait of waits.slice(5)) expect(wait).toSatisfy((ms) => ms >= 950 && ms < 5_000);
  },
);

const SILENT = { camera_id: 'ridge-04', last_event_at: '2026-01-01T00:00:00+00:00' };

/** Redirects a POST, and answers the GET that it may become as the service answers it: with a list. */
const redirecting = async (methods: Set<string>) =>
  ScriptedService.start(({ method, path }) => {
    methods.add(method);
    const moved = { status: 301, headers: { location: path } };
    return method === 'POST' ? moved : { status: 200, body: JSON.stringify({ notifications: [], cameras: [SILENT] }) };
  });

/** Answers of other servers, such as proxies. */
const FOREIGN = [
  { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Sign in</h1>' },
  { status: 200, headers: { 'content-type': 'application/json' }, body: '{"status":"ok"}' },
  { status: 400, headers: { 'content-type': 'text/html' }, body: '<h1>Bad Request</h1>' },
  { status: 400, headers: { 'content-type': 'application/json' }, body: '{"message":"Bad Request"}' },
];

it.for(CLIENTS)(
  '$file takes no redirect, nor the answer of another server, for success',
  async ({ file, program, caller }, { skip }) => {
    needProgram(program, skip);
    const methods = new Set<string>();
    const cwd = ownDirectory();
    const compiled = await prepare({ file, program, caller }, cwd);
    await writeFile(join(cwd, 'events.json'), JSON.stringify(EVENTS));
    const send = async (service: ScriptedService) => run(program, [compiled, service.url], { cwd });
    await expect(send(await redirecting(methods))).rejects.toThrow('301');
    expect(methods).toEqual(new Set(['POST']));
    for (const foreign of FOREIGN) {
      // It fails, or sends the events again.
      const service = await ScriptedService.start(({ number }) => (number === 1 ? foreign : { status: 401 }));
      await expect(send(service)).rejects.toThrow(/HTTP Error 40[01]|answered with (?:200|400)/);
    }
  },
);

const stageOf = sharedStage({});
const ask = async (path: string, init?: RequestInit): Promise<unknown> =>
  (await stageOf().fetch(`${stageOf().url}/api/${path}`, init)).json();

const listed = async (): Promise<readonly { readonly notification_id: string }[]> =>
  listSchema.parse(await ask('notifications?limit=100')).notifications;

/** Demands the notifications that a test sent, newest first. */
const watch = async () => {
  const before = new Set((await listed()).map(({ notification_id }) => notification_id));
  return async (...notifications: readonly object[]) => {
    expect((await listed()).filter((one) => !before.has(one.notification_id))).toMatchObject(notifications);
  };
};

const listSchema = z.object({ notifications: z.array(z.looseObject({ notification_id: z.string() })) });

/** Starts the receiver of webhooks. Posts a webhook to it, and returns the status. */
const receiver = async (serviceUrl = stageOf().url, more: NodeJS.ProcessEnv = {}) => {
  const port = String(await freePort());
  const env = { ...process.env, SERVICE_URL: serviceUrl, PORT: port, ...more };
  const child = spawn(process.execPath, [join(FOLDER, 'alertmanager.mjs')], { env, stdio: 'ignore' });
  onTestFinished(() => void child.kill());
  const post = async (body: unknown): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: JSON.stringify(body) })).status;
  await expect.poll(async () => post({ alerts: [] }).catch(() => 0), { timeout: 10_000 }).toBe(200);
  return post;
};

const PLACED = { status: 202, body: '{"notification_id":"n","calls":[]}' };

const FIRST = '2026-11-20T08:00:00.123456789Z';
const alert = (status: 'firing' | 'resolved', startsAt = FIRST) => ({ status, startsAt });

/** A webhook of Alertmanager, version 4. */
const webhook = (...alerts: readonly ReturnType<typeof alert>[]) => ({
  groupKey: '{}:{alertname="SmokeReported", camera="ridge <4>", team="north"}',
  groupLabels: { alertname: 'SmokeReported', camera: 'ridge <4>', team: 'north' },
  alerts,
});

/** A webhook of Grafana, version 1. */
const GRAFANA = {
  groupKey: '{}/{team="blue"}:{alertname="Battery low"}',
  groupLabels: { alertname: 'Battery low', team: 'blue' },
  alerts: [{ ...alert('firing', '2026-11-20T09:00:00.5+01:00'), endsAt: '0001-01-01T00:00:00Z', values: { B: 44.2 } }],
};

it('the receiver of webhooks phones once for a fire and its repeats, not for its end, and again for the next fire', async () => {
  const demandSent = await watch();
  const post = await receiver();
  for (const alerts of [
    [alert('firing')],
    [alert('firing')],
    // Other alerts of the group.
    [alert('firing', '2026-11-20T08:05:00Z'), alert('firing')],
    [alert('firing'), alert('resolved', '2026-11-20T07:00:00Z')],
  ]) {
    expect(await post(webhook(...alerts))).toBe(202);
  }
  expect(await post(webhook(alert('resolved')))).toBe(200);
  const smoke = { alert_type: 'ReportOfFire', details: 'SmokeReported, ridge 4 , north', recipients: [{}, {}] };
  await demandSent(smoke);
  expect(await post(webhook(alert('firing', '2026-11-20T09:00:00Z')))).toBe(202);
  // An alert without an entry in the tables gets the default recipients.
  expect(await post(GRAFANA)).toBe(202);
  const battery = { alert_type: 'Custom', details: 'Battery low, blue', recipients: [{}] };
  await demandSent(battery, smoke, smoke);
});

it('the receiver of webhooks phones about labels of any characters', async () => {
  const demandSent = await watch();
  const post = await receiver();
  const labels = ['Ust‧Kut', '\u3164\u2800', 'a\u202Eb', '👩‍🚒 کوه‌سنگی'];
  for (const camera of labels) {
    const groupLabels = { camera };
    expect(await post({ ...webhook(alert('firing')), groupKey: camera, groupLabels })).toBe(202);
  }
  // The tables have no entry for a name that every object has.
  const groupLabels = { alertname: 'constructor', team: 'toString' };
  expect(await post({ ...webhook(alert('firing')), groupKey: 'names', groupLabels })).toBe(202);
  await demandSent(
    ...['constructor, toString', '👩 🚒 کوه سنگی', 'a b', 'alert', 'Ust‧Kut'].map((details) => ({ details })),
  );
});

it('the receiver of webhooks phones without words if the service refuses them', async () => {
  const bodies: unknown[] = [];
  const service = await ScriptedService.start(({ body }) => {
    bodies.push(JSON.parse(body));
    return body.includes('details') ? { status: 400, body: '{"code":"invalid_request"}' } : PLACED;
  });
  const post = await receiver(service.url);
  expect(await post(webhook(alert('firing')))).toBe(202);
  const { details: _, ...silent } = z.object({ details: z.string() }).loose().parse(bodies[0]);
  expect(bodies).toEqual([{ ...silent, details: 'SmokeReported, ridge 4 , north' }, silent]);
});

/** Deadlines of requests pass in a hundredth of the time. */
const FAST =
  '--import=data:text/javascript,const{timeout}=AbortSignal;AbortSignal.timeout=(ms)=>timeout.call(AbortSignal,ms/100)';

it('the receiver of webhooks asks for a retry if the service redirects, hangs or refuses the key, or another server answers', async () => {
  const methods = new Set<string>();
  const moved = await redirecting(methods);
  expect(await (await receiver(moved.url))(webhook(alert('firing')))).toBe(503);
  expect(methods).toEqual(new Set(['POST']));
  const refusing = await ScriptedService.start(() => ({ status: 401 }));
  expect(await (await receiver(refusing.url))(webhook(alert('firing')))).toBe(503);
  for (const foreign of FOREIGN) {
    const other = await ScriptedService.start(() => foreign);
    expect(await (await receiver(other.url))(webhook(alert('firing')))).toBe(503);
  }
  const hanging = await ScriptedService.start(async () => new Promise(() => undefined));
  expect(await (await receiver(hanging.url, { NODE_OPTIONS: FAST }))(webhook(alert('firing')))).toBe(503);
});

it('the receiver of webhooks asks for a retry if the service does not answer, or the body is no webhook', async () => {
  const post = await receiver(`http://127.0.0.1:${await freePort()}`);
  expect(await post('no webhook')).toBe(503);
  expect(await post(webhook(alert('firing')))).toBe(503);
});

it('the receiver of webhooks has the address that the configurations of the page name', () => {
  expect(readText('infra/clients/alertmanager.mjs')).toContain("HOST = '127.0.0.1', PORT = '9098'");
  for (const text of codeBlocksOf('src/http/recipes.md', 'yaml')) expect(text).toContain('url: http://127.0.0.1:9098/');
});

it('silent cameras get one call, and a further call when the next camera falls silent', async () => {
  const demandSent = await watch();
  const env = { ...process.env, SERVICE_URL: stageOf().url, RECIPIENTS: '+12065550100, +12065550101, ' };
  const check = async (more = {}): Promise<string> =>
    (await run(process.execPath, [join(FOLDER, 'silent-cameras.mjs')], { env: { ...env, ...more } })).stdout;
  for (const [camera_id, minutesAgo] of Object.entries({ 'ridge-03': 200, 'ridge-04': 90, 'ridge-05': 5 })) {
    const ts_utc = new Date(Date.now() - minutesAgo * 60_000).toISOString();
    const event = cloudEvent({ time: ts_utc, data: { event_id: ts_utc, camera_id, ts_utc } });
    await ask('events', { method: 'POST', body: JSON.stringify(event) });
  }
  for (let time = 1; time <= 2; time += 1) expect(await check()).toMatch(/^2 of \d+ cameras are silent\n$/);
  const first = { alert_type: 'Custom', details: 'Camera ridge-04 is silent.', recipients: [{}, {}] };
  await demandSent(first);
  expect(await check({ SILENT_MINUTES: '2' })).toMatch(/^3 of \d+ cameras are silent\n$/);
  await demandSent({ details: 'Camera ridge-05 is silent.' }, first);
  // Neither a redirect nor the answer of another server is a call.
  const moved = await redirecting(new Set());
  await expect(check({ SERVICE_URL: moved.url })).rejects.toThrow('Command failed');
  // No redirect takes the function key to another host.
  const keys: unknown[] = [];
  const stranger = await ScriptedService.start(({ headers }) => {
    keys.push(headers['x-functions-key']);
    return { status: 200, body: '{"cameras":[]}' };
  });
  const toStranger = await ScriptedService.start(() => ({ status: 302, headers: { location: stranger.url } }));
  await expect(check({ SERVICE_URL: toStranger.url, FUNCTION_KEY: 'k' })).rejects.toThrow('Command failed');
  expect(keys).toEqual([]);
  const other = await ScriptedService.start(({ method }) => ({
    status: 200,
    body: method === 'POST' ? '{"status":"ok"}' : JSON.stringify({ cameras: [SILENT] }),
  }));
  await expect(check({ SERVICE_URL: other.url })).rejects.toThrow('Command failed');
});
