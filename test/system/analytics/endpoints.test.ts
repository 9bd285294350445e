import { gzipSync } from 'node:zlib';

import { expect, it } from 'vitest';

import { startApp, testEnvironment } from '../../harness/app.ts';
import { cloudEvent } from '../../http/cloud-event.ts';
import { startWatch } from './watch.ts';

it('analytics and events require the function key, in the query or in a header; health does not', async () => {
  const watch = await startWatch({}, { functionKey: 'k3y', bundle: 'release' });
  const status = async (path: string, init?: RequestInit) => (await fetch(`${watch.app.url}${path}`, init)).status;
  const post = { method: 'POST', body: JSON.stringify(cloudEvent()) };
  expect(
    await Promise.all(['/api/analytics', '/api/analytics/day', '/api/health'].map((path) => status(path))),
  ).toEqual([401, 401, 200]);
  expect([await status('/api/events', post), await status('/api/events?code=k3y', post)]).toEqual([401, 200]);
  expect([
    await status('/api/analytics?code=k3y'),
    await status('/api/analytics/day?code=k3y&clientId=default'),
  ]).toEqual([200, 200]);
  expect(await status('/api/analytics', { headers: { 'x-functions-key': 'k3y' } })).toBe(200);
  expect([await status('/api/analytics', { method: 'POST' }), await status('/api/events?code=k3y')]).toEqual([
    401, 405,
  ]);
});

it('the handshake of CloudEvents webhooks is answered, without a key as well', async () => {
  const watch = await startWatch({}, { functionKey: 'k3y' });
  const { status, headers, body } = await watch.request('/api/events', {
    method: 'OPTIONS',
    headers: { 'WebHook-Request-Origin': 'eventgrid.azure.net', 'WebHook-Request-Rate': '120' },
  });
  expect([status, body, headers.get('webhook-allowed-origin')]).toEqual([200, '', 'eventgrid.azure.net']);
});

it('events are recorded also where their size is not announced, and compressed ones', async () => {
  const watch = await startWatch();
  const batch = JSON.stringify([cloudEvent()]);
  const streamed = { method: 'POST', body: new Blob([batch]).stream(), duplex: 'half' as const };
  expect(JSON.parse((await watch.request('/api/events', streamed)).body)).toEqual({ recorded: 1, unchanged: 0 });
  const zipped = { method: 'POST', body: gzipSync(batch), headers: { 'content-encoding': 'gzip' } };
  expect(JSON.parse((await watch.request('/api/events', zipped)).body)).toEqual({ recorded: 0, unchanged: 1 });
  const { status, headers } = await watch.request('/api/events', { ...zipped, headers: { 'content-encoding': 'br' } });
  expect([status, headers.get('accept-encoding')]).toEqual([415, 'gzip']);
});

it('a question without ends is about the window that ends now, one without a date about today', async () => {
  const watch = await startWatch({ CACHE_TS_UTC_WINDOW_SECONDS: '3600', DETECTION_CATEGORIES: 'fog' });
  const now = new Date();
  await watch.post([
    cloudEvent({ time: now.toISOString(), data: { ts_utc: now.toISOString(), detections: { dust: 1 } } }),
    cloudEvent({
      time: now.toISOString(),
      data: { event_id: 'old', ts_utc: new Date(now.getTime() - 3_700_000).toISOString() },
    }),
  ]);
  const range: unknown = JSON.parse((await watch.request('/api/analytics')).body);
  expect(range).toMatchObject({ total_events: 1, counts_per_category: { dust: 1, fog: 0 } });
  expect(range).not.toHaveProperty('counts_per_category.smoke');
  expect(JSON.parse((await watch.request('/api/analytics/day')).body)).toMatchObject({
    ts_utc_start: expect.stringMatching(/T00:00:00\+00:00$/),
    ts_utc_end: expect.stringMatching(/T23:59:59\.999999\+00:00$/),
  });
});

it('a parameter given twice is refused, though the host joins it with a comma', async () => {
  const watch = await startWatch();
  const { status, body } = await watch.request('/api/analytics/day?date=2024-02-29&camera_id=a&camera_id=b');
  expect([status, JSON.parse(body)]).toMatchObject([
    400,
    { errors: [{ field: 'camera_id', detail: 'is given more than once' }] },
  ]);
});

it('wrong settings stop the app with one message that names them all and prints no value', async () => {
  const settings = {
    SERVICE_NAME: '',
    COUNTER_SHARDS: '65 secret',
    TABLES_CONNECTION_STRING: 'AccountKey=secret',
    CALLBACK_BASE_URL: 'http://secret.example.org',
  };
  const failure: unknown = await startApp({ environment: testEnvironment(settings) }).then(
    () => 'it started',
    (error: unknown) => error,
  );
  const message = failure instanceof Error ? failure.message : String(failure);
  expect(message).toMatch(/^The app ended with code 1:\nThe app cannot start:\n/);
  for (const name of Object.keys(settings)) expect(message).toContain(`  ${name}: `);
  expect(message).not.toContain('secret');
});
