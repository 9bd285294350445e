import { createHash } from 'node:crypto';

/** Most shards of a day; they are numbered from 0. */
export const MAX_SHARDS = 64;

/** The shard of a day that a camera belongs to: a stable hash of its id, because stored rows are found by it. */
export const shardOf = (cameraId: string, shards: number): number =>
  shards === 1 ? 0 : createHash('sha256').update(cameraId).digest().readUInt32BE(0) % shards;
