import { execFile, spawn } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';

import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

import { freePort } from '../../infra/emulators/free-port.ts';
import { instantFromMilliseconds } from '../../src/analytics/model/instant.ts';
import { parseCallId } from '../../src/calls/model/ids.ts';
import { createPhone } from '../../src/calls/phone.ts';
import { CALLS_FORMAT } from '../../src/calls/store/rows.ts';
import { analyticsCameras } from '../../src/http/analytics-cameras.ts';
import { recordEvents } from '../../src/http/record-events.ts';
import { notifications } from '../../src/http/send-notification.ts';
import { Table } from '../../src/storage/table.ts';
import { MemoryStorage } from '../analytics/counting.ts';
import { LoopbackServer } from '../harness/loopback-server.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { ask } from '../http/asking.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { MemoryTable } from '../storage/memory-table.ts';
import { isHere } from './is-here.ts';
import { codeBlocksOf, ROOT } from './markdown.ts';

const run = promisify(execFile);
const PAGE = 'src/http/recipes.md';
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

const now = () => instantFromMilliseconds(Date.now());

/** The service's own endpoints on tables in memory, and a line that accepts every call. */
class Service {
  readonly #storage = new MemoryStorage();
  readonly #phone = createPhone({
    line: {
      name: 'test',
      isIdempotent: true,
      call: async ({ attempt }) => Promise.resolve(must(parseCallId(attempt.attemptId))),
      hangUp: async () => Promise.resolve(),
      check: async () => Promise.resolve(),
    },
    table: new Table(new MemoryTable(), { format: CALLS_FORMAT }),
    serviceName: 'Test Watch',
    rules: {
      attempts: 1,
      retryMs: 60_000,
      deadlineMs: 1_800_000,
      ringMs: 60_000,
      allowedPrefixes: undefined,
      callsPerDay: 1_000,
      callsAtOnce: 100,
      retentionMs: 90 * 86_400_000,
    },
    log: SILENT,
  });
  readonly #handlers = this.#routes();
  url = '';

  static async start(): Promise<Service> {
    const service = new Service();
    const server = await LoopbackServer.start((request, response) => {
      const answering = async (): Promise<void> => {
        const { url = '', method = 'GET' } = request;
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        );
        const sent = await buffer(request);
        const handler = must(service.#handlers.get(url.split('?')[0] ?? ''));
        const answer = await ask(handler, url, { method, headers, ...(sent.length > 0 && { body: sent }) });
        response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
      };
      void answering();
    });
    onTestFinished(async () => {
      await server.stop();
      await service.#phone.end();
    });
    service.url = `http://127.0.0.1:${server.port}`;
    return service;
  }

  #routes() {
    const { reader, recorder } = this.#storage.process();
    const routes = [
      recordEvents({ recorder, now }),
      analyticsCameras({ reader, now, categories: [] }),
      notifications(this.#phone),
    ];
    return new Map(routes.map(({ path, handler }) => [`/api/${path}`, handler]));
  }

  /** Records a frame of a camera, so many minutes ago. */
  async sees(cameraId: string, minutesAgo: number): Promise<void> {
    const ts_utc = new Date(Date.now() - minutesAgo * 60_000).toISOString();
    const event = cloudEvent({ time: ts_utc, data: { event_id: ts_utc, camera_id: cameraId, ts_utc } });
    const { ok } = await fetch(`${this.url}/api/events`, { method: 'POST', body: JSON.stringify(event) });
    if (!ok) throw new Error('not recorded');
  }

  /** All notifications, oldest first. */
  async notifications() {
    const answer: unknown = await (await fetch(`${this.url}/api/notifications`)).json();
    return notificationsSchema.parse(answer).notifications.toReversed();
  }
}

const notificationsSchema = z.object({
  notifications: z.array(
    z.looseObject({
      alert_type: z.string(),
      reference: z.string().optional(),
      details: z.string().optional(),
      recipients: z.array(z.unknown()),
    }),
  ),
});

const must = <Value>(value: Value | undefined): Value => {
  if (value === undefined) throw new Error('there is none');
  return value;
};

/** Starts it as it stands; posts a webhook to it, and gives the status. */
const receiver = async (service: Service) => {
  const port = String(await freePort());
  const env = { ...process.env, SERVICE_URL: service.url, PORT: port };
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
    const service = await Service.start();
    const post = await receiver(service);
    const first = '2026-11-20T08:00:00.123456789Z';
    expect(await post(webhook(alert('firing', first)))).toBe(202);
    // A repeat, another alert of the group that fires too, and one that was resolved.
    expect(await post(webhook(alert('firing', first)))).toBe(202);
    expect(await post(webhook(alert('firing', '2026-11-20T08:05:00Z'), alert('firing', first)))).toBe(202);
    expect(await post(webhook(alert('firing', first), alert('resolved', '2026-11-20T07:00:00Z')))).toBe(202);
    expect(await post(webhook(alert('resolved', first)))).toBe(200);
    expect(await service.notifications()).toMatchObject([
      { alert_type: 'ReportOfFire', details: 'SmokeReported, ridge 4 , north', recipients: [{}, {}] },
    ]);
    expect(await post(webhook(alert('firing', '2026-11-20T09:00:00Z')))).toBe(202);
    expect(await service.notifications()).toHaveLength(2);
  });

  it('takes what Grafana posts, and phones the default recipients about an alert that it does not know', async () => {
    const service = await Service.start();
    const post = await receiver(service);
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
    expect(await service.notifications()).toMatchObject([
      { alert_type: 'Custom', details: 'Battery low, blue', recipients: [{}] },
    ]);
  });

  it('asks to be called again if the service does not answer, and outlives what is no webhook', async () => {
    const service = await Service.start();
    const post = await receiver(service);
    expect(await post('no webhook')).toBe(503);
    service.url = 'gone';
    const away = await receiver(service);
    expect(await away(webhook(alert('firing', '2026-11-20T08:00:00Z')))).toBe(503);
    expect(await post(webhook(alert('firing', '2026-11-20T08:00:00Z')))).toBe(202);
  });

  it('is the address in the configurations of the page', () => {
    const [alertmanager, grafana] = codeBlocksOf(PAGE, 'yaml').map((text): unknown => parse(text));
    const url = 'http://127.0.0.1:9098/';
    expect(alertmanager).toMatchObject({ receivers: [{ name: 'phone', webhook_configs: [{ url }] }] });
    expect(grafana).toMatchObject({ contactPoints: [{ receivers: [{ type: 'webhook', settings: { url } }] }] });
  });
});

it('a silent camera: one call for all, another one when a further camera falls silent', async () => {
  const service = await Service.start();
  const script = join(ROOT, 'infra/clients/silent-cameras.mjs');
  const env = { ...process.env, SERVICE_URL: service.url, RECIPIENTS: '+12065550100,+12065550101' };
  const looks = async (more = {}): Promise<string> =>
    (await run(process.execPath, [script], { env: { ...env, ...more } })).stdout.trim();

  expect(await looks()).toBe('0 of 0 cameras are silent');
  await service.sees('ridge-03', 200);
  await service.sees('ridge-04', 90);
  await service.sees('ridge-05', 5);
  expect(await looks()).toBe('2 of 3 cameras are silent');
  expect(await looks()).toBe('2 of 3 cameras are silent');
  const [one] = await service.notifications();
  expect(one).toMatchObject({ alert_type: 'Custom', details: 'Camera ridge-04 is silent.', recipients: [{}, {}] });
  expect(await looks({ SILENT_MINUTES: '2' })).toBe('3 of 3 cameras are silent');
  expect((await service.notifications()).map(({ details }) => details)).toEqual([
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
  const service = await Service.start();
  const directory = ownDirectory();
  const start_time = Date.now() / 1_000 - 60;
  const event = (label: string, false_positive: boolean) => [
    'frigate/events',
    {
      type: 'update',
      before: {},
      after: { id: `${start_time}-abc`, camera: 'ridge-04', label, start_time, false_positive },
    },
  ];
  const review = (severity: string, objects: readonly string[]) => [
    'frigate/reviews',
    { type: 'update', before: {}, after: { id: 'r-1', camera: 'ridge-04', start_time, severity, data: { objects } } },
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
  const env = { ...process.env, SERVICE_URL: service.url, RECIPIENTS: '+12065550100', MQTT_HOST: 'broker' };
  const { stdout } = await run('python3', ['frigate.py'], { cwd: directory, env });
  expect(stdout).toBe('');
  const counted: unknown = await (await fetch(`${service.url}/api/analytics/cameras?days=2`)).json();
  expect(counted).toMatchObject({
    cameras: [{ camera_id: 'ridge-04', total_events: 1, counts_per_category: { smoke: 0 } }],
  });
  expect(await service.notifications()).toMatchObject([{ alert_type: 'ReportOfFire', reference: 'ridge-04' }]);
});
