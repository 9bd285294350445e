import { readFile } from 'node:fs/promises';

import pLimit from 'p-limit';

import { MICROSECONDS } from '../src/analytics/model/day.ts';
import { instantFrom } from '../src/analytics/model/instant.ts';
import { record, yesterday } from './client.ts';
import { report, type ResultRow, rounded, sized } from './measure.ts';
import type { Stage } from './stage.ts';
import { frames, requests } from './workload.ts';

/** More than an instance remembers: its 64 MiB have room for 60,000 to 110,000 frames, by how many have detections, and how many counter rows go with them. */
const FRAMES = sized(150_000, 500);
/** V8 takes half of the memory of a machine for its heap, up to 4 GB, and collects garbage the later, the more that is. */
const LIKE_2_GB = '--max-old-space-size=1024';
const CAMERAS = 200;
const REQUEST = 10;
const CLIENTS = 8;
const PARTS = sized(10, 1);

/** How much memory a process has now, and had at most, in MiB. @throws on systems without `/proc` */
const memoryOf = async (pid: number): Promise<{ readonly now: number; readonly most: number }> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const of = (name: string): number =>
    rounded(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1_024, 0);
  return { now: of('VmRSS'), most: of('VmHWM') };
};

/**
 * The memory of one instance of the release bundle while it records more frames than it can remember, ten a request. Linux only.
 *
 * @returns the most that its process had at any time, in MiB
 */
export const memoryBench = async (stage: Stage): Promise<number> => {
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
    rows.push({
      frames: ((part + 1) * FRAMES) / PARTS,
      'process, MiB': memory.now,
      'at most so far, MiB': memory.most,
    });
  }
  report(`Memory of an instance, ${CAMERAS} cameras, requests of ${REQUEST} frames`, rows);
  return most;
};
