import pLimit from 'p-limit';

import { shardOf, type DayShards } from '../rows/day-shards.ts';
import { shardPartition } from '../rows/keys.ts';
import { piecesOf, type DayPiece, type Period } from '../model/period.ts';
import { ShardReader, type Bounded, type Part } from './shard-reader.ts';
import type { CounterTable } from '../rows/table.ts';
import { sumOf, type Tally } from '../model/tally.ts';

/** What happened in a period. */
export interface Activity {
  readonly tally: Tally;
  /** The distinct cameras that sent events, ids ascending. */
  readonly activeCameras: readonly string[];
}

const PARALLEL_READS = 24;

/**
 * Answers what happened in a period, by adding disjoint pieces, each event in exactly one of them: a piece is what one shard
 * has of one day. Reads run in parallel, so many at a time.
 */
export class Reader {
  readonly #table: CounterTable;
  readonly #shards: DayShards;

  constructor(table: CounterTable, shards: DayShards) {
    this.#table = table;
    this.#shards = shards;
  }

  /**
   * What happened in a period, with all cameras or one.
   *
   * @throws {StorageTrouble} where storage does not answer
   */
  async activity(period: Period, cameraId?: string): Promise<Activity> {
    const read: Bounded = pLimit(PARALLEL_READS);
    const days = await Promise.all(piecesOf(period).map(async (piece) => this.#pieceOfDay(read, piece, cameraId)));
    const parts = days.flat();
    const active = new Set<string>();
    for (const { cameras } of parts) for (const id of cameras) active.add(id);
    return { tally: sumOf(parts.map((part) => part.tally)), activeCameras: [...active].sort() };
  }

  async #pieceOfDay(read: Bounded, piece: DayPiece, cameraId: string | undefined): Promise<readonly Part[]> {
    const shards = await read(async () => this.#shards.find(piece.day));
    if (shards === undefined) return [];
    const ofShard = (shard: number): ShardReader =>
      new ShardReader(this.#table, shardPartition(piece.day, shard), read);
    if (cameraId !== undefined) return [await ofShard(shardOf(cameraId, shards)).pieceOfCamera(piece, cameraId)];
    return Promise.all(Array.from({ length: shards }, async (_, shard) => ofShard(shard).piece(piece)));
  }
}
