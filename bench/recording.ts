import pLimit from 'p-limit';

import type { EventMessage } from '../src/analytics/model/camera-event.ts';
import { dayOf, endOfDay } from '../src/analytics/model/day.ts';
import { shardPartition } from '../src/analytics/rows/keys.ts';
import type { RowWrite } from '../src/storage/row.ts';
import type { Table } from '../src/storage/table.ts';
import { countersOn, keptCountersOn } from './counters.ts';
import { percentile, report, type ResultRow, rounded, sized, timed } from './measure.ts';
import { moved } from './movement.ts';
import type { Stage } from './stage.ts';
import { dayStart, frames, requests } from './workload.ts';

const CAMERAS = 200;
const REQUEST = 100;
const ROUNDS = sized(25, 1);
const ROUND = sized(2_000, 100);
const DAY = dayOf(dayStart());
const PARTITION = shardPartition(DAY, 0);

/** Sends requests, one per producer at a time. @returns messages a second */
const produce = async (
  producers: number,
  messages: readonly EventMessage[],
  send: (request: readonly EventMessage[]) => Promise<unknown>,
): Promise<number> => {
  const ms = await timed(async () =>
    pLimit(producers).map(requests(messages, REQUEST), async (request) => {
      await send(request);
      moved();
    }),
  );
  return (messages.length / ms) * 1_000;
};

/** Writes the same transactions to another table and does nothing else: the most that the SDK and the emulator can do. Events a second. */
const replay = async (
  table: Table,
  transactions: readonly (readonly RowWrite[])[],
  etags: Map<string, string>,
): Promise<number> => {
  let events = 0;
  const ms = await timed(async () => {
    for (const writes of transactions) {
      const chained = writes.map((write): RowWrite =>
        write.kind === 'insert' || write.kind === 'delete' ? write : { ...write, etag: etags.get(write.rowKey) ?? '' },
      );
      const answered = await table.transact(PARTITION, chained);
      moved();
      for (const [at, write] of writes.entries()) {
        etags.set(write.rowKey, answered[at] ?? '');
        if (write.rowKey.startsWith('event|')) events += 1;
      }
    }
  });
  return (events / ms) * 1_000;
};

/**
 * Measures the rate of some producers, in turn with the bare SDK, so that other load on the machine hits both alike. Each round is
 * compared with its neighbor, and every second round begins with the bare SDK.
 */
const measured = async (connectionString: string, producers: number): Promise<ResultRow> => {
  const { recorder, reader } = countersOn(connectionString, `rec${producers}`);
  // Records the same frames in another table. The baseline replays its transactions.
  const model = keptCountersOn(connectionString, `mod${producers}`);
  const bare = countersOn(connectionString, `bare${producers}`).table;
  const etags = new Map<string, string>();
  const messages = frames({ cameras: CAMERAS, frames: ROUNDS * ROUND, step: 100_000n });
  const [own, most]: [number[], number[]] = [[], []];
  for (const [round, part] of requests(messages, ROUND).entries()) {
    await produce(producers, part, async (request) => model.recorder.record(request));
    const written = model.table.writes.splice(0).filter(({ partition }) => partition === PARTITION);
    const transactions = written.map(({ rows }) => rows);
    const recordNow = async (): Promise<unknown> =>
      own.push(await produce(producers, part, async (request) => recorder.record(request)));
    const replayNow = async (): Promise<unknown> => most.push(await replay(bare, transactions, etags));
    for (const measure of round % 2 === 0 ? [recordNow, replayNow] : [replayNow, recordNow]) await measure();
  }
  // A recorder that is fast and wrong is not fast.
  const { events } = (await reader.activity({ start: dayStart(), end: endOfDay(DAY) })).tally;
  if (events !== messages.length) throw new Error(`${events} events were counted of ${messages.length}`);
  const ratios = own.map((rate, round) => rate / (most[round] ?? Number.NaN));
  return {
    producers,
    'events/s': rounded(percentile(own, 0.5), 0),
    'bare SDK, events/s': rounded(percentile(most, 0.5), 0),
    'of the bare SDK': rounded(percentile(ratios, 0.5)),
  };
};

/** Recording into one shard, against the same transactions through the bare SDK. */
export const recordingBench = async (stage: Stage): Promise<void> => {
  const connectionString = await stage.azurite();
  // Warms up the code before anything is measured.
  const { recorder } = countersOn(connectionString, 'warm');
  const warm = frames({ cameras: CAMERAS, frames: sized(3_000, 100), step: 100_000n });
  await produce(16, warm, async (request) => recorder.record(request));
  const rows: ResultRow[] = [];
  for (const producers of [1, 8, 16]) rows.push(await measured(connectionString, producers));
  report(`Recording, ${CAMERAS} cameras, requests of ${REQUEST} frames, median of ${ROUNDS} rounds`, rows);
};
