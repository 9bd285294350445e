import pLimit from 'p-limit';
import { z } from 'zod';

import type { EventMessage } from '../src/analytics/model/camera-event.ts';
import { dayOf, endOfDay } from '../src/analytics/model/day.ts';
import { shardPartition } from '../src/analytics/rows/keys.ts';
import { WriteConflict } from '../src/storage/errors.ts';
import { type Properties, type RowWrite, writeOf } from '../src/storage/row.ts';
import type { Table } from '../src/storage/table.ts';
import { countersOn, keptCountersOn } from './counters.ts';
import { percentile, report, type ResultRow, rounded, sized, timed } from './measure.ts';
import type { Stage } from './stage.ts';
import { dayStart, frames, requests } from './workload.ts';

const CAMERAS = 200;
const REQUEST = 100;
const ROUNDS = sized(9, 1);
const ROUND = sized(2_000, 100);
const NAIVE = sized(60, 2);
const PARTITION = shardPartition(dayOf(dayStart()), 0);

/** Sends requests of so many messages, so many at once; messages a second. */
const produce = async (
  producers: number,
  messages: readonly EventMessage[],
  size: number,
  send: (request: readonly EventMessage[]) => Promise<unknown>,
): Promise<number> => {
  const ms = await timed(async () => pLimit(producers).map(requests(messages, size), send));
  return (messages.length / ms) * 1_000;
};

const countsOf = (properties: Properties | undefined): Map<string, number> =>
  new Map(
    Object.entries(
      z.record(z.string(), z.number()).parse(JSON.parse(z.string().default('{}').parse(properties?.['counts']))),
    ),
  );

/**
 * The counting that comes to mind first: one transaction an event, which reads three rows, the event's, the day's and the camera's, adds
 * to two of them, and starts again after a conflict. It answers whole days only.
 */
const naively = async (table: Table, { eventId, cameraId, facets }: EventMessage): Promise<void> => {
  const keys = [`event|${cameraId}|${eventId}`, `camera|${cameraId}`, 'total'] as const;
  for (;;) {
    const [event, ...counters] = await Promise.all(keys.map(async (key) => table.get(PARTITION, key)));
    if (event !== undefined) return;
    const writes = counters.map((row, index) => {
      const counts = countsOf(row?.properties);
      const add = (name: string, count: number): void => void counts.set(name, (counts.get(name) ?? 0) + count);
      add('events', 1);
      for (const [category, count] of facets.detections?.value ?? []) add(category, count);
      return writeOf(keys[index + 1] ?? '', row?.etag, { counts: JSON.stringify(Object.fromEntries(counts)) });
    });
    const detections = JSON.stringify(Object.fromEntries(facets.detections?.value ?? []));
    try {
      await table.transact(PARTITION, [writeOf(keys[0], undefined, { detections }), ...writes]);
      return;
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
    }
  }
};

/** Writes the same transactions to another table and does nothing else: the most that the SDK and the emulator can do. */
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
      for (const [at, write] of writes.entries()) {
        etags.set(write.rowKey, answered[at] ?? '');
        if (write.rowKey.startsWith('event|')) events += 1;
      }
    }
  });
  return (events / ms) * 1_000;
};

/** How fast so many producers record, in turn with the ceiling and the naive counting, so that other load hits all three alike. */
const measured = async (connectionString: string, producers: number): Promise<ResultRow> => {
  const { recorder, reader } = countersOn(connectionString, `rec${producers}`);
  // Records the same in a table of its own; the transactions that it writes are replayed for the ceiling.
  const model = keptCountersOn(connectionString, `mod${producers}`);
  const ceiling = countersOn(connectionString, `cei${producers}`).table;
  const naive = countersOn(connectionString, `nai${producers}`).table;
  const etags = new Map<string, string>();
  const messages = frames({ cameras: CAMERAS, frames: ROUNDS * ROUND, step: 100_000n });
  const rates: Record<'recorder' | 'ceiling' | 'naive', number[]> = { recorder: [], ceiling: [], naive: [] };
  for (const part of requests(messages, ROUND)) {
    await produce(producers, part, REQUEST, async (request) => model.recorder.record(request));
    rates.recorder.push(await produce(producers, part, REQUEST, async (request) => recorder.record(request)));
    const kept = model.table.writes.splice(0).filter(({ partition }) => partition === PARTITION);
    const written = kept.map(({ rows }) => rows);
    rates.ceiling.push(await replay(ceiling, written, etags));
    const few = part.slice(0, NAIVE);
    rates.naive.push(
      await produce(producers, few, 1, async (request) => {
        for (const message of request) await naively(naive, message);
      }),
    );
  }
  // A recorder that is fast and wrong is not fast.
  const { tally } = await reader.activity({ start: dayStart(), end: endOfDay(dayOf(dayStart())) });
  const [own = 0, most = 0, simple = 0] = [rates.recorder, rates.ceiling, rates.naive].map((rate) =>
    percentile(rate, 0.5),
  );
  return {
    producers,
    'recorder, events/s': rounded(own, 0),
    'naive, events/s': rounded(simple, 0),
    'times naive': rounded(own / simple, 1),
    'ceiling, events/s': rounded(most, 0),
    'of ceiling': rounded(own / most),
    'events counted': tally.events,
    'events sent': messages.length,
  };
};

/** Recording: against one transaction an event, and against the bare transactions. */
export const recordingBench = async (stage: Stage): Promise<void> => {
  const connectionString = await stage.azurite();
  // Warms up the code before anything is measured.
  const { recorder } = countersOn(connectionString, 'warm');
  const warm = frames({ cameras: CAMERAS, frames: sized(3_000, 100), step: 100_000n });
  await produce(16, warm, REQUEST, async (request) => recorder.record(request));
  const rows: ResultRow[] = [];
  for (const producers of [1, 8, 16]) rows.push(await measured(connectionString, producers));
  report(`Recording, ${CAMERAS} cameras, requests of ${REQUEST} frames, median of ${ROUNDS} rounds`, rows);
};
