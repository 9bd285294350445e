import pLimit from 'p-limit';

import { piecesOf, type DayPiece, type Period } from '../model/period.ts';
import { shardOf } from '../model/shard.ts';
import { sumOf, type Tally } from '../model/tally.ts';
import type { DayShards } from '../rows/day-shards.ts';
import { shardPartition } from '../rows/keys.ts';
import type { CounterTable } from '../rows/table.ts';
import { ShardReader, type ShardActivity } from './shard-reader.ts';
import { StripedShards, type Bounded, type ReadingSource } from './shard-reading.ts';

/** What happened in a period. */
export interface Activity {
  readonly tally: Tally;
  /** The distinct cameras that sent events, ids ascending. */
  readonly activeCameras: readonly string[];
}

const PARALLEL_READS = 24;

/** How a reader works. */
export type ReaderOptions = Pick<ReadingSource, 'checksCommits'>;

/** Answers what happened in a period: the sum over its disjoint pieces and their shards, each event in exactly one of them. */
export class Reader {
  readonly #table: CounterTable;
  readonly #shards: DayShards;
  readonly #options: ReaderOptions;
  readonly #striped = new StripedShards();

  constructor(table: CounterTable, shards: DayShards, options: ReaderOptions = {}) {
    this.#table = table;
    this.#shards = shards;
    this.#options = options;
  }

  /** What happened in a period, of all cameras or one. @throws {StorageTrouble | DamagedRow} */
  async activity(period: Period, cameraId?: string): Promise<Activity> {
    const read: Bounded = pLimit(PARALLEL_READS);
    const pieces = await Promise.all(piecesOf(period).map(async (piece) => this.#readPiece(read, piece, cameraId)));
    const shards = pieces.flat();
    const active = new Set<string>();
    for (const { cameras } of shards) for (const id of cameras) active.add(id);
    return { tally: sumOf(shards.map(({ tally }) => tally)), activeCameras: [...active].sort() };
  }

  async #readPiece(read: Bounded, piece: DayPiece, cameraId?: string): Promise<readonly ShardActivity[]> {
    const shards = await read(async () => this.#shards.find(piece.day));
    if (shards === undefined) return [];
    const readerOf = (shard: number): ShardReader =>
      new ShardReader({
        ...this.#options,
        table: this.#table,
        partition: shardPartition(piece.day, shard),
        read,
        striped: this.#striped,
      });
    if (cameraId !== undefined) return [await readerOf(shardOf(cameraId, shards)).pieceOfCamera(piece, cameraId)];
    return Promise.all(Array.from({ length: shards }, async (_, shard) => readerOf(shard).piece(piece)));
  }
}
