import { dayOf, MICROSECONDS } from '../src/analytics/model/day.ts';
import { instantFrom } from '../src/analytics/model/instant.ts';
import { ask, rangeQuery, record, yesterday } from './client.ts';
import { inTurn, percentile, ratio, report, type ResultRow, rounded, sized } from './measure.ts';
import type { Stage } from './stage.ts';
import { frames, requests } from './workload.ts';

const CAMERAS = sized(1_300, 20);
const EVENTS = sized(20_000, 200);
/** The 29 days before: each camera sends a frame a day. */
const EARLIER = sized(29, 2);
const ROUNDS = sized(60, 1);
const START = yesterday();

const WHOLE_DAY = rangeQuery(START, START + MICROSECONDS.day - 1n);
// Both ends inside a minute: every kind of row is read.
const RAGGED_DAY = rangeQuery(START + 12_345_678n, START + MICROSECONDS.day - 12_345_678n);
const BASELINE = `?${RAGGED_DAY}`;

const QUESTIONS: readonly (readonly [name: string, question: string, rounds?: number])[] = [
  ['the day, ragged', BASELINE],
  ['series by hour', `/series?${WHOLE_DAY}&step=hour`],
  ['series by hour, ragged', `/series?${RAGGED_DAY}&step=hour`],
  ['series by minute', `/series?${WHOLE_DAY}&step=minute`],
  ['series by minute of a camera', `/series?${WHOLE_DAY}&step=minute&camera_id=camera-0007`],
  ['busiest cameras', `/cameras?date=${dayOf(START)}`],
  ['all cameras of 30 days', `/cameras?date=${dayOf(START)}&days=30&limit=5000`, sized(6, 1)],
];

/** `GET /api/analytics/series` and `/cameras` for a day of 1,300 cameras, against the day's ragged range, over HTTP. */
export const seriesBench = async (stage: Stage): Promise<void> => {
  const events = Number(process.env['BENCH_EVENTS'] ?? EVENTS);
  const azurite = await stage.azurite();
  const proxy = await stage.proxy(azurite);
  const app = await stage.serve(azurite);
  // Answers the same over a proxy that counts its requests to storage: a proxy takes time, so it is not timed.
  const counted = await stage.serve(proxy.connectionString);
  const storageRequests = (): number => proxy.carriedOut.length;
  const all = frames({ cameras: CAMERAS, frames: events, step: MICROSECONDS.day / BigInt(events), start: START });
  const earlier = frames({
    cameras: CAMERAS,
    frames: CAMERAS * EARLIER,
    step: MICROSECONDS.day / BigInt(CAMERAS),
    start: instantFrom(START - BigInt(EARLIER) * MICROSECONDS.day),
  });
  for (const some of requests([...all, ...earlier], 2_000)) await record(app.url, some);
  const rows: ResultRow[] = [];
  for (const [name, question, rounds = ROUNDS] of QUESTIONS) {
    const asked = async (): Promise<unknown> => ask(`${app.url}/api/analytics${question}`);
    const baseline = async (): Promise<unknown> => ask(`${app.url}/api/analytics${BASELINE}`);
    await inTurn(Math.ceil(rounds / 6), asked, baseline);
    const [took = [], baselineTook = []] = await inTurn(rounds, asked, baseline);
    const path = `${counted.url}/api/analytics${question}`;
    // What an instance learns of a day it learns once.
    await ask(path);
    const before = storageRequests();
    const { bytes, tag } = await ask(path);
    const between = storageRequests();
    const again = await ask(path, { headers: { 'if-none-match': tag } }, 304);
    rows.push({
      question: name,
      'p50, ms': rounded(percentile(took, 0.5), 1),
      'p95, ms': rounded(percentile(took, 0.95), 1),
      'p50 against the ragged day': ratio(took, baselineTook),
      'storage requests': between - before,
      'of a 304': storageRequests() - between,
      bytes,
      'bytes of a 304': again.bytes,
    });
  }
  report(`Series and cameras of a day of ${CAMERAS} cameras and ${events} frames, over HTTP`, rows);
};
