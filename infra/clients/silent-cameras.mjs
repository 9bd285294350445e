/** Phones people when a camera of the last 7 days falls silent. Run it every few minutes. Settings: SERVICE_URL, FUNCTION_KEY, RECIPIENTS, SILENT_MINUTES. */
import { createHash } from 'node:crypto';

const {
  SERVICE_URL = 'http://localhost:7071',
  FUNCTION_KEY = '',
  RECIPIENTS = '',
  SILENT_MINUTES = '30',
} = process.env;
const headers = { 'content-type': 'application/json', 'x-functions-key': FUNCTION_KEY };

const listed = await fetch(`${SERVICE_URL}/api/analytics/cameras?counts=false&days=7&limit=5000`, {
  headers,
  redirect: 'manual', // the key must not follow to another host
  signal: AbortSignal.timeout(60_000),
});
if (!listed.ok) throw new Error(await listed.text());
const { cameras } = await listed.json();
const silent = cameras.filter(({ last_event_at }) => Date.now() - Date.parse(last_event_at) > SILENT_MINUTES * 60_000);
// One call for all silent cameras, and a further call when the next camera falls silent. An outage of all cameras places one call.
const latest = silent.reduce(
  (one, other) => (other.last_event_at > (one?.last_event_at ?? '') ? other : one),
  undefined,
);
if (latest !== undefined) {
  const { camera_id, last_event_at } = latest;
  const key = createHash('sha256').update(`${camera_id} ${last_event_at}`).digest('hex');
  const answer = await fetch(`${SERVICE_URL}/api/notifications`, {
    method: 'POST',
    redirect: 'manual',
    signal: AbortSignal.timeout(60_000),
    headers: { ...headers, 'idempotency-key': key },
    body: JSON.stringify({
      channel: 'phone',
      alert_type: 'Custom',
      recipients: RECIPIENTS.split(',').filter((number) => number.trim() !== ''),
      details: `Camera ${camera_id.replaceAll(/[<>&\p{C}\p{Z}\p{DI}\u2800]+/gu, ' ')} is silent.`,
    }),
  });
  const said = await answer.text();
  // Another server, such as a proxy, may answer anything with 200.
  if (!answer.ok || !said.includes('"notification_id"')) throw new Error(said);
}
console.log(`${silent.length} of ${cameras.length} cameras are silent`);
