import { DamagedRow } from '../../src/storage/errors.ts';
import type { CountingStorage } from './counting.ts';

/** Changes properties of a stored row, whatever its version. */
export const damage = async (
  storage: CountingStorage,
  partitionKey: string,
  rowKey: string,
  properties: Readonly<Record<string, unknown>>,
): Promise<void> => {
  await storage.client().updateEntity({ partitionKey, rowKey, ...properties }, 'Merge', { etag: '*' });
};

/** The keys of the damaged row that a promise is rejected with; fails where it is anything else. */
export const damagedRowOf = async (promise: Promise<unknown>): Promise<readonly [string, string]> => {
  try {
    await promise;
  } catch (error) {
    if (error instanceof DamagedRow) return [error.partitionKey, error.rowKey];
    throw error;
  }
  throw new Error('nothing was rejected');
};
