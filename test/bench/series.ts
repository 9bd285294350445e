import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { bundle } from '../../infra/bundle.ts';
import { startAzurite } from '../../infra/local/azurite.ts';
import { dayOf, MICROSECONDS, startOfDay } from '../../src/analytics/model/day.ts';
import { formatInstant, instantFrom, instantFromMilliseconds } from '../../src/analytics/model/instant.ts';
import { Between } from '../harness/between.ts';
import { inTurn, percentile, report, rounded, type ResultRow } from './measure.ts';
import { sized } from './size.ts';
import { serve } from './serve.ts';
import { cloudEventOf, frames, requests } from './workload.ts';

const CAMERAS = sized(1_300, 20);
const EVENTS = sized(20_000, 200);
const ROUNDS = sized(60, 1);

/** Yesterday: its frames lie all in the past. */
const START = startOfDay(dayOf(instantFrom(instantFromMilliseconds(Date.now()) - MICROSECONDS.day)));
const DAY = dayOf(START);

const range = (start: bigint, end: bigint): string =>
  new URLSearchParams({
    ts_utc_start: formatInstant(instantFrom(START + start)),
    ts_utc_end: formatInstant(instantFrom(START + end)),
  }).toString();

const WHOLE_DAY = range(0n, MICROSECONDS.day - 1n);
// Both ends inside a minute: every kind of row is read.
const RAGGED_DAY = range(12_345_678n, MICROSECONDS.day - 12_345_678n);

const QUESTIONS = [
  { name: 'the day, ragged', path: `/api/analytics?${RAGGED_DAY}` },
  { name: 'series by hour', path: `/api/analytics/series?${WHOLE_DAY}&step=hour` },
  { name: 'series by hour, ragged', path: `/api/analytics/series?${RAGGED_DAY}&step=hour` },
  { name: 'series by minute', path: `/api/analytics/series?${WHOLE_DAY}&step=minute` },
  {
    name: 'series by minute of a camera',
    path: `/api/analytics/series?${WHOLE_DAY}&step=minute&camera_id=camera-0007`,
  },
  { name: 'busiest cameras', path: `/api/analytics/cameras?date=${DAY}` },
] as const;

/** An answer's size in bytes and its tag; waits for the whole body. */
const ask = async (url: string, tag?: string): Promise<{ status: number; bytes: number; tag: string }> => {
  const answer = await fetch(url, { headers: tag === undefined ? {} : { 'if-none-match': tag } });
  const body = await answer.arrayBuffer();
  if (answer.status !== 200 && answer.status !== 304) throw new Error(`${url} answered ${answer.status}`);
  return { status: answer.status, bytes: body.byteLength, tag: answer.headers.get('etag') ?? '' };
};

/** `GET /api/analytics/series` and `/cameras` for a day of 1,300 cameras, against the day's ragged range, over HTTP. */
export const seriesBench = async (): Promise<void> => {
  const events = Number(process.env['BENCH_EVENTS'] ?? EVENTS);
  const directory = await mkdtemp(path.join(tmpdir(), 'bench-'));
  const outfile = path.join(directory, 'main.cjs');
  await bundle({ outfile, debug: false });
  const azurite = await startAzurite();
  const proxy = await Between.start(azurite.connectionString);
  const app = await serve(outfile, { TABLES_CONNECTION_STRING: azurite.connectionString }, { runsSchedules: false });
  // Answers the same over a proxy that counts its requests to storage: a proxy takes time, so it is not timed.
  const counted = await serve(outfile, { TABLES_CONNECTION_STRING: proxy.connectionString }, { runsSchedules: false });
  const storageRequests = (): number => proxy.carriedOut.length;
  try {
    const all = frames({ cameras: CAMERAS, frames: events, step: MICROSECONDS.day / BigInt(events), start: START });
    for (const part of requests(all, 2_000)) {
      const body = JSON.stringify(part.map(cloudEventOf));
      const answer = await fetch(`${app.url}/api/events`, { method: 'POST', body });
      if (answer.status !== 200) throw new Error(`recording answered ${answer.status}: ${await answer.text()}`);
    }
    const rows: ResultRow[] = [];
    for (const { name, path: question } of QUESTIONS) {
      const baseline = async (): Promise<unknown> => ask(`${app.url}${QUESTIONS[0].path}`);
      const asked = async (): Promise<unknown> => ask(`${app.url}${question}`);
      await inTurn(10, asked, baseline);
      const { left, right } = await inTurn(ROUNDS, asked, baseline);
      // What an instance learns of a day it learns once.
      await ask(`${counted.url}${question}`);
      const before = storageRequests();
      const { bytes, tag } = await ask(`${counted.url}${question}`);
      const between = storageRequests();
      const again = await ask(`${counted.url}${question}`, tag);
      if (again.status !== 304) throw new Error(`${question} answered its own tag with ${again.status}`);
      rows.push({
        question: name,
        'p50, ms': rounded(percentile(left, 0.5), 1),
        'p95, ms': rounded(percentile(left, 0.95), 1),
        'p50 against the ragged day': rounded(percentile(left, 0.5) / percentile(right, 0.5)),
        'storage requests': between - before,
        'of a 304': storageRequests() - between,
        bytes,
        'bytes of a 304': again.bytes,
      });
    }
    report(`Series and cameras of a day of ${CAMERAS} cameras and ${events} frames, over HTTP`, rows);
  } finally {
    await app.stop();
    await counted.stop();
    await proxy.stop();
    await azurite.stop();
    await rm(directory, { recursive: true, force: true });
  }
};
