import pLimit from 'p-limit';

import type { EventMessage } from '../../src/analytics/model/camera-event.ts';
import { cpuOf, evenly, record, yesterday } from './client.ts';
import { latencies, report, type ResultRow, rounded, sized, timed } from './measure.ts';
import type { Stage } from './stage.ts';
import { frames, requests } from './workload.ts';

const CAMERAS = 200;

/** How many clients send how many events, so many a request. With one client each request is a commit of its own. */
const LOADS = [
  { clients: 16, size: 1, count: sized(1_000, 10) },
  { clients: 16, size: 100, count: sized(10_000, 100) },
  { clients: 16, size: 1_000, count: sized(20_000, 1_000) },
  { clients: 1, size: 1, count: sized(3_000, 5) },
  { clients: 1, size: 10, count: sized(10_000, 20) },
  { clients: 1, size: 500, count: sized(50_000, 500) },
] as const;

const STEADY_A_SECOND = 250;
const STEADY_REQUEST = 10;

const FLOOD_A_SECOND = 333;

/** At once. */
const FLOOD_CONNECTIONS = 64;

/** What one anonymous request left in the log of a deployment that kept all of it, in bytes: two lines of the host and the request itself. */
const BYTES_A_REQUEST = 3_000;

/** What is reachable without a key. */
const ANONYMOUS: readonly (readonly [path: string, method: string])[] = [
  ['/api/health', 'GET'],
  ['/api/openapi.json', 'GET'],
  ['/api/dashboard', 'GET'],
  ['/api/events', 'OPTIONS'],
  ['/api/AnomalyCallback', 'POST'],
  ['/api/ConfirmedFireCallback', 'POST'],
];

const inRequests = (count: number, size: number, name: string): (readonly EventMessage[])[] =>
  requests(frames({ cameras: CAMERAS, frames: count, step: 40_000n, start: yesterday(), name }), size);

/**
 * `POST /api/events` against the running app, with the CPU that it takes; then a steady load, alone and beside a flood of requests to all that
 * needs no key, and what these leave in the app's log. What the Functions host would log of them besides is decided by host.json, see test/deploy.
 */
export const httpBench = async (stage: Stage, seconds: number): Promise<void> => {
  const lines: string[] = [];
  const { url, pid } = await stage.serve(
    await stage.azurite(),
    { ACS_RESOURCE_ID: '00000000-0000-4000-8000-000000000000', ACS_TOKEN_ISSUER: 'http://127.0.0.1:9' },
    { onLine: (line) => lines.push(line) },
  );
  for (const warm of inRequests(sized(2_000, 100), 100, 'warm')) await record(url, warm);
  const rows: ResultRow[] = [];
  let single = 0;
  for (const { clients, size, count } of LOADS) {
    const took: number[] = [];
    const send = async (some: readonly EventMessage[]) => took.push(await timed(async () => record(url, some)));
    const all = inRequests(count, size, `${clients}x${size}`);
    let ms = 0;
    const cpu = await cpuOf(pid, count, async () => (ms = await timed(async () => pLimit(clients).map(all, send))));
    const rate = (count / ms) * 1_000;
    if (size === 1) single = rate;
    rows.push({
      clients,
      'events a request': size,
      'events/s': rounded(rate, 0),
      'against 1 a request': rounded(rate / single, 1),
      ...latencies(took),
      'CPU an event, ms': cpu,
    });
  }
  report(`POST /api/events, ${CAMERAS} cameras`, rows);

  const steady = async (name: string): Promise<number[]> => {
    const all = inRequests(STEADY_A_SECOND * seconds, STEADY_REQUEST, name);
    return evenly(all.length, seconds, async (index) => record(url, all[index] ?? []));
  };
  const anonymous = async (index: number): Promise<void> => {
    const [target = '', method = 'GET'] = ANONYMOUS[index % ANONYMOUS.length] ?? [];
    const headers = { 'webhook-request-origin': 'flood.example' };
    const answer = await fetch(`${url}${target}`, { method, headers, ...(method === 'POST' && { body: '[]' }) });
    await answer.arrayBuffer();
  };
  const alone = await steady('alone');
  lines.length = 0;
  const bounded = pLimit(FLOOD_CONNECTIONS);
  const flood = FLOOD_A_SECOND * seconds;
  const [beside, flooded] = await Promise.all([
    steady('beside'),
    evenly(flood, seconds, async (index) => bounded(async () => anonymous(index))),
  ]);
  const logged = lines.filter((line) => !line.includes('"events recorded"')).join('\n').length;
  report(`${STEADY_A_SECOND} events/s for ${seconds} s, requests of ${STEADY_REQUEST}, whatever the answers take`, [
    { load: 'alone', ...latencies(alone) },
    { load: `beside ${flood} requests without a key`, ...latencies(beside) },
    { load: 'these requests', ...latencies(flooded) },
  ]);
  const share = rounded((100 * logged) / (flood * BYTES_A_REQUEST), 4);
  console.log(
    `Of the requests without a key ${logged} bytes were logged: ${share} % of what a log of all of them takes.`,
  );
};
