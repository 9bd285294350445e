import { request } from 'node:http';
import { Readable } from 'node:stream';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type App, startApp, testEnvironment } from '../harness/app.ts';
import { until } from '../harness/until.ts';
import { cloudEvent } from './cloud-event.ts';

const KEY = 'a-key-of-this-test';
let whole: App;
let streaming: App;
const start = async (HTTP_STREAMS: string): Promise<App> =>
  startApp({ environment: testEnvironment({ HTTP_STREAMS }), functionKey: KEY, runsSchedules: false });
beforeAll(async () => {
  [whole, streaming] = await Promise.all([start('off'), start('on')]);
});
afterAll(async () => Promise.all([whole.stop(), streaming.stop()]));

/** Posts a body in chunks, as some senders do. */
const post = async ({ url }: App, path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${url}/api/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'sender/1', ...headers },
    body: Readable.toWeb(Readable.from([typeof body === 'string' ? body : JSON.stringify(body)])),
    duplex: 'half',
  });

const RINGING = [{ specversion: '1.0', id: '1', source: 's', type: 'Microsoft.Communication.AddParticipantSucceeded' }];
const AEG = { 'x-functions-key': KEY, 'aeg-event-type': 'Notification' };

/** The log lines about bodies that did not arrive. */
const lost = (app: App): readonly unknown[] =>
  (app.output().match(/\{"event":"body did not arrive".*\}/g) ?? []).map((line): unknown => JSON.parse(line));

describe('a body in chunks', () => {
  it('is a 411 without HTTP streams; if a telephone service or Event Grid sent it, the log has one error', async () => {
    expect((await post(whole, 'events', cloudEvent(), { 'x-functions-key': KEY })).status).toBe(411);
    expect(lost(whole)).toEqual([]);
    for (const path of ['AnomalyCallback', 'anomalyCALLBACK', 'AnomalyCallback/']) {
      expect((await post(whole, path, RINGING)).status).toBe(411);
    }
    expect((await post(whole, 'events', [cloudEvent()], AEG)).status).toBe(411);
    await until(() => lost(whole).length >= 2, 'both are logged');
    expect(lost(whole)).toMatchObject([
      { path: '/api/AnomalyCallback', user_agent: 'sender/1' },
      { path: '/api/events', user_agent: 'sender/1' },
    ]);
  });

  it('arrives with HTTP_STREAMS=on', async () => {
    expect((await post(streaming, 'AnomalyCallback', RINGING)).status).toBe(200);
    const recorded = await post(streaming, 'events', [cloudEvent()], AEG);
    expect([recorded.status, await recorded.json()]).toMatchObject([200, { recorded: 1 }]);
    expect((await post(streaming, 'AnomalyCallback', `"${'x'.repeat(1_048_576)}"`)).status).toBe(413);
    expect((await post(streaming, 'events', [cloudEvent()])).status).toBe(401);
    const day = await fetch(`${streaming.url}/api/analytics/day?date=2024-02-29`, {
      headers: { 'x-functions-key': KEY },
    });
    expect(await day.json()).toMatchObject({ total_events: 1 });
    expect(lost(streaming)).toEqual([]);
  });

  it('that breaks off is no failure of the service', async () => {
    const leaving = request(`${streaming.url}/api/AnomalyCallback`, { method: 'POST' });
    leaving.on('error', () => undefined);
    await new Promise((sent) => leaving.write('[{"a":', sent));
    leaving.destroy();
    expect((await post(streaming, 'AnomalyCallback', RINGING)).status).toBe(200);
    expect(streaming.output()).not.toMatch(/unexpected error|failed:/);
  });
});
