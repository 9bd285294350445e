import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { newNotificationId } from '../../src/calls/model/ids.ts';
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

/** Posts a body in chunks, as some senders do; `fetch` would announce the length of an empty one. */
const post = async ({ url }: App, path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const posting = request(`${url}/api/${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'sender/1',
      'transfer-encoding': 'chunked',
      ...headers,
    },
  });
  posting.end(typeof body === 'string' ? body : JSON.stringify(body));
  const [answer]: IncomingMessage[] = await once(posting, 'response');
  if (answer === undefined) throw new Error('There is no answer.');
  return { status: answer.statusCode, text: await text(answer) };
};

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
    expect([recorded.status, JSON.parse(recorded.text)]).toMatchObject([200, { recorded: 1 }]);
    expect((await post(streaming, 'AnomalyCallback', `"${'x'.repeat(1_048_576)}"`)).status).toBe(413);
    expect((await post(streaming, 'events', [cloudEvent()])).status).toBe(401);
    const day = await fetch(`${streaming.url}/api/analytics/day?date=2024-02-29`, {
      headers: { 'x-functions-key': KEY },
    });
    expect(await day.json()).toMatchObject({ total_events: 1 });
    expect(lost(streaming)).toEqual([]);
  });

  it('that is empty is an empty body with HTTP_STREAMS=on, and no body where none is needed', async () => {
    const empty = await post(streaming, 'events', '', AEG);
    expect([empty.status, JSON.parse(empty.text)]).toMatchObject([400, { code: 'empty_body' }]);
    expect((await post(streaming, 'AnomalyCallback', '')).status).toBe(400);
    // No body at all: some clients announce none, and the host sends chunks to the app.
    const unknown = `notifications/${newNotificationId(0, randomUUID())}/stop`;
    expect((await post(streaming, unknown, '', { 'x-functions-key': KEY })).status).toBe(404);
    expect((await post(whole, unknown, '', { 'x-functions-key': KEY })).status).toBe(411);
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
