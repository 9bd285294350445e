import { useState } from 'preact/hooks';

import type { Accuracy } from '../model/answers.ts';
import { CATEGORY_MAPS, countOf, MAP_NAMES, orderedCategories } from '../model/categories.ts';
import { periodOf, utcDaysOf } from '../model/spans.ts';
import { shortDay } from '../model/times.ts';
import { Button } from '../parts/button.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { numbers } from '../parts/numbers.ts';
import { usePalette, usePart, useShown } from '../parts/shown.ts';
import { Card, Name, Swatch } from '../parts/words.tsx';

/** More rows push the plots out of sight. */
const FIRST_ROWS = 8;

/** The first rows, and the others on demand. */
const useRows = (rows: readonly string[]) => {
  const [isOpen, setOpen] = useState(false);
  const hidden = isOpen ? 0 : Math.max(0, rows.length - FIRST_ROWS);
  const more =
    rows.length <= FIRST_ROWS ? null : (
      <Button look="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Show fewer' : `Show ${hidden} more categories`}
      </Button>
    );
  return { rows: isOpen ? rows : rows.slice(0, FIRST_ROWS), more };
};

const useCategoryColumn = (): Column<string> => {
  const palette = usePalette();
  return {
    name: 'Category',
    cell: (category) => (
      <>
        <Swatch palette={palette} of={category} />
        <Name>{category}</Name>
      </>
    ),
  };
};

/** The counts of the period, by category. */
export const Categories = () => {
  const first = useCategoryColumn();
  const { answer, busy, note } = usePart('activity');
  const { rows, more } = useRows(answer === undefined ? [] : orderedCategories([answer]));
  return (
    <Card
      id="categories"
      title="By category"
      tip={`A frame can have several detections and annotations. "${MAP_NAMES.reviewed_counts_per_category}" are the reviewed frames in which a reviewer marked the category.`}
      note={note}
      busy={busy}
    >
      <DataTable
        title="By category"
        class="categories"
        columns={[
          first,
          ...CATEGORY_MAPS.map((map): Column<string> => ({
            name: MAP_NAMES[map],
            isNumber: true,
            cell: (category) => (answer === undefined ? '' : numbers.count(countOf(answer[map], category))),
          })),
        ]}
        rows={rows}
        rowKey={(category) => category}
      />
      {more}
    </Card>
  );
};

/** How often the AI was right, in reviewed frames. The service counts it by UTC day: it has its own table. */
export const Quality = () => {
  const { view, times, now } = useShown();
  const first = useCategoryColumn();
  const activity = usePart('activity').answer;
  const { answer, busy, note } = usePart('accuracy');
  const days = utcDaysOf(periodOf(view.span, now, times), now);
  const { rows, more } = useRows(activity === undefined ? [] : orderedCategories([activity]));
  const without = answer?.without ?? [];
  const count = (of: (found: Accuracy['categories'][string]) => string) => (category: string) => {
    const all = answer?.categories ?? {};
    const found = Object.hasOwn(all, category) ? all[category] : undefined;
    return found === undefined ? '–' : of(found);
  };
  return (
    <Card
      id="quality"
      title="AI in reviewed frames"
      of={days.text}
      tip="Flags: reviewed frames in which the AI flagged the category. Right: the reviewer marked it, too. False alarms: the reviewer did not. Missed: the reviewer marked it, and the AI did not. Counted by UTC day."
      note={note}
      busy={busy}
    >
      <DataTable
        title={`AI in reviewed frames, ${days.text}`}
        class="categories"
        columns={[
          first,
          { name: 'Flags', isNumber: true, cell: count(({ flagged }) => numbers.count(flagged)) },
          {
            name: 'Right',
            isNumber: true,
            cell: count(({ confirmed, flagged }) =>
              flagged === 0 ? '–' : `${numbers.count(confirmed)} (${numbers.share(confirmed, flagged)})`,
            ),
          },
          {
            name: 'False alarms',
            isNumber: true,
            cell: count(({ confirmed, flagged }) => numbers.count(flagged - confirmed)),
          },
          { name: 'Missed', isNumber: true, cell: count(({ missed }) => numbers.count(missed)) },
        ]}
        rows={rows}
        rowKey={(category) => category}
      />
      {more}
      {without.length === 0 ? null : (
        <p class="note">Days without these figures: {without.map(shortDay).join(', ')}.</p>
      )}
    </Card>
  );
};
