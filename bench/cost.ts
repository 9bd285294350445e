import { readFile } from 'node:fs/promises';

import { MICROSECONDS } from '../src/analytics/model/day.ts';
import { instantFrom, instantFromMilliseconds } from '../src/analytics/model/instant.ts';
import type { PassingRequest } from '../test/harness/between.ts';
import { ask, rangeQuery, record } from './client.ts';
import { report, type ResultRow, rounded, sized } from './measure.ts';
import type { Stage } from './stage.ts';
import { frames, requests } from './workload.ts';

const CAMERAS = 200;
const LENGTH = 6n * MICROSECONDS.hour;

/** How long a process had a processor so far, in milliseconds. @throws on systems without `/proc` */
const cpuMs = async (pid: number): Promise<number> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // User and system time are fields 14 and 15 of proc(5), in clock ticks of 10 ms. The name before them may have spaces.
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return 10 * (Number(user) + Number(system));
};

/** How many rows a request writes: a transaction has a request of HTTP for each. */
const rowsOf = ({ method, path, body }: PassingRequest): number => {
  if (path.includes('$batch')) return body.match(/^(?:POST|PUT|PATCH|MERGE|DELETE) http/gm)?.length ?? 0;
  return method === 'GET' ? 0 : 1;
};

/**
 * The CPU of the service, in the host that `npm start` uses, and what storage is asked for: per event, by how many a request has, and per question.
 * Linux only. One client, so that nothing waits and each request is a commit of its own.
 */
export const costBench = async (stage: Stage): Promise<void> => {
  const storage = { requests: 0, rows: 0 };
  const proxy = await stage.proxy(await stage.azurite(), async (request, carryOut) => {
    storage.requests += 1;
    storage.rows += rowsOf(request);
    return carryOut();
  });
  const { url, pid } = await stage.serve(proxy.connectionString);
  const end = instantFromMilliseconds(Date.now() - 60_000);
  const start = instantFrom(end - LENGTH);
  const cost = async (count: number, run: () => Promise<void>): Promise<number> => {
    const before = await cpuMs(pid);
    await run();
    return rounded(((await cpuMs(pid)) - before) / count, 3);
  };
  const recordAll = async (name: string, count: number, size: number): Promise<void> => {
    const all = frames({ cameras: CAMERAS, frames: count, step: LENGTH / BigInt(count), start, name });
    for (const some of requests(all, size)) await record(url, some);
  };
  const askOften = async (question: string, count: number): Promise<void> => {
    for (let asked = 0; asked < count; asked += 1) await ask(`${url}/api/analytics${question}`);
  };
  await recordAll('warm', sized(4_000, 20), 10);
  const events: ResultRow[] = [];
  for (const [size, count] of [
    [1, sized(3_000, 5)],
    [10, sized(10_000, 20)],
    [500, sized(50_000, 500)],
  ] as const) {
    const before = { ...storage };
    const ms = await cost(count, async () => recordAll(`size${size}`, count, size));
    events.push({
      'events a request': size,
      'CPU an event, ms': ms,
      'CPU a request, ms': rounded(ms * size, 2),
      'rows written an event': rounded((storage.rows - before.rows) / count),
      'table transactions an event': rounded((storage.requests - before.requests) / count, 3),
    });
  }
  report(`Cost of events, ${CAMERAS} cameras, one client`, events);
  const range = `?${rangeQuery(start + 12_345_678n, end - 12_345_678n)}`;
  const questions: ResultRow[] = [];
  for (const [what, question] of [
    ['a day', '/day'],
    ['a ragged range of six hours', range],
    ['the same of one camera', `${range}&camera_id=camera-0007`],
    ['its series by hours', `/series${range}`],
    ['the cameras of a day', '/cameras'],
  ] as const) {
    await askOften(question, sized(50, 1));
    const count = sized(500, 2);
    questions.push({ question: what, 'CPU, ms': await cost(count, async () => askOften(question, count)) });
  }
  report('CPU of the service for questions', questions);
};
