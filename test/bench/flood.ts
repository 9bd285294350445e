import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import pLimit from 'p-limit';

import { buildApp } from '../../infra/build-app.ts';
import { startAzurite } from '../../infra/local/azurite.ts';
import { instantFrom, instantFromMilliseconds } from '../../src/analytics/model/instant.ts';
import { percentile, report, rounded, timed } from './measure.ts';
import { serve } from './serve.ts';
import { cloudEventOf, frames } from './workload.ts';

/** Requests of one event each, a second: a normal day of the largest network. */
const RECORDED_A_SECOND = 25;

const FLOOD_REQUESTS = 20_000;

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

/** Starts `send` so many times, evenly over the time and whatever the answers take; how long each took from when it was due, in milliseconds. */
const evenly = async (times: number, seconds: number, send: (index: number) => Promise<void>): Promise<number[]> => {
  const start = performance.now();
  const taken: Promise<number>[] = [];
  for (let index = 0; index < times; index += 1) {
    const due = start + (index * seconds * 1_000) / times;
    const early = due - performance.now();
    if (early > 0) await delay(early);
    taken.push(timed(async () => send(index)).then((ms) => ms + Math.max(0, -early)));
  }
  return Promise.all(taken);
};

/**
 * How recording goes on while anybody sends 20,000 requests without a key in `seconds`, and what these leave in the app's log. What the
 * Functions host would log of them besides is decided by host.json, see test/deploy.
 */
export const floodBench = async (seconds: number): Promise<void> => {
  const directory = await mkdtemp(path.join(tmpdir(), 'bench-'));
  const azurite = await startAzurite();
  const outfile = path.join(directory, 'main.cjs');
  await buildApp({ outfile, debug: false });
  const lines: string[] = [];
  const app = await serve(
    outfile,
    {
      TABLES_CONNECTION_STRING: azurite.connectionString,
      ACS_RESOURCE_ID: '00000000-0000-4000-8000-000000000000',
      ACS_TOKEN_ISSUER: 'http://127.0.0.1:9',
    },
    { runsSchedules: false, onLine: ({ text }) => lines.push(text) },
  );
  try {
    const record = async (name: string): Promise<number[]> => {
      const start = instantFrom(instantFromMilliseconds(Date.now()) - 6n * 3_600_000_000n);
      const events = frames({ cameras: 200, frames: RECORDED_A_SECOND * seconds, step: 40_000n, start, name });
      const bodies = events.map((frame) => JSON.stringify(cloudEventOf(frame)));
      return evenly(bodies.length, seconds, async (index) => {
        const answer = await fetch(`${app.url}/api/events`, { method: 'POST', body: bodies[index] ?? '' });
        if (answer.status !== 200) throw new Error(`recording answered ${answer.status}: ${await answer.text()}`);
        await answer.arrayBuffer();
      });
    };
    const statuses = new Map<number, number>();
    const anonymous = async (index: number): Promise<void> => {
      const [target = '', method = 'GET'] = ANONYMOUS[index % ANONYMOUS.length] ?? [];
      const answer = await fetch(`${app.url}${target}`, {
        method,
        headers: { 'webhook-request-origin': 'flood.example' },
        ...(method === 'POST' ? { body: '[]' } : {}),
      });
      await answer.arrayBuffer();
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    };
    await record('warm');
    const before = await record('before');
    lines.length = 0;
    const bounded = pLimit(FLOOD_CONNECTIONS);
    const [during, flood] = await Promise.all([
      record('during'),
      evenly(FLOOD_REQUESTS, seconds, async (index) => bounded(async () => anonymous(index))),
    ]);
    const logged = lines.filter((line) => !line.includes('"events recorded"')).join('\n').length;
    report(
      `${FLOOD_REQUESTS} requests without a key in ${seconds} s, while ${RECORDED_A_SECOND} events a second are recorded`,
      [
        {
          'recording p95 before, ms': rounded(percentile(before, 0.95), 1),
          'during, ms': rounded(percentile(during, 0.95), 1),
          ratio: rounded(percentile(during, 0.95) / percentile(before, 0.95)),
          'flood p95, ms': rounded(percentile(flood, 0.95), 1),
          'logged, bytes': logged,
          'of all, %': rounded((100 * logged) / (FLOOD_REQUESTS * BYTES_A_REQUEST), 4),
          answers: [...statuses].map(([status, count]) => `${count} × ${status}`).join(', '),
        },
      ],
    );
  } finally {
    await app.stop();
    await azurite.stop();
    await rm(directory, { recursive: true });
  }
};
