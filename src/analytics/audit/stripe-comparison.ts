import { cameraListFrom } from '../rows/camera-list.ts';
import { twoDigits } from '../rows/keys.ts';
import { DAMAGED, type Findings, type Stored } from './findings.ts';
import type { AuditedRow, StripeCounters } from './stored-rows.ts';

/** A counter of one stripe, in words: `number of active cameras of total`, `… of total in stripe 01`. */
const nameOf = (counter: string, stripe: number): string =>
  stripe === 0 ? counter : `${counter} in stripe ${twoDigits(stripe)}`;

/**
 * Compares what one stripe's rows say of one another: how many cameras its total has and lists, the index of each camera, and that no
 * row is newer than the total by its commit number.
 */
export const compareStripe = (findings: Findings, { stripe, total, activeCameras, ...rows }: StripeCounters): void => {
  const { hours, hourRows, cameras } = rows;
  if (total === DAMAGED) return;
  // The total's list is cut to the number that its row says: the stored list may be longer.
  const count = total && cameraListFrom(total.lists.flatMap(({ texts }) => texts)).ids.length;
  findings.text(nameOf('number of active cameras of total', stripe), String(count), String(activeCameras));
  for (const [cameraId, row] of cameras) {
    if (row === DAMAGED || row === undefined) continue;
    const index = String(total?.cameras.indexes.get(cameraId));
    findings.text(nameOf(`index of camera ${cameraId}`, stripe), index, String(row.value.index));
  }
  const commit = total?.commit ?? 0;
  const stored: readonly Stored<AuditedRow<unknown>>[] = [hours, ...hourRows.values(), ...cameras.values()];
  const newest = Math.max(0, ...stored.map((row) => (row === undefined || row === DAMAGED ? 0 : row.commit)));
  if (newest > commit) findings.add(nameOf('commit number of total', stripe), `at least ${newest}`, String(commit));
};
