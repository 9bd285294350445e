import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { Recorder } from '../../../src/analytics/record/recorder.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { dayPartition, SHARDS_KEY, shardPartition } from '../../../src/analytics/rows/keys.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import type { StoredRow } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import type { MemoryTable } from '../../storage/memory-table.ts';
import { toEventMessage } from '../event-message.ts';
import { DAY, type PlainMessage } from '../oracle.ts';

// A day of three shards with several stripes and an overflowed second, in memory, and its closing.

/** The first microsecond of the day, 2026-11-21, and its eighth hour. */
export const START = 20_778n * DAY;
export const SECOND = 1_000_000n;
export const EIGHT = START + 8n * 3_600n * SECOND;
export const day = dayOf(instantFrom(START));
export const SHARDS = 3;
export const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
/** The partitions of its shards. */
export const partitions = Array.from({ length: SHARDS }, (_, shard) => shardPartition(day, shard));

/** With so many large counts a second overflows at about fifty frames. */
const MANY = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`c${index}`, 9_000 + index]));

/** 80 frames of a camera in the second from 08:15:30, and some before and after it in the same minute; 130 in other minutes. */
export const MESSAGES: readonly PlainMessage[] = [
  ...Array.from({ length: 100 }, (_, index) => ({
    cameraId: 'crowded',
    eventId: `f${index}`,
    ts: EIGHT + 15n * 60n * SECOND + 29_875_000n + BigInt(index) * 12_500n,
    time: START,
    detections: MANY,
    annotations: MANY,
  })),
  ...Array.from({ length: 130 }, (_, index) => ({
    cameraId: `ridge-${index % 2}`,
    eventId: `g${index}`,
    ts: EIGHT + BigInt(index) * 25n * SECOND,
    time: START,
    detections: { smoke: 1 },
  })),
];
/** Reviews of some of them. */
export const EDITS = MESSAGES.flatMap((message, index): readonly PlainMessage[] =>
  index % 7 === 0 ? [{ ...message, time: START + 1n, reviewed: true }] : [],
);

/** A table of a storage, as one process has it. */
export const tableOn = (storage: MemoryTable): Table => new Table(storage, { format: FORMAT });

/** A row as it is stored. */
export const rowIn = (storage: MemoryTable, partition: string, rowKey: string): StoredRow | undefined =>
  storage.rows(partition).find((row) => row.rowKey === rowKey);

/** An instance that records into a storage. */
export const processOn = (storage: MemoryTable): Recorder => {
  const table = tableOn(storage);
  return new Recorder(table, new DayShards(table, SHARDS), SILENT, { pause: async () => undefined });
};

/** A day of two instances in turn, and so of two stripes. */
export const recordDay = async (storage: MemoryTable): Promise<readonly Recorder[]> => {
  const processes = [processOn(storage), processOn(storage)];
  for (const messages of [MESSAGES.slice(0, 60), MESSAGES.slice(60), EDITS]) {
    for (const [index, process] of processes.entries()) {
      await process.record(messages.filter((_, at) => at % 2 === index).map(toEventMessage));
    }
  }
  return processes;
};

/** A run that announces the closing of the day in its manifest, or after that deletes its event rows. */
export const closeOn = async (table: Table): Promise<void> =>
  closeDays(
    {
      table,
      shards: new DayShards(table, SHARDS),
      retentionDays: 1,
      now: () => LONG_AFTER,
      pause: async () => undefined,
    },
    SILENT,
  );

/** Long after any moment at which a day is closed here. */
export const LONG_AFTER = instantFrom(START + 30_000n * DAY);

/** The day closed a moment ago. */
export const announceOn = async (storage: MemoryTable): Promise<void> => {
  const properties = { closes: '2026-01-01T00:00:00.000000Z' };
  await storage.transact(dayPartition(day), [{ kind: 'merge', rowKey: SHARDS_KEY, etag: '*', properties }]);
};
