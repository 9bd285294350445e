// npx @hey-api/openapi-ts -i http://localhost:7071/api/openapi.json -o hey-api
import { client } from './hey-api/client.gen.ts';
import { getAnalyticsOfCameras, recordEvents, sendNotification } from './hey-api/index.ts';

const { SERVICE_URL = 'http://localhost:7071', FUNCTION_KEY = '' } = process.env;
client.setConfig({ baseUrl: SERVICE_URL, headers: { 'x-functions-key': FUNCTION_KEY } });

const now = new Date().toISOString();
const recorded = await recordEvents({
  body: {
    specversion: '1.0',
    id: crypto.randomUUID(),
    source: '/ai/worker-3',
    type: 'CameraEvent.Changed',
    time: now,
    data: { event_id: crypto.randomUUID(), camera_id: 'ridge-04', ts_utc: now, detections: { smoke: 1 } },
  },
});
console.log(recorded.data?.recorded ?? recorded.error);

const busiest = await getAnalyticsOfCameras({ query: { order_by: 'smoke', limit: 3 } });
for (const { camera_id, total_events } of busiest.data?.cameras ?? []) console.log(camera_id, total_events);

const sent = await sendNotification({
  headers: { 'Idempotency-Key': 'fire-4711' },
  body: { channel: 'phone', alert_type: 'ConfirmedFire', recipients: [{ number: '+12065550100', name: 'Ana' }] },
});
for (const call of sent.data?.calls ?? []) if (call.status !== 'placed') console.log(call.code, call.reason);
if (sent.error) console.error(sent.response?.status, sent.error);
