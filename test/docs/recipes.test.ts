import { execFile, spawn, spawnSync } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import { freePort } from '../../infra/emulators/free-port.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { sharedStage } from '../harness/phone-stage.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { codeBlocksOf, readText, ROOT } from './markdown.ts';

const run = promisify(execFile);
const CLIENTS = join(ROOT, 'infra/clients');

const stageOf = sharedStage({});
const ask = async (path: string, init?: RequestInit): Promise<unknown> =>
  (await stageOf().fetch(`${stageOf().url}/api/${path}`, init)).json();

/** The notifications that a test sent, oldest first. */
const watch = () => {
  const since = new Date().toISOString();
  return async () => {
    const answer = await ask(`notifications?ts_utc_start=${since}`);
    return z
      .object({ notifications: z.array(z.unknown()) })
      .parse(answer)
      .notifications.toReversed();
  };
};

/** Starts the receiver of webhooks. Posts a webhook to it, and returns the status. */
const receiver = async (serviceUrl = stageOf().url) => {
  const port = String(await freePort());
  const env = { ...process.env, SERVICE_URL: serviceUrl, PORT: port };
  const child = spawn(process.execPath, [join(CLIENTS, 'alertmanager.mjs')], { env, stdio: 'ignore' });
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
  const sent = watch();
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
  expect(await sent()).toMatchObject([smoke]);
  expect(await post(webhook(alert('firing', '2026-11-20T09:00:00Z')))).toBe(202);
  // An alert without an entry in the tables gets the default recipients.
  expect(await post(GRAFANA)).toBe(202);
  const battery = { alert_type: 'Custom', details: 'Battery low, blue', recipients: [{}] };
  expect(await sent()).toMatchObject([smoke, smoke, battery]);
});

it('the receiver of webhooks asks for a retry if the service does not answer, or the body is no webhook', async () => {
  const post = await receiver(`http://127.0.0.1:${await freePort()}`);
  expect(await post('no webhook')).toBe(503);
  expect(await post(webhook(alert('firing')))).toBe(503);
});

it('the receiver of webhooks has the address that the configurations of the page name', () => {
  expect(readText('infra/clients/alertmanager.mjs')).toContain("HOST = '127.0.0.1', PORT = '9098'");
  const configurations = codeBlocksOf('src/http/recipes.md', 'yaml');
  expect(configurations).toEqual([1, 2].map(() => expect.stringMatching(/ url: http:\/\/127\.0\.0\.1:9098\/$/m)));
});

it('silent cameras get one call, and a further call when the next camera falls silent', async () => {
  const sent = watch();
  const env = { ...process.env, SERVICE_URL: stageOf().url, RECIPIENTS: '+12065550100,+12065550101' };
  const check = async (more = {}): Promise<string> =>
    (await run(process.execPath, [join(CLIENTS, 'silent-cameras.mjs')], { env: { ...env, ...more } })).stdout;
  for (const [camera_id, minutesAgo] of Object.entries({ 'ridge-03': 200, 'ridge-04': 90, 'ridge-05': 5 })) {
    const ts_utc = new Date(Date.now() - minutesAgo * 60_000).toISOString();
    const event = cloudEvent({ time: ts_utc, data: { event_id: ts_utc, camera_id, ts_utc } });
    await ask('events', { method: 'POST', body: JSON.stringify(event) });
  }
  for (let time = 1; time <= 2; time += 1) expect(await check()).toMatch(/^2 of \d+ cameras are silent\n$/);
  const first = { alert_type: 'Custom', details: 'Camera ridge-04 is silent.', recipients: [{}, {}] };
  expect(await sent()).toMatchObject([first]);
  expect(await check({ SILENT_MINUTES: '2' })).toMatch(/^3 of \d+ cameras are silent\n$/);
  expect(await sent()).toMatchObject([first, { details: 'Camera ridge-05 is silent.' }]);
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
  const sent = watch();
  const cwd = ownDirectory();
  const camera = 'frigate-04';
  const start_time = Date.now() / 1_000 - 60;
  const event = (label: string, false_positive: boolean) => [
    'frigate/events',
    { after: { id: `${start_time}-abc`, camera, label, start_time, false_positive } },
  ];
  const review = (severity: string, ...objects: readonly string[]) => [
    'frigate/reviews',
    { after: { id: 'r-1', camera, start_time, severity, data: { objects } } },
  ];
  const messages = [
    event('smoke', false),
    event('person', false),
    review('detection', 'smoke'),
    review('alert', 'person'),
    review('alert', 'smoke'),
    review('alert', 'smoke', 'person'),
    event('smoke', true),
  ];
  await mkdir(join(cwd, 'paho/mqtt'), { recursive: true });
  await writeFile(join(cwd, 'paho/mqtt/client.py'), PAHO);
  await writeFile(join(cwd, 'messages.json'), JSON.stringify(messages));
  for (const file of ['frigate.py', 'send.py']) await copyFile(join(CLIENTS, file), join(cwd, file));
  const env = { ...process.env, SERVICE_URL: stageOf().url, RECIPIENTS: '+12065550100', MQTT_HOST: 'broker' };
  expect((await run('python3', ['frigate.py'], { cwd, env })).stdout).toBe('');
  expect(await ask('analytics/cameras?days=2&q=frigate')).toMatchObject({
    cameras: [{ camera_id: camera, total_events: 1, counts_per_category: { smoke: 0 } }],
  });
  expect(await sent()).toMatchObject([{ alert_type: 'ReportOfFire', reference: camera }]);
});
