// npx orval --config orval.config.mjs
import { getAnalyticsOfCameras, recordEvents, sendNotification } from './orval.ts';

const headers = { 'x-functions-key': process.env.FUNCTION_KEY ?? '' };

const now = new Date().toISOString();
const recorded = await recordEvents(
  {
    specversion: '1.0',
    id: crypto.randomUUID(),
    source: '/ai/worker-3',
    type: 'CameraEvent.Changed',
    time: now,
    data: { event_id: crypto.randomUUID(), camera_id: 'ridge-04', ts_utc: now, detections: { smoke: 1 } },
  },
  { headers },
);
console.log(recorded.status === 200 ? recorded.data.recorded : recorded.data);

const busiest = await getAnalyticsOfCameras({ order_by: 'smoke', limit: 3 }, { headers });
if (busiest.status === 200) {
  for (const { camera_id, total_events } of busiest.data.cameras) console.log(camera_id, total_events);
}

const sent = await sendNotification(
  { channel: 'phone', alert_type: 'ConfirmedFire', recipients: [{ number: '+12065550100', name: 'Ana' }] },
  { headers: { ...headers, 'Idempotency-Key': 'fire-4711' } },
);
if (sent.status === 202) {
  for (const call of sent.data.calls) if (call.status !== 'placed') console.log(call.code, call.reason);
} else if (sent.status !== 401) console.error(sent.data.code, sent.data.detail);
