// npx openapi-typescript http://localhost:7071/api/openapi.json -o api.d.ts
import createClient from 'openapi-fetch';

import type { paths } from './api.d.ts';

const { SERVICE_URL = 'http://localhost:7071', FUNCTION_KEY = '' } = process.env;
const client = createClient<paths>({ baseUrl: SERVICE_URL, headers: { 'x-functions-key': FUNCTION_KEY } });

const now = new Date().toISOString();
const recorded = await client.POST('/api/events', {
  body: {
    specversion: '1.0',
    id: crypto.randomUUID(),
    source: '/ai/worker-3',
    type: 'CameraEvent.Changed',
    time: now,
    data: { event_id: crypto.randomUUID(), camera_id: 'ridge-04', ts_utc: now, detections: { smoke: 1 } },
  },
});
console.log(recorded.data?.recorded ?? recorded.error?.detail);

const busiest = await client.GET('/api/analytics/cameras', { params: { query: { order_by: 'smoke', limit: 3 } } });
for (const { camera_id, total_events } of busiest.data?.cameras ?? []) console.log(camera_id, total_events);

const table = await client.GET('/api/analytics/series.csv', { parseAs: 'text' });
console.log(table.data?.split('\r\n').length);

const sent = await client.POST('/api/notifications', {
  params: { header: { 'Idempotency-Key': 'fire-4711' } },
  body: { channel: 'phone', alert_type: 'ConfirmedFire', recipients: [{ number: '+12065550100', name: 'Ana' }] },
});
for (const call of sent.data?.calls ?? []) if (call.status !== 'placed') console.log(call.code, call.reason);
if (sent.error) console.error(sent.error.code, sent.error.detail);
