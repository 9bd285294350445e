import { z } from 'zod';

import { grouped } from '../grouped.ts';
import { activeCameras, countMembers, periodMembers } from '../../../src/http/analytics-answer.ts';

export const daySchema = z.object({ ...periodMembers, active_cameras: activeCameras, ...countMembers });

/** A day's analytics for a terminal: the totals, then a line per category. */
export const dayTable = (day: z.infer<typeof daySchema>): string => {
  const categories = Object.keys(day.counts_per_category);
  const rows = [
    ['', 'AI detections', 'reviewed frames with it', 'annotations'],
    ...categories.map((category) => [
      category,
      count(day.counts_per_category[category]),
      count(day.reviewed_counts_per_category[category]),
      count(day.annotated_counts_per_category[category]),
    ]),
  ];
  return [
    `${day.ts_utc_start} to ${day.ts_utc_end}`,
    '',
    ...aligned([
      ['camera frames', count(day.total_events)],
      ['active cameras', count(day.active_cameras)],
      ['reviewed frames', count(day.reviewed_total_events)],
      ['annotated frames', count(day.annotated_total_events)],
    ]),
    '',
    ...aligned(rows),
  ].join('\n');
};

const count = (value = 0): string => grouped(value);

// Names to the left, numbers to the right.
const aligned = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('   ')
      .trimEnd(),
  );
};
