/** Phones people about the alerts that Prometheus Alertmanager or Grafana posts to it. Settings: SERVICE_URL, FUNCTION_KEY, HOST, PORT. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

const { SERVICE_URL = 'http://localhost:7071', FUNCTION_KEY = '', HOST = '127.0.0.1', PORT = '9098' } = process.env;
const ALERT_TYPES = { FireConfirmed: 'ConfirmedFire', SmokeReported: 'ReportOfFire' }; // by `alertname`, otherwise Custom
const RECIPIENTS = { north: ['+12065550100', '+12065550101'], default: ['+12065550100'] }; // by the label `team`

/** Undefined for a name such as `constructor`, which every object has. */
const entryOf = (table, name) => (Object.hasOwn(table, name) ? table[name] : undefined);

const phone = async ({ groupKey, groupLabels, alerts }) => {
  const firing = alerts.filter(({ status }) => status === 'firing');
  if (firing.length === 0) return 200; // a resolved alert places no call
  const since = Math.min(...firing.map(({ startsAt }) => Date.parse(startsAt)));
  const key = createHash('sha256').update(`${groupKey} ${since}`).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-functions-key': FUNCTION_KEY, 'idempotency-key': key };
  // The labels of a group never change, so the same key comes with the same body.
  const alert_type = entryOf(ALERT_TYPES, groupLabels.alertname) ?? 'Custom';
  const recipients = entryOf(RECIPIENTS, groupLabels.team) ?? RECIPIENTS.default;
  const labels = Object.values(groupLabels)
    .join(', ')
    .replaceAll(/[<>&\p{C}\p{Z}\p{DI}\u2800]+/gu, ' ')
    .trim();
  const details = (labels || 'alert').slice(0, 200).replace(/\p{Cs}$/u, '');
  // A redirected POST would become a GET, whose answer looks like success. Alertmanager waits for this answer before it posts again.
  const post = (body) =>
    fetch(`${SERVICE_URL}/api/notifications`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(10_000),
    });
  const alert = { channel: 'phone', alert_type, recipients };
  let answer = await post({ ...alert, details });
  if (answer.status === 400) answer = await post(alert); // Alertmanager does not post again: words must not cost the call
  const said = await answer.text();
  const isOfService = said.includes('"notification_id"') || said.includes('"code"'); // not of a proxy
  if (!answer.ok || !isOfService) console.error(answer.status, said.slice(0, 1_000));
  // After a 5xx Alertmanager posts again soon, until the address or the key is right.
  return isOfService && (answer.ok || [400, 422].includes(answer.status)) ? answer.status : 503;
};

createServer((request, response) => {
  const status = json(request)
    .then(phone)
    .catch((error) => (console.error(error), 503));
  void status.then((code) => response.writeHead(code).end());
}).listen(PORT, HOST);
