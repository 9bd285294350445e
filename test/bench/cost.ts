import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { bundle } from '../../infra/bundle.ts';
import { startAzurite } from '../../infra/local/azurite.ts';
import { formatInstant, instantFrom, instantFromMilliseconds } from '../../src/analytics/model/instant.ts';
import { report, rounded, type ResultRow } from './measure.ts';
import { serve } from './serve.ts';
import { sized } from './size.ts';
import { cloudEventOf, frames, requests } from './workload.ts';

const CAMERAS = 200;
const HOUR = 3_600_000_000n;

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

/**
 * The CPU of the service, in the host that `npm start` uses: per event, by how many a request has, and per question. Linux only. One client, so
 * that nothing waits and each request is a commit of its own.
 */
export const costBench = async (): Promise<void> => {
  const directory = await mkdtemp(path.join(tmpdir(), 'bench-'));
  const azurite = await startAzurite();
  const outfile = path.join(directory, 'main.cjs');
  await bundle({ outfile, debug: false });
  const app = await serve(outfile, { TABLES_CONNECTION_STRING: azurite.connectionString }, { runsSchedules: false });
  const end = instantFromMilliseconds(Date.now() - 60_000);
  const start = instantFrom(end - 6n * HOUR);
  const cost = async (count: number, run: () => Promise<void>): Promise<number> => {
    const before = await cpuMs(app.pid);
    await run();
    return rounded(((await cpuMs(app.pid)) - before) / count, 3);
  };
  const record = async (name: string, count: number, size: number): Promise<void> => {
    const step = (6n * HOUR) / BigInt(count);
    for (const some of requests(frames({ cameras: CAMERAS, frames: count, step, start, name }), size)) {
      const body = JSON.stringify(some.map(cloudEventOf));
      const answer = await fetch(`${app.url}/api/events`, { method: 'POST', body });
      if (answer.status !== 200) throw new Error(`recording answered ${answer.status}`);
      await answer.arrayBuffer();
    }
  };
  const ask = async (question: string, count: number): Promise<void> => {
    for (let asked = 0; asked < count; asked += 1) {
      const answer = await fetch(`${app.url}/api/analytics${question}`);
      if (answer.status !== 200) throw new Error(`${question} answered ${answer.status}`);
      await answer.arrayBuffer();
    }
  };
  try {
    await record('warm', sized(4_000, 20), 10);
    const events: ResultRow[] = [];
    for (const [size, count] of [
      [1, sized(3_000, 5)],
      [10, sized(10_000, 20)],
      [500, sized(50_000, 500)],
    ] as const) {
      const ms = await cost(count, async () => record(`size${size}`, count, size));
      events.push({ 'events a request': size, 'CPU an event, ms': ms, 'CPU a request, ms': rounded(ms * size, 2) });
    }
    report(`CPU of the service for events, ${CAMERAS} cameras, one client`, events);
    const [from, to] = [start + 12_345_678n, end - 12_345_678n].map((at) =>
      encodeURIComponent(formatInstant(instantFrom(at))),
    );
    const range = `?ts_utc_start=${from}&ts_utc_end=${to}`;
    const questions: ResultRow[] = [];
    for (const [what, question] of [
      ['a day', '/day'],
      ['a ragged range of six hours', range],
      ['the same of one camera', `${range}&camera_id=camera-0007`],
      ['its series by hours', `/series${range}`],
      ['the cameras of a day', '/cameras'],
    ] as const) {
      await ask(question, sized(50, 1));
      const count = sized(500, 2);
      questions.push({ question: what, 'CPU, ms': await cost(count, async () => ask(question, count)) });
    }
    report('CPU of the service for questions', questions);
  } finally {
    await app.stop();
    await azurite.stop();
    await rm(directory, { recursive: true });
  }
};
