import pLimit from 'p-limit';

import type { EventMessage } from '../src/analytics/model/camera-event.ts';
import { evenly, record, yesterday } from './client.ts';
import { latencies, report, type ResultRow, rounded, sized, timed } from './measure.ts';
import type { Stage } from './stage.ts';
import { frames, requests } from './workload.ts';

const CAMERAS = 200;
const CLIENTS = 16;
const BURST_A_SECOND = 250;
const BURST_REQUEST = 10;

const inRequests = (count: number, size: number, name: string): (readonly EventMessage[])[] =>
  requests(frames({ cameras: CAMERAS, frames: count, step: 40_000n, start: yesterday(), name }), size);

/** `POST /api/events` against the running app. */
export const httpBench = async (stage: Stage): Promise<void> => {
  const { url } = await stage.serve(await stage.azurite());
  for (const warm of inRequests(sized(2_000, 100), 100, 'warm')) await record(url, warm);
  const rows: ResultRow[] = [];
  let single = 0;
  for (const [size, count] of [
    [1, sized(1_000, 10)],
    [100, sized(10_000, 100)],
    [1_000, sized(20_000, 1_000)],
  ] as const) {
    const took: number[] = [];
    const send = async (some: readonly EventMessage[]) => took.push(await timed(async () => record(url, some)));
    const ms = await timed(async () => pLimit(CLIENTS).map(inRequests(count, size, `size${size}`), send));
    const rate = (count / ms) * 1_000;
    if (size === 1) single = rate;
    rows.push({
      'events a request': size,
      'events/s': rounded(rate, 0),
      'against 1 a request': rounded(rate / single, 1),
      ...latencies(took),
    });
  }
  report(`POST /api/events, ${CLIENTS} clients, ${CAMERAS} cameras`, rows);

  const seconds = sized(60, 1);
  const burst = inRequests(BURST_A_SECOND * seconds, BURST_REQUEST, 'burst');
  const took = await evenly(burst.length, seconds, async (index) => record(url, burst[index] ?? []));
  report(`${BURST_A_SECOND} events/s for ${seconds} s, requests of ${BURST_REQUEST}, whatever the answers take`, [
    latencies(took),
  ]);
};
