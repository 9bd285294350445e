import type { HttpResponseInit } from '@azure/functions';

import { formatInstant } from '../analytics/model/instant.ts';
import type { Period } from '../analytics/model/period.ts';
import type { Activity } from '../analytics/read/reader.ts';
import type { CategoryTally } from '../analytics/model/tally.ts';

/**
 * What happened in a period, as both analytics endpoints answer it.
 *
 * @param always categories that are present with 0 where nothing happened
 */
export const activityAnswer = (
  period: Period,
  { tally, activeCameras }: Activity,
  always: readonly string[],
): HttpResponseInit => {
  const categories = [...new Set([...always, ...tally.categories.keys()])].sort();
  const counts = (of: keyof CategoryTally): Record<string, number> =>
    Object.fromEntries(categories.map((category) => [category, tally.categories.get(category)?.[of] ?? 0]));
  return {
    status: 200,
    jsonBody: {
      ts_utc_start: formatInstant(period.start),
      ts_utc_end: formatInstant(period.end),
      total_events: tally.events,
      active_cameras: activeCameras.length,
      active_camera_ids: activeCameras,
      counts_per_category: counts('detections'),
      reviewed_total_events: tally.reviewed,
      reviewed_counts_per_category: counts('reviewed'),
      annotated_total_events: tally.annotated,
      annotated_counts_per_category: counts('annotations'),
    },
  };
};
