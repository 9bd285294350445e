import { readFile } from 'node:fs/promises';

import pLimit from 'p-limit';

import { MICROSECONDS } from '../src/analytics/model/day.ts';
import { instantFrom } from '../src/analytics/model/instant.ts';
import { record, yesterday } from './client.ts';
import { demandAtMost, report, type ResultRow, rounded, sized } from './measure.ts';
import type { Stage } from './stage.ts';
import { frames, requests } from './workload.ts';

const FRAMES = sized(150_000, 500);
/** V8 takes half of a machine's memory for its heap, up to 4 GB. The more that is, the later it collects garbage. */
const LIKE_2_GB = '--max-old-space-size=1024';
const CAMERAS = 200;
const REQUEST = 10;
const CLIENTS = 8;
const PARTS = sized(10, 1);

/** The bound of the process, in MiB: an instance of 2,048 MB also has room for the Functions host (300 MB) and bodies of 4 MiB. */
const MAX_MIB = 429;

/** The current memory of a process, and the maximum since its start, in MiB. @throws on systems without `/proc` */
const memoryOf = async (pid: number): Promise<{ readonly now: number; readonly most: number }> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const of = (name: string): number =>
    rounded(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1_024, 0);
  return { now: of('VmRSS'), most: of('VmHWM') };
};

/** The memory of one instance of the release bundle while it records frames, ten a request. Linux only. */
export const memoryBench = async (stage: Stage): Promise<void> => {
  const { url, pid } = await stage.serve(await stage.azurite(), { NODE_OPTIONS: LIKE_2_GB });
  const step = MICROSECONDS.day / BigInt(FRAMES);
  const rows: ResultRow[] = [];
  let most = 0;
  for (let part = 0; part < PARTS; part += 1) {
    const start = instantFrom(yesterday() + BigInt(part) * (MICROSECONDS.day / BigInt(PARTS)));
    const some = frames({ cameras: CAMERAS, frames: FRAMES / PARTS, step, start, name: `part${part}` });
    await pLimit(CLIENTS).map(requests(some, REQUEST), async (request) => record(url, request));
    const memory = await memoryOf(pid);
    most = memory.most;
    rows.push({ frames: ((part + 1) * FRAMES) / PARTS, 'process, MiB': memory.now, 'at most so far, MiB': most });
  }
  report(`Memory of an instance, ${CAMERAS} cameras, requests of ${REQUEST} frames`, rows);
  demandAtMost(['The process, MiB', most, MAX_MIB]);
};
