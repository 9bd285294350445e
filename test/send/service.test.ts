import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import { type App, startApp, testEnvironment } from '../harness/app.ts';
import { ownDirectory, rejectedIn, send, startSend } from './running.ts';
import { type Answer, ScriptedService } from './scripted-service.ts';

const DATE = '2026-03-14';
const EVENTS = 1_500;
const KEY = 'function-key-of-a-test';

/** Every 100th event is wrong, in one of these ways; the service or the reader of the file says so. */
const WRONG: readonly ((line: string) => string)[] = [
  (line) => line.replace(/"camera_id":"ridge-\d"/, '"camera_id":7'),
  (line) => line.replace('CameraEvent.Changed', 'CameraEvent.Unknown'),
  (line) => line.slice(0, -2),
];

const lineOf = (at: number): string => {
  const time = new Date(Date.parse(`${DATE}T00:00:00Z`) + at * 20_000).toISOString();
  const line = JSON.stringify({
    specversion: '1.0',
    id: `m-${at}`,
    source: '/ai/worker-3',
    type: 'CameraEvent.Changed',
    time,
    data: { event_id: `f-${at}`, camera_id: `ridge-${at % 10}`, ts_utc: time, detections: { smoke: 1 } },
  });
  return at % 100 === 99 ? (WRONG[Math.floor(at / 100) % WRONG.length]?.(line) ?? '') : line;
};

const daySchema = z.object({
  total_events: z.number(),
  active_cameras: z.number(),
  counts_per_category: z.record(z.string(), z.number()),
});

/** The app as it is behind a front door, which hands requests on and can say that it is away. */
const forward = async (app: App, body: Buffer, key: string | undefined): Promise<Answer> => {
  const response = await fetch(`${app.url}/api/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/cloudevents-batch+json', 'x-functions-key': key ?? '' },
    body: new Uint8Array(body),
  });
  return { status: response.status, body: await response.text() };
};

describe('npm run send to the real service', () => {
  it(`counts ${EVENTS} events once, with wrong ones, a kill, a 503, a new start of the service and a stop in between`, async () => {
    const environment = testEnvironment();
    const start = async (): Promise<App> => {
      const app = await startApp({ environment, functionKey: KEY });
      onTestFinished(() => app.stop());
      return app;
    };
    let app = await start();
    const directory = ownDirectory();
    const file = join(directory, 'day.ndjson');
    const keyFile = join(directory, 'key');
    await writeFile(file, Array.from({ length: EVENTS }, (_, at) => `${lineOf(at)}\n`).join(''));
    await writeFile(keyFile, `${KEY}\n`);

    const taken = { requests: 0, whenTaken: (): void => undefined };
    const door = await ScriptedService.start(async ({ body, headers }) => {
      const key = headers['x-functions-key'];
      const answer = await forward(app, body, typeof key === 'string' ? key : undefined);
      taken.requests += 1;
      taken.whenTaken();
      return answer;
    });
    const args = [file, '--url', door.url, '--key-file', keyFile, '--batch', '50', '--requests', '3'];

    // A kill: the service has just committed a batch, and the sender does not hear of it.
    const killed = startSend(args);
    taken.whenTaken = () => {
      if (taken.requests === 8) killed.child.kill('SIGKILL');
    };
    expect((await killed.ended).code).toBeNull();

    // The service goes away, and comes back as another process.
    const toTheApp = door.script;
    let refusals = 0;
    taken.whenTaken = () => {
      if (taken.requests < 16 || refusals > 0) return;
      door.script = async () => {
        refusals += 1;
        if (refusals === 1) {
          app.kill();
          await app.exited;
          app = await start();
          door.script = toTheApp;
        }
        return { status: 503, headers: { 'retry-after': '0' } };
      };
    };
    const waiting = startSend(args);
    await waiting.hasSaid('the service answers 503');
    taken.whenTaken = () => {
      if (taken.requests === 24) waiting.child.kill('SIGINT');
    };
    const stopped = await waiting.ended;
    expect(stopped).toMatchObject({ code: process.platform === 'win32' ? null : 3 });

    const last = await send(args);
    expect(last.summary).toContain(`rejected   ${EVENTS / 100}, in ${file}.rejected.ndjson\n`);
    expect(last.code).toBe(1);

    const answer = await fetch(`${app.url}/api/analytics/day?date=${DATE}`, { headers: { 'x-functions-key': KEY } });
    expect(daySchema.parse(await answer.json())).toMatchObject({
      total_events: EVENTS - EVENTS / 100,
      active_cameras: 10,
      counts_per_category: { smoke: EVENTS - EVENTS / 100 },
    });
    const rejected = await rejectedIn(`${file}.rejected.ndjson`);
    expect(rejected.map(({ line }) => line)).toEqual(Array.from({ length: EVENTS / 100 }, (_, at) => (at + 1) * 100));
    expect(new Set(rejected.map(({ reason }) => reason))).toEqual(
      new Set(['data.camera_id must be a string', 'type must be "CameraEvent.Changed"', 'is not JSON']),
    );

    // All of it once more: nothing changes, and the file of rejected events does not grow.
    const before = await readFile(`${file}.rejected.ndjson`, 'utf8');
    const again = await send(args);
    expect(again.summary).toContain(`recorded   0\nunchanged  ${(EVENTS - EVENTS / 100).toLocaleString('en-GB')}\n`);
    expect(await readFile(`${file}.rejected.ndjson`, 'utf8')).toBe(before);
  }, 120_000);

  it('stops where the key is wrong', async () => {
    const app = await startApp({ environment: testEnvironment(), functionKey: KEY });
    onTestFinished(() => app.stop());
    const file = join(ownDirectory(), 'day.ndjson');
    await writeFile(file, lineOf(0));
    const { code, said } = await send([file, '--url', app.url], { environment: { FUNCTION_KEY: 'another-key' } });
    expect(code).toBe(3);
    expect(said).toContain('The service refuses the function key (401)');
    expect(said).not.toContain('another-key');
  });
});
