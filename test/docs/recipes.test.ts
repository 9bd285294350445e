import { execFile, spawn } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

import { freePort } from '../../infra/emulators/free-port.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { sharedStage } from '../harness/phone-stage.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { isHere } from './is-here.ts';
import { codeBlocksOf, ROOT } from './markdown.ts';

const run = promisify(execFile);
const PAGE = 'src/http/recipes.md';

const stageOf = sharedStage({});

const notificationsSchema = z.object({
  notifications: z.array(z.looseObject({ details: z.string().optional() })),
});

/** The notifications that a test sent, oldest first. */
const watch = () => {
  const since = new Date().toISOString();
  return async () => {
    const answer = await stageOf().fetch(`${stageOf().url}/api/notifications?ts_utc_start=${since}`);
    return notificationsSchema.parse(await answer.json()).notifications.toReversed();
  };
};

/** Records a frame of a camera, so many minutes ago. */
const sees = async (cameraId: string, minutesAgo: number): Promise<void> => {
  const ts_utc = new Date(Date.now() - minutesAgo * 60_000).toISOString();
  const event = cloudEvent({ time: ts_utc, data: { event_id: ts_utc, camera_id: cameraId, ts_utc } });
  await stageOf().fetch(`${stageOf().url}/api/events`, { method: 'POST', body: JSON.stringify(event) });
};

/** Starts it as it stands; posts a webhook to it, and gives the status. */
const receiver = async (serviceUrl = stageOf().url) => {
  const port = String(await freePort());
  const env = { ...process.env, SERVICE_URL: serviceUrl, PORT: port };
  const child = spawn(process.execPath, [join(ROOT, 'infra/clients/alertmanager.mjs')], { env, stdio: 'ignore' });
  onTestFinished(() => void child.kill());
  const post = async (body: unknown): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: JSON.stringify(body) })).status;
  await expect.poll(async () => post({ alerts: [] }).catch(() => 0), { timeout: 10_000 }).toBe(200);
  return post;
};

const alert = (status: 'firing' | 'resolved', startsAt: string, more = {}) => ({ status, startsAt, ...more });

/** Alertmanager's version 4. */
const webhook = (...alerts: readonly ReturnType<typeof alert>[]) => ({
  version: '4',
  groupKey: '{}:{alertname="SmokeReported", camera="ridge <4>", team="north"}',
  truncatedAlerts: 0,
  status: alerts.some(({ status }) => status === 'firing') ? 'firing' : 'resolved',
  receiver: 'phone',
  groupLabels: { alertname: 'SmokeReported', camera: 'ridge <4>', team: 'north' },
  commonLabels: { severity: 'page' },
  commonAnnotations: { summary: `as of ${alerts.length}` },
  externalURL: 'http://alertmanager:9093',
  alerts,
});

describe('the receiver of webhooks', () => {
  it('phones once for a fire and its repeats, not for the end, and again for the next fire', async () => {
    const sent = watch();
    const post = await receiver();
    const first = '2026-11-20T08:00:00.123456789Z';
    expect(await post(webhook(alert('firing', first)))).toBe(202);
    // A repeat, another alert of the group that fires too, and one that was resolved.
    expect(await post(webhook(alert('firing', first)))).toBe(202);
    expect(await post(webhook(alert('firing', '2026-11-20T08:05:00Z'), alert('firing', first)))).toBe(202);
    expect(await post(webhook(alert('firing', first), alert('resolved', '2026-11-20T07:00:00Z')))).toBe(202);
    expect(await post(webhook(alert('resolved', first)))).toBe(200);
    expect(await sent()).toMatchObject([
      { alert_type: 'ReportOfFire', details: 'SmokeReported, ridge 4 , north', recipients: [{}, {}] },
    ]);
    expect(await post(webhook(alert('firing', '2026-11-20T09:00:00Z')))).toBe(202);
    expect(await sent()).toHaveLength(2);
  });

  it('takes what Grafana posts, and phones the default recipients about an alert that it does not know', async () => {
    const sent = watch();
    const post = await receiver();
    const grafana = {
      receiver: 'phone',
      status: 'firing',
      orgId: 1,
      alerts: [
        alert('firing', '2026-11-20T09:00:00.5+01:00', {
          labels: { alertname: 'Battery low', team: 'blue' },
          annotations: {},
          endsAt: '0001-01-01T00:00:00Z',
          values: { B: 44.2 },
          fingerprint: 'c6eadffa33fcdf37',
        }),
      ],
      groupLabels: { alertname: 'Battery low', team: 'blue' },
      groupKey: '{}/{team="blue"}:{alertname="Battery low"}',
      version: '1',
      title: '[FIRING:1] Battery low',
      state: 'alerting',
      message: 'text',
    };
    expect(await post(grafana)).toBe(202);
    expect(await sent()).toMatchObject([{ alert_type: 'Custom', details: 'Battery low, blue', recipients: [{}] }]);
  });

  it('asks to be called again if the service does not answer, and outlives what is no webhook', async () => {
    const post = await receiver(`http://127.0.0.1:${await freePort()}`);
    expect(await post('no webhook')).toBe(503);
    expect(await post(webhook(alert('firing', '2026-11-20T08:00:00Z')))).toBe(503);
  });

  it('is the address in the configurations of the page', () => {
    const [alertmanager, grafana] = codeBlocksOf(PAGE, 'yaml').map((text): unknown => parse(text));
    const url = 'http://127.0.0.1:9098/';
    expect(alertmanager).toMatchObject({ receivers: [{ name: 'phone', webhook_configs: [{ url }] }] });
    expect(grafana).toMatchObject({ contactPoints: [{ receivers: [{ type: 'webhook', settings: { url } }] }] });
  });
});

it('a silent camera: one call for all, another one when a further camera falls silent', async () => {
  const sent = watch();
  const script = join(ROOT, 'infra/clients/silent-cameras.mjs');
  const env = { ...process.env, SERVICE_URL: stageOf().url, RECIPIENTS: '+12065550100,+12065550101' };
  const looks = async (more = {}): Promise<string> =>
    (await run(process.execPath, [script], { env: { ...env, ...more } })).stdout.trim();

  await sees('ridge-03', 200);
  await sees('ridge-04', 90);
  await sees('ridge-05', 5);
  expect(await looks()).toMatch(/^2 of \d+ cameras are silent$/);
  expect(await looks()).toMatch(/^2 of \d+ cameras are silent$/);
  const [one] = await sent();
  expect(one).toMatchObject({ alert_type: 'Custom', details: 'Camera ridge-04 is silent.', recipients: [{}, {}] });
  expect(await looks({ SILENT_MINUTES: '2' })).toMatch(/^3 of \d+ cameras are silent$/);
  expect((await sent()).map(({ details }) => details)).toEqual([
    'Camera ridge-04 is silent.',
    'Camera ridge-05 is silent.',
  ]);
});

/** Stands for paho-mqtt: connects, and delivers the messages of a file. */
const PAHO = `import json
class CallbackAPIVersion:
    VERSION2 = 2
class Message:
    def __init__(self, topic, value):
        self.topic, self.payload = topic, json.dumps(value).encode()
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
                self.on_message(self, None, Message(topic, value))
`;

it('Frigate: detections are counted, corrected ones too, and an alert with smoke phones once', async ({ skip }) => {
  if (!isHere('python3')) skip('python3 is not on this machine');
  const sent = watch();
  const directory = ownDirectory();
  const start_time = Date.now() / 1_000 - 60;
  const event = (label: string, false_positive: boolean) => [
    'frigate/events',
    {
      type: 'update',
      before: {},
      after: { id: `${start_time}-abc`, camera: 'frigate-04', label, start_time, false_positive },
    },
  ];
  const review = (severity: string, objects: readonly string[]) => [
    'frigate/reviews',
    { type: 'update', before: {}, after: { id: 'r-1', camera: 'frigate-04', start_time, severity, data: { objects } } },
  ];
  const messages = [
    event('smoke', false),
    event('person', false),
    review('detection', ['smoke']),
    review('alert', ['person']),
    review('alert', ['smoke']),
    review('alert', ['smoke', 'person']),
    event('smoke', true),
  ];
  await mkdir(join(directory, 'paho/mqtt'), { recursive: true });
  await writeFile(join(directory, 'paho/mqtt/client.py'), PAHO);
  await writeFile(join(directory, 'messages.json'), JSON.stringify(messages));
  for (const file of ['frigate.py', 'send.py']) {
    await copyFile(join(ROOT, 'infra/clients', file), join(directory, file));
  }
  const env = { ...process.env, SERVICE_URL: stageOf().url, RECIPIENTS: '+12065550100', MQTT_HOST: 'broker' };
  const { stdout } = await run('python3', ['frigate.py'], { cwd: directory, env });
  expect(stdout).toBe('');
  const counted: unknown = await (await fetch(`${stageOf().url}/api/analytics/cameras?days=2&q=frigate`)).json();
  expect(counted).toMatchObject({
    cameras: [{ camera_id: 'frigate-04', total_events: 1, counts_per_category: { smoke: 0 } }],
  });
  expect(await sent()).toMatchObject([{ alert_type: 'ReportOfFire', reference: 'frigate-04' }]);
});
