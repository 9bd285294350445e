import { createHash } from 'node:crypto';

/** The maximum number of shards of a day; they are numbered from 0. */
export const MAX_SHARDS = 64;

/** The shard of a day that a camera belongs to: a stable hash of its id, because stored rows are found by it. */
export const shardOf = (cameraId: string, shards: number): number =>
  shards === 1 ? 0 : createHash('sha256').update(cameraId).digest().readUInt32BE(0) % shards;

/**
 * The table of the counters, without the prefix of the tables: the number of shards is fixed for a table, so that every process looks for a
 * camera in the same shard.
 *
 * @param shards the setting `COUNTER_SHARDS`
 * @example tableOfShards(8) // analytics8
 */
export const tableOfShards = (shards: number): string => (shards === 1 ? 'analytics' : `analytics${shards}`);
