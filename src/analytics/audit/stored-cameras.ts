import { cameraRowFrom, type CameraRow } from '../rows/camera-row.ts';
import { COMMIT_NUMBER } from '../rows/commit-number.ts';
import { ALL_CAMERAS, cameraKey, parseCameraKey } from '../rows/keys.ts';
import { readStripes } from '../rows/stripe-reads.ts';
import type { Table } from '../../storage/table.ts';
import { audited, keyed, type AuditedRow } from './audited-row.ts';
import type { Stored } from './findings.ts';

/** The camera rows of a shard, by camera id and stripe. */
export interface CameraRows {
  readonly byCamera: ReadonlyMap<string, ReadonlyMap<number, Stored<AuditedRow<CameraRow>>>>;
  readonly strays: readonly string[];
}

/**
 * Reads the camera rows of a shard, those of one camera as they were at one moment.
 *
 * @param select the properties to read; all by default
 * @throws {StorageTrouble}
 */
export const readCameras = async (table: Table, partition: string, select?: readonly string[]): Promise<CameraRows> => {
  const byCamera = new Map<string, Map<number, Stored<AuditedRow<CameraRow>>>>();
  const strays: string[] = [];
  const split = new Set<string>();
  const options = select && { select: [...select, COMMIT_NUMBER] };
  for await (const page of table.pages(partition, ALL_CAMERAS, options)) {
    const found = keyed(page, parseCameraKey, cameraRowFrom);
    strays.push(...found.strays);
    const before = new Set(byCamera.keys());
    for (const { key, stripe, row } of found.rows) {
      if (before.has(key)) split.add(key);
      byCamera.set(key, (byCamera.get(key) ?? new Map<number, Stored<AuditedRow<CameraRow>>>()).set(stripe, row));
    }
  }
  // The rows of these cameras were on two pages.
  for (const cameraId of split) {
    const rows = await readStripes(table, partition, cameraKey(cameraId), options?.select);
    byCamera.set(cameraId, new Map(Array.from(rows, ([stripe, row]) => [stripe, audited(row, cameraRowFrom)])));
  }
  return { byCamera, strays };
};
