import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { bundle } from '../../infra/bundle.ts';
import { startAzurite } from '../../infra/local/azurite.ts';
import { instantFrom, instantFromMilliseconds } from '../../src/analytics/model/instant.ts';
import { percentile, report, rounded, timed, type ResultRow } from './measure.ts';
import { sized } from './size.ts';
import { serve } from './serve.ts';
import { cloudEventOf, frames } from './workload.ts';

const CAMERAS = 200;

/** Frames of the last hours as CloudEvents. */
const cloudEvents = (count: number, name: string): unknown[] => {
  const start = instantFrom(instantFromMilliseconds(Date.now()) - 6n * 3_600_000_000n);
  return frames({ cameras: CAMERAS, frames: count, step: 40_000n, start, name }).map(cloudEventOf);
};

const post = async (url: string, events: readonly unknown[]): Promise<void> => {
  const answer = await fetch(`${url}/api/events`, { method: 'POST', body: JSON.stringify(events) });
  if (answer.status !== 200) throw new Error(`recording answered ${answer.status}: ${await answer.text()}`);
  await answer.arrayBuffer();
};

const chunks = (events: unknown[], size: number): unknown[][] =>
  Array.from({ length: Math.ceil(events.length / size) }, (_, at) => events.slice(at * size, (at + 1) * size));

/** 250 events a second for a minute in requests of 10, whatever the answers take: how long a commit takes then. */
const burst = async (url: string): Promise<ResultRow> => {
  const seconds = Number(process.env['BENCH_BURST_SECONDS'] ?? sized(60, 1));
  const waiting: Promise<number>[] = [];
  const queue = chunks(cloudEvents(250 * seconds, 'burst'), 10);
  const start = performance.now();
  for (const [at, request] of queue.entries()) {
    const due = start + at * 40;
    const early = due - performance.now();
    if (early > 0) await new Promise((resolve) => void setTimeout(resolve, early));
    // Measured from when it was due: a slow answer must not make the next request start later and look fast.
    waiting.push(timed(async () => post(url, request)).then((ms) => ms + Math.max(0, -early)));
  }
  const took = await Promise.all(waiting);
  return {
    'events/s': 250,
    seconds,
    'p50, ms': rounded(percentile(took, 0.5), 1),
    'p99, ms': rounded(percentile(took, 0.99), 1),
    'longest, ms': rounded(Math.max(...took), 1),
  };
};

/** `POST /api/events` against the running app. */
export const httpBench = async (): Promise<void> => {
  const directory = await mkdtemp(path.join(tmpdir(), 'bench-'));
  const azurite = await startAzurite();
  const outfile = path.join(directory, 'main.cjs');
  await bundle({ outfile, debug: false });
  const app = await serve(outfile, { TABLES_CONNECTION_STRING: azurite.connectionString });
  try {
    for (const warm of chunks(cloudEvents(sized(2_000, 100), 'warm'), 100)) await post(app.url, warm);
    const rows: ResultRow[] = [];
    let single = 0;
    for (const [size, count] of [
      [1, sized(1_000, 10)],
      [100, sized(10_000, 100)],
      [1_000, sized(20_000, 1_000)],
    ] as const) {
      const queue = chunks(cloudEvents(count, `size${size}`), size);
      const took: number[] = [];
      const ms = await timed(async () =>
        Promise.all(
          Array.from({ length: 16 }, async () => {
            for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
              const request = next;
              took.push(await timed(async () => post(app.url, request)));
            }
          }),
        ),
      );
      const rate = (count / ms) * 1_000;
      if (size === 1) single = rate;
      rows.push({
        'events a request': size,
        'events/s': rounded(rate, 0),
        'against 1 a request': rounded(rate / single, 1),
        'request p50, ms': rounded(percentile(took, 0.5), 1),
        'request p99, ms': rounded(percentile(took, 0.99), 1),
      });
    }
    report(`POST /api/events, 16 clients, ${CAMERAS} cameras`, rows);
    report('A burst through HTTP, requests of 10', [await burst(app.url)]);
  } finally {
    await app.stop();
    await azurite.stop();
    await rm(directory, { recursive: true });
  }
};
