import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { Aedes } from 'aedes';
import { beforeEach, expect, it, onTestFinished } from 'vitest';

import { listenOn } from '../../infra/emulators/free-port.ts';
import { ScriptedService } from '../cli/scripted-service.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { sharedStage } from '../harness/phone-stage.ts';
import { needProgram } from '../harness/program.ts';
import { until } from '../harness/until.ts';
import { ROOT } from './markdown.ts';

const FOLDER = join(ROOT, 'infra/clients');
const STAND_IN = join(ROOT, 'test/docs/mqtt-stand-in');

beforeEach(({ skip }) => needProgram('python3', skip));

/** A broker of MQTT, as Frigate publishes to it: at least once (QoS 1), not retained. */
const startBroker = async () => {
  const broker = await Aedes.createBroker();
  const server = createServer(broker.handle);
  const port = await listenOn(server, 0);
  onTestFinished(async () => {
    await new Promise<void>((closed) => broker.close(() => closed()));
    server.close();
  });
  const told = { acknowledged: 0, sessions: 0 };
  broker.on('ack', () => (told.acknowledged += 1));
  broker.on('subscribe', () => (told.sessions += 1));
  const publish = async (topic: 'events' | 'reviews', value: unknown): Promise<void> => {
    const payload = typeof value === 'string' ? value : JSON.stringify(value);
    const packet = { cmd: 'publish', topic: `frigate/${topic}`, payload, qos: 1, retain: false, dup: false } as const;
    await new Promise<void>((resolve, reject) =>
      broker.publish(packet, (error) => (error ? reject(error) : resolve())),
    );
  };
  return { port, told, publish };
};

/** Starts the program in a directory that keeps its file, and waits until it has subscribed. */
const startFrigate = async (
  { port, told }: Awaited<ReturnType<typeof startBroker>>,
  SERVICE_URL: string,
  cwd: string,
  more: NodeJS.ProcessEnv = {},
) => {
  for (const file of ['frigate.py', 'send.py']) copyFileSync(join(FOLDER, file), join(cwd, file));
  const hasPaho = spawnSync('python3', ['-c', 'import paho.mqtt.client'], { cwd }).status === 0;
  const broker = { MQTT_PORT: `${port}`, MQTT_HOST: '127.0.0.1' };
  const env = { ...process.env, SERVICE_URL, RECIPIENTS: '+12065550100', ...broker, ...more };
  const child = spawn('python3', ['frigate.py'], {
    cwd,
    env: hasPaho ? env : { ...env, PYTHONPATH: STAND_IN },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  onTestFinished(async () => end(child));
  const before = told.sessions;
  await until(() => told.sessions > before, 'frigate.py has subscribed');
  return { child, output: () => output };
};

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
};

const byText = (one: string, other: string): number => (one < other ? -1 : 1);

const START = Date.now() / 1_000 - 60;
let seconds = 0;

/** A message about an object, with the members that Frigate 0.18 gives it and the program reads. */
const object = (id: string, label: string, more: object = {}) => ({
  type: 'update',
  before: {},
  after: {
    id: `${START}-${id}`,
    camera: 'north_ridge',
    label,
    sub_label: null,
    false_positive: false,
    start_time: START,
    frame_time: START + (seconds += 0.2),
    end_time: null,
    ...more,
  },
});

/** A message about a review item. */
const review = (id: string, severity: 'alert' | 'detection', objects: readonly string[], more: object = {}) => ({
  type: 'new',
  before: {},
  after: {
    id: `${START}-${id}`,
    camera: 'north_ridge',
    start_time: START,
    end_time: null,
    severity,
    thumb_path: '',
    data: { detections: [], objects, verified_objects: [], sub_labels: [], zones: [], audio: [], ...more },
  },
});

const PLACED = { status: 202, body: '{"notification_id":"n","calls":[]}' };

it('Frigate phones about fire in each word that Frigate uses for it, and says which words are unknown', async () => {
  const called: string[] = [];
  const service = await ScriptedService.start(({ path, headers }) => {
    if (path !== '/api/notifications') return 'record';
    called.push(String(headers['idempotency-key']).replace(/^frigate-[\d.]+-/, ''));
    return PLACED;
  });
  const broker = await startBroker();
  const { output } = await startFrigate(broker, service.url, ownDirectory());
  for (const [id, severity, objects, more] of [
    ['plain', 'alert', ['fire']],
    ['sub-label', 'alert', ['fire-verified'], { sub_labels: ['camp'], verified_objects: ['fire-verified'] }],
    ['by-hand', 'alert', ['smoke: chimney']],
    ['capital', 'alert', ['person', 'Fire']],
    ['heard', 'alert', [], { audio: ['fire'] }],
    ['person', 'alert', ['person-verified']],
    ['detection', 'detection', ['smoke']],
    ['raised', 'detection', ['smoke']],
    ['raised', 'alert', ['smoke']],
  ] as const) {
    await broker.publish('reviews', review(id, severity, objects, more));
  }
  await broker.publish('reviews', 'not JSON');
  await broker.publish('reviews', { type: 'new' });
  await broker.publish('reviews', { ...review('ended', 'alert', ['fire-verified']), type: 'end' });
  await until(() => called.includes('ended'), 'the last review is called');
  expect(called.toSorted(byText)).toEqual(['by-hand', 'capital', 'ended', 'heard', 'plain', 'raised', 'sub-label']);
  expect(output().match(/Neither counted nor phoned about: .*?\./g)).toEqual([
    'Neither counted nor phoned about: person.',
  ]);
  expect(output()).toContain('No call yet: smoke of north_ridge is no alert.');
  expect(output().match(/Not understood: frigate\/reviews/g)).toHaveLength(2);
});

it('Frigate: while the service takes no events, a fire is called within 2 s, nothing is lost, and no end of the program loses anything', async () => {
  let isAway = true;
  // By the key: a request that is repeated with it places no other call.
  const calls = new Map<string, number>();
  const service = await ScriptedService.start(async ({ path, headers, body }) => {
    if (path === '/api/notifications') {
      const key = String(headers['idempotency-key']);
      calls.set(key, calls.get(key) ?? performance.now());
      return PLACED;
    }
    if (!isAway) return 'record';
    // Every second request stays open: a service that hangs.
    if (body.length % 2 === 0) await until(() => !isAway, 'the service is back', 120_000);
    return { status: 503, headers: { 'retry-after': new Date(Date.now() + 1_000).toUTCString() } };
  });
  const broker = await startBroker();
  const cwd = ownDirectory();
  const first = await startFrigate(broker, service.url, cwd);
  const ids = Array.from({ length: 300 }, (_, index) => `o${index}`);
  for (const id of ids.slice(0, 100)) await broker.publish('events', object(id, 'fire'));
  // The thread that receives does not wait for a request.
  await until(() => broker.told.acknowledged === 100, 'all are acknowledged');
  const published = performance.now();
  await broker.publish('reviews', review('r-1', 'alert', ['fire']));
  await until(() => calls.size === 1, 'the fire is called');
  expect(([...calls.values()][0] ?? Infinity) - published).toBeLessThan(2_000);

  await end(first.child);
  for (const id of ids.slice(100, 200)) await broker.publish('events', object(id, 'fire'));
  await startFrigate(broker, service.url, cwd);
  for (const id of ids.slice(200)) await broker.publish('events', object(id, 'smoke'));
  await until(() => broker.told.acknowledged === 301, 'all are acknowledged');
  expect(service.times.size).toBe(0);
  isAway = false;
  await until(() => service.times.size === 300, 'all are counted');
  expect([...service.times.keys()].toSorted(byText)).toEqual(ids.map((id) => `${START}-${id}`).toSorted(byText));
  expect([...calls.keys()]).toEqual([`frigate-${START}-r-1`]);
});

it('Frigate: a fire that the service cannot take is called as soon as it can, and another fire waits for no answer about it', async () => {
  const asked: string[] = [];
  let isAway = true;
  const service = await ScriptedService.start(({ headers }) => {
    const key = String(headers['idempotency-key']);
    asked.push(key);
    return isAway && key.endsWith('r-1') ? { status: 500 } : PLACED;
  });
  const broker = await startBroker();
  await startFrigate(broker, service.url, ownDirectory());
  await broker.publish('reviews', review('r-1', 'alert', ['fire']));
  await until(() => asked.length > 0, 'the first fire is asked for');
  const published = performance.now();
  await broker.publish('reviews', review('r-2', 'alert', ['smoke']));
  await until(() => asked.some((key) => key.endsWith('r-2')), 'the second fire is called');
  expect(performance.now() - published).toBeLessThan(2_000);
  isAway = false;
  const back = asked.length;
  await until(() => asked.slice(back).some((key) => key.endsWith('r-1')), 'the first fire is called', 5_000);
});

it('Frigate: a fire waits for no request that hangs, no redirect ends as a call, and no Retry-After delays a call', async () => {
  const called = new Map<string, number>();
  let isAway = true;
  const service = await ScriptedService.start(async ({ method, path, headers }) => {
    const key = String(headers['idempotency-key']).replace(/^.*-/, '');
    if (method === 'GET') return { status: 200, body: '{"notifications":[]}' };
    if (isAway && Number(key) < 12) return new Promise(() => undefined);
    if (isAway && key === '12') return { status: 301, headers: { location: path } };
    if (isAway && key === '13') return { status: 503, headers: { 'retry-after': '600' } };
    called.set(key, performance.now());
    return PLACED;
  });
  const broker = await startBroker();
  await startFrigate(broker, service.url, ownDirectory());
  for (let number = 0; number < 14; number += 1)
    await broker.publish('reviews', review(`r-${number}`, 'alert', ['fire']));
  await until(() => service.requests >= 14, 'all are asked for');
  const published = performance.now();
  await broker.publish('reviews', review('r-14', 'alert', ['smoke']));
  await until(() => called.has('14'), 'the next fire is called');
  expect((called.get('14') ?? Infinity) - published).toBeLessThan(2_000);
  expect(called.size).toBe(1);
  isAway = false;
  await until(() => called.size === 15, 'all are called', 15_000);
});

it('Frigate: a file that is locked, or cannot be written, costs no call and no count; no message ends the program', async () => {
  const called = new Set<string>();
  const service = await ScriptedService.start(({ path, headers }) => {
    if (path !== '/api/notifications') return 'record';
    called.add(String(headers['idempotency-key']).replace(/^frigate-[\d.]+-/, ''));
    return PLACED;
  });
  const broker = await startBroker();
  const cwd = ownDirectory();
  const first = await startFrigate(broker, service.url, cwd);
  const unlock = await lockFile(cwd, 'EXCLUSIVE');
  const deep = `{"after":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  for (const poison of [deep, object('huge', 'fire', { start_time: 1e300 }), object('x'.repeat(9_000), 'fire')]) {
    await broker.publish('events', poison);
  }
  await broker.publish('events', object('locked', 'fire'));
  await broker.publish('reviews', review('locked', 'alert', ['fire']));
  await until(() => called.has('locked') && service.times.has(`${START}-locked`), 'both are answered');
  await unlock();
  await broker.publish('events', object('free', 'fire'));
  await until(() => service.times.has(`${START}-free`), 'it is counted');
  expect(first.child.exitCode).toBeNull();
  expect(first.output()).toContain('database is locked');

  await end(first.child);
  await startFrigate(broker, service.url, cwd, { QUEUE: 'no/such/folder.db' });
  await broker.publish('reviews', review('without', 'alert', ['fire']));
  await broker.publish('events', object('without', 'fire'));
  await until(() => called.has('without') && service.times.has(`${START}-without`), 'both are answered');
});

it('Frigate: while the file can be read but not written, everything in it is counted, and no call is repeated later', async () => {
  let isAway = true;
  const called: string[] = [];
  const service = await ScriptedService.start(({ path, headers }) => {
    if (path === '/api/notifications') called.push(String(headers['idempotency-key']));
    else if (!isAway) return 'record';
    return isAway ? { status: 503 } : PLACED;
  });
  const broker = await startBroker();
  const cwd = ownDirectory();
  const { child } = await startFrigate(broker, service.url, cwd);
  // More than one request takes.
  const ids = Array.from({ length: 510 }, (_, index) => `w${index}`);
  for (const id of ids) await broker.publish('events', object(id, 'fire'));
  await broker.publish('reviews', review('w', 'alert', ['fire']));
  await until(() => broker.told.acknowledged === 511, 'all are in the file', 60_000);
  const unlock = await lockFile(cwd, 'IMMEDIATE');
  isAway = false;
  const back = called.length;
  await until(() => service.times.size === 510 && called.length > back, 'all are answered', 30_000);
  await unlock();
  const before = service.requests;
  await broker.publish('events', object('later', 'fire'));
  await until(() => service.times.size === 511, 'the next object is counted');
  expect(service.requests - before).toBe(1);

  await end(child);
  const ended = called.length;
  await startFrigate(broker, service.url, cwd);
  await broker.publish('events', object('last', 'fire'));
  await until(() => service.times.size === 512, 'the last object is counted');
  expect(called.length).toBe(ended);
});

/** Locks the file of the queue, as a backup or a full disk may. @returns unlocks it */
const lockFile = async (cwd: string, how: 'EXCLUSIVE' | 'IMMEDIATE'): Promise<() => Promise<void>> => {
  const lock = spawn('python3', ['-c', LOCK, how], { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(async () => end(lock));
  await once(lock.stdout, 'data');
  return async () => {
    lock.stdin.end();
    await once(lock, 'exit');
  };
};

/** `IMMEDIATE`: others may read the file, but not write it. It ends with its input. */
const LOCK = `import sqlite3, sys
file = sqlite3.connect("frigate-queue.db", isolation_level=None)
file.execute("BEGIN " + sys.argv[1])
print("locked", flush=True)
sys.stdin.read()`;

const stageOf = sharedStage({});

it('Frigate: objects and their corrections are counted, and an alert phones once', async () => {
  const ask = async (path: string): Promise<unknown> => (await stageOf().fetch(`${stageOf().url}/api/${path}`)).json();
  // The service dates notifications by the clock of storage, which may be a second behind.
  const since = new Date(Date.now() - 10_000).toISOString();
  const broker = await startBroker();
  const { output } = await startFrigate(broker, stageOf().url, ownDirectory());
  await broker.publish('events', object('a', 'smoke', { camera: 'frigate-04' }));
  await broker.publish('events', object('b', 'smoke', { camera: 'frigate-04', sub_label: ['camp', 0.79] }));
  await broker.publish('events', object('c', 'person', { camera: 'frigate-04' }));
  for (const type of ['new', 'update', 'end']) {
    await broker.publish('reviews', { ...review('r-9', 'alert', ['smoke', 'person']), type });
  }
  await broker.publish('events', {
    ...object('a', 'smoke', { camera: 'frigate-04', false_positive: true }),
    type: 'end',
  });
  await expect
    .poll(() => ask('analytics/cameras?days=2&q=frigate'))
    .toMatchObject({
      cameras: [{ camera_id: 'frigate-04', total_events: 2, counts_per_category: { smoke: 1 } }],
    });
  const reached = { notifications: [{ alert_type: 'ReportOfFire', reference: 'north_ridge' }] };
  await expect.poll(() => ask(`notifications?ts_utc_start=${since}`)).toMatchObject(reached);
  expect(output()).not.toContain('code');
});
