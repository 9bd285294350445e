import { execFile, spawn, spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';

import * as z from 'zod';
import { expect, it, onTestFinished } from 'vitest';

import { freePort } from '../../infra/emulators/free-port.ts';
import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { ScriptedService } from '../cli/scripted-service.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { sharedStage } from '../harness/phone-stage.ts';
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
using System.Net.Http;
using var http = new HttpClient { BaseAddress = new Uri(args[0]) };
http.DefaultRequestHeaders.Add("x-functions-key", "k");
Console.WriteLine(await CameraEvents.Send(http, File.ReadAllText("events.json"), 0.05));`,
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

it.for(CLIENTS)(
  '$file continues through a lost connection, a 503 and half an answer, and gets the answer about a wrong event',
  async ({ file, program, caller }, { skip }) => {
    if (spawnSync(program, ['--version']).error !== undefined) skip(`${program} is not on this machine`);
    const service = await ScriptedService.start(({ number, headers }) => {
      if (number === 1) return 'reset';
      if (number === 2) return { status: 503, headers: { 'retry-after': '0' }, body: '{}' };
      if (number === 3) return 'torn';
      return headers['x-functions-key'] === 'k' ? 'record' : { status: 401 };
    });
    const cwd = ownDirectory();
    await copyFile(join(FOLDER, file), join(cwd, file));
    await writeFile(join(cwd, `client${extname(file)}`), caller);
    if (program === 'dotnet') await compileCsharp(cwd);
    const compiled = program === 'dotnet' ? 'client.dll' : `client${extname(file)}`;
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
const receiver = async (serviceUrl = stageOf().url) => {
  const port = String(await freePort());
  const env = { ...process.env, SERVICE_URL: serviceUrl, PORT: port };
  const child = spawn(process.execPath, [join(FOLDER, 'alertmanager.mjs')], { env, stdio: 'ignore' });
  onTestFinished(() => void child.kill());
  const post = async (body: unknown): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: JSON.stringify(body) })).status;
  await expect.poll(async () => post({ alerts: [] }).catch(() => 0), { timeout: 10_000 }).toBe(200);
  return post;
};

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
  const env = { ...process.env, SERVICE_URL: stageOf().url, RECIPIENTS: '+12065550100,+12065550101' };
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
});

/** Stands for paho-mqtt: connects, and delivers the messages of a file. */
const PAHO = `import json
from types import SimpleNamespace
CallbackAPIVersion = SimpleNamespace(VERSION2=2)
class Client:
    def __init__(self, version):
        assert version == 2
    def connect(self, host):
        assert host == "broker"
    def subscribe(self, topics):
        self.topics = [topic for topic, qos in topics if qos == 1]
    def loop_forever(self):
        self.on_connect(self, None, None, 0, None)
        for topic, value in json.load(open("messages.json")):
            if topic in self.topics:
                self.on_message(self, None, SimpleNamespace(topic=topic, payload=json.dumps(value).encode()))
`;

it('Frigate: detections and their corrections are counted, and an alert with smoke phones once', async ({ skip }) => {
  if (spawnSync('python3', ['--version']).error !== undefined) skip('python3 is not on this machine');
  const demandSent = await watch();
  const cwd = ownDirectory();
  const camera = 'frigate-04';
  const start_time = Date.now() / 1_000 - 60;
  const event = (label: string, false_positive: boolean) => [
    'frigate/events',
    { after: { id: `${start_time}-abc`, camera, label, start_time, false_positive } },
  ];
  const review = (id: string, severity: string, ...objects: readonly string[]) => [
    'frigate/reviews',
    { after: { id, camera, start_time, severity, data: { objects } } },
  ];
  const messages = [
    event('smoke', false),
    event('person', false),
    review('r-0', 'detection', 'smoke'),
    review('r-1', 'alert', 'person'),
    review('r-2', 'alert', 'smoke'),
    review('r-2', 'alert', 'smoke', 'person'),
    event('smoke', true),
  ];
  await mkdir(join(cwd, 'paho/mqtt'), { recursive: true });
  await writeFile(join(cwd, 'paho/mqtt/client.py'), PAHO);
  await writeFile(join(cwd, 'messages.json'), JSON.stringify(messages));
  for (const file of ['frigate.py', 'send.py']) await copyFile(join(FOLDER, file), join(cwd, file));
  const env = { ...process.env, SERVICE_URL: stageOf().url, RECIPIENTS: '+12065550100', MQTT_HOST: 'broker' };
  expect((await run('python3', ['frigate.py'], { cwd, env })).stdout).toBe('');
  expect(await ask('analytics/cameras?days=2&q=frigate')).toMatchObject({
    cameras: [{ camera_id: camera, total_events: 1, counts_per_category: { smoke: 0 } }],
  });
  await demandSent({ alert_type: 'ReportOfFire', reference: camera });
});
