import pLimit from 'p-limit';

import { evenly, record, yesterday } from './client.ts';
import { percentile, report, rounded, sized } from './measure.ts';
import type { Stage } from './stage.ts';
import { frames } from './workload.ts';

/** Requests of one event each, a second: a normal day of the largest network. */
const RECORDED_A_SECOND = 25;

const FLOOD_REQUESTS = sized(20_000, 600);

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

/**
 * How recording goes on while anybody sends 20,000 requests without a key in `seconds`, and what these leave in the app's log. What the
 * Functions host would log of them besides is decided by host.json, see test/deploy.
 */
export const floodBench = async (stage: Stage, seconds: number): Promise<void> => {
  const lines: string[] = [];
  const { url } = await stage.serve(
    await stage.azurite(),
    { ACS_RESOURCE_ID: '00000000-0000-4000-8000-000000000000', ACS_TOKEN_ISSUER: 'http://127.0.0.1:9' },
    { onLine: (line) => lines.push(line) },
  );
  const recorded = async (name: string): Promise<number[]> => {
    const count = RECORDED_A_SECOND * seconds;
    const events = frames({ cameras: 200, frames: count, step: 40_000n, start: yesterday(), name });
    return evenly(count, seconds, async (index) => record(url, events.slice(index, index + 1)));
  };
  const statuses = new Map<number, number>();
  const anonymous = async (index: number): Promise<void> => {
    const [target = '', method = 'GET'] = ANONYMOUS[index % ANONYMOUS.length] ?? [];
    const headers = { 'webhook-request-origin': 'flood.example' };
    const answer = await fetch(`${url}${target}`, { method, headers, ...(method === 'POST' && { body: '[]' }) });
    await answer.arrayBuffer();
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
  };
  await recorded('warm');
  const before = await recorded('before');
  lines.length = 0;
  const bounded = pLimit(FLOOD_CONNECTIONS);
  const [during, flood] = await Promise.all([
    recorded('during'),
    evenly(FLOOD_REQUESTS, seconds, async (index) => bounded(async () => anonymous(index))),
  ]);
  const logged = lines.filter((line) => !line.includes('"events recorded"')).join('\n').length;
  const [p95Before, p95During] = [percentile(before, 0.95), percentile(during, 0.95)];
  report(`${FLOOD_REQUESTS} requests without a key in ${seconds} s, while ${RECORDED_A_SECOND} events/s are recorded`, [
    {
      'recording p95 before, ms': rounded(p95Before, 1),
      'during, ms': rounded(p95During, 1),
      ratio: rounded(p95During / p95Before),
      'flood p95, ms': rounded(percentile(flood, 0.95), 1),
      'logged, bytes': logged,
      'of all, %': rounded((100 * logged) / (FLOOD_REQUESTS * BYTES_A_REQUEST), 4),
      answers: [...statuses].map(([status, count]) => `${count} × ${status}`).join(', '),
    },
  ]);
};
