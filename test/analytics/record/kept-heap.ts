/**
 * `node --expose-gc --import tsx kept-heap.ts CONNECTION TABLE`: fills the memory of rows in several ways, and prints as JSON how many bytes of heap
 * each way took, by how many bytes the memory counted for it.
 */
import { setTimeout } from 'node:timers/promises';

import { TableClient } from '@azure/data-tables';

import { dayOf, MICROSECONDS } from '../../../src/analytics/model/day.ts';
import { formatInstant, instantFrom, instantFromMilliseconds } from '../../../src/analytics/model/instant.ts';
import { keyed, type KeyedMessage } from '../../../src/analytics/record/batch.ts';
import { planCommit } from '../../../src/analytics/record/commit-plan.ts';
import { CommitSlots, ShardCommitter } from '../../../src/analytics/record/committer.ts';
import { type KnownRow, KnownRows, KnownRowsOfShard } from '../../../src/analytics/record/known-rows.ts';
import { ShardWriter } from '../../../src/analytics/record/shard-writer.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { shardPartition } from '../../../src/analytics/rows/keys.ts';
import { parseCameraEvent } from '../../../src/http/event-message.ts';
import type { Log } from '../../../src/log.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import { Table } from '../../../src/storage/table.ts';
import { dayStart } from '../../../bench/workload.ts';
import { cloudEvent } from '../../http/cloud-event.ts';

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const CATEGORIES = ['smoke', 'fire', 'structure', 'fog', 'dust', 'vehicle', 'person', 'animal'];

/** Counts of so many categories. */
const named = (count: number): Readonly<Record<string, number>> =>
  Object.fromEntries(CATEGORIES.slice(0, count).map((category) => [category, 1]));

/** A stream of frames. */
interface Stream {
  readonly cameras: number;
  /** A day. */
  readonly frames: number;
  /** Microseconds between two of them. */
  readonly step: number;
  readonly days: number;
  /** Categories that each frame has. */
  readonly detections?: number;
  /** Categories that each is annotated with; then it is reviewed as well. */
  readonly annotations?: number;
  /** What every id ends with. */
  readonly ending?: string;
}

/** The frames of one day, each as it comes out of the body of a request. */
const framesOf = (day: number, { cameras, frames, step, ...more }: Stream): readonly KeyedMessage[] =>
  Array.from({ length: frames }, (_, at) => {
    const { detections = 1, annotations, ending = '' } = more;
    const time = formatInstant(instantFrom(dayStart() - BigInt(day) * MICROSECONDS.day + BigInt(at * step)));
    const data = {
      event_id: `frame-${at}${ending}`,
      camera_id: `camera-${at % cameras}${ending}`,
      ts_utc: time,
      detections: named(detections),
      ...(annotations !== undefined && { reviewed: true, annotations: named(annotations) }),
    };
    const body: unknown = JSON.parse(JSON.stringify(cloudEvent({ time, data })));
    const parsed = parseCameraEvent(body, instantFromMilliseconds(Date.now()));
    if (!('message' in parsed)) throw new Error(JSON.stringify(parsed));
    return keyed(parsed.message);
  });

const partitionOf = ([frame]: readonly KeyedMessage[]): string =>
  shardPartition(dayOf(frame?.message.ts ?? dayStart()), 0);

/** Keeps the rows of one kind that a stream of frames leaves. */
const keepRows = (known: KnownRows, kind: KnownRow['kind'], stream: Stream): void => {
  let etag = 0;
  for (let day = 0; day < stream.days; day += 1) {
    const frames = framesOf(day, stream);
    const partition = partitionOf(frames);
    const rows = new Map<string, KnownRow>();
    const snapshot = { partition, stripe: 0, rows, fence: undefined, elsewhere: new Map() };
    for (let at = 0; at < frames.length; at += 30) {
      const plan = planCommit(snapshot, frames.slice(at, at + 30));
      // What is sent is one text.
      JSON.stringify(plan.writes);
      for (const [key, row] of plan.rows) {
        rows.set(key, { ...row, etag: `W/"datetime'2026-11-22T21%3A32%3A${String((etag += 1)).padStart(10, '0')}Z'"` });
      }
    }
    const ofShard = new KnownRowsOfShard(known);
    for (const [key, row] of rows) if (row.kind === kind) ofShard.keep(key, row);
  }
};

const [connection = '', name = ''] = process.argv.slice(2);

/** Records a stream on Azurite, so many frames a transaction, each day beside the others. */
const recordFrames = async (known: KnownRows, size: number, stream: Stream): Promise<void> => {
  const client = TableClient.fromConnectionString(connection, `${name}${size}`, { allowInsecureConnection: true });
  const table = new Table(new AzureTable(() => client), { format: FORMAT, deadlineMs: 60_000 });
  const manifests = new DayShards(table, 1, SILENT);
  const recordDay = async (_: unknown, index: number): Promise<void> => {
    const frames = framesOf(index, stream);
    const partition = partitionOf(frames);
    const day = dayOf(frames[0]?.message.ts ?? dayStart());
    const manifest = await manifests.claim(day);
    const shard = { table, day, manifest, manifests, partition, known: new KnownRowsOfShard(known) };
    const committer = new ShardCommitter(new ShardWriter({ ...shard, knownCategories: new Set() }), new CommitSlots());
    for (let at = 0; at < frames.length; at += size) {
      await Promise.all(frames.slice(at, at + size).map(async ({ message }) => committer.submit(message)));
    }
  };
  await Promise.all(Array.from({ length: stream.days }, recordDay));
};

/** Bytes on the heap and in buffers, without garbage. */
const heapBytes = async (): Promise<number> => {
  let [before, bytes] = [Number.NaN, Number.NaN];
  for (let tries = 0; tries < 20 && !(Math.abs(before - bytes) < 10_000); tries += 1) {
    await setTimeout(10);
    globalThis.gc?.();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    [before, bytes] = [bytes, heapUsed + arrayBuffers];
  }
  return bytes;
};

const measured = async (fill: (known: KnownRows) => Promise<void> | void): Promise<number> => {
  const known = new KnownRows();
  const before = await heapBytes();
  await fill(known);
  return ((await heapBytes()) - before) / known.bytes;
};

const SECONDS: Stream = { cameras: 20, frames: 3_000, step: 1_000_000, days: 1 };
const MINUTES: Stream = { ...SECONDS, frames: 720, step: 120_000_000 };
/** Spread over the day, so that there are rows of all kinds. */
const DAYS: Stream = { ...SECONDS, frames: 120, step: 600_000_000, days: 3 };
const WAYS: Readonly<Record<string, (known: KnownRows) => Promise<void> | void>> = {
  // The smallest rows, and many of them: what the requests before leave to the collector is little beside them.
  'events without detections': (known) => keepRows(known, 'event', { ...SECONDS, frames: 5_000, detections: 0 }),
  'events with eight categories': (known) => keepRows(known, 'event', { ...SECONDS, detections: 8 }),
  'events with reviews': (known) => keepRows(known, 'event', { ...SECONDS, annotations: 2 }),
  'events with ids of wide characters': (known) => keepRows(known, 'event', { ...SECONDS, ending: '語'.repeat(110) }),
  'cameras in one hour': (known) => keepRows(known, 'camera', { ...SECONDS, cameras: 1_000 }),
  'cameras in every hour': (known) => keepRows(known, 'camera', { ...MINUTES, cameras: 30, detections: 3 }),
  'half minutes with a frame': (known) => keepRows(known, 'samples', MINUTES),
  'half minutes with many frames': (known) => keepRows(known, 'samples', { ...SECONDS, frames: 1_500 }),
  'hours with all minutes': (known) => keepRows(known, 'buckets', MINUTES),
  'a total with many cameras': (known) =>
    keepRows(known, 'total', { ...SECONDS, cameras: 2_000, frames: 2_000, days: 2 }),
  'frames, ten a request': async (known) => recordFrames(known, 10, { ...DAYS, frames: 240, step: 300_000_000 }),
  // Last: everything is compiled by now.
  'frames, one a request': async (known) => recordFrames(known, 1, DAYS),
};

// What is compiled, and what is made once, is no row.
keepRows(new KnownRows(), 'event', { ...SECONDS, annotations: 2 });
await recordFrames(new KnownRows(), 2, DAYS);
const ratios: Record<string, number> = {};
for (const [way, fill] of Object.entries(WAYS)) ratios[way] = await measured(fill);
console.log(JSON.stringify(ratios));
