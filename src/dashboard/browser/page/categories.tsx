import { useState } from 'preact/hooks';

import type { Accuracy } from '../model/answers.ts';
import { CATEGORY_MAPS, countOf, MAP_NAMES, orderedCategories } from '../model/categories.ts';
import { periodOf, utcDaysOf } from '../model/spans.ts';
import { shortDay } from '../model/times.ts';
import { Button } from '../parts/button.tsx';
import { type Column, DataTable, numberColumn } from '../parts/data-table.tsx';
import { numbers } from '../parts/numbers.ts';
import { usePalette, usePart, useShown } from '../parts/shown.ts';
import { Card, Name, Swatch } from '../parts/words.tsx';

/** More rows push the plots out of sight. */
const FIRST_ROWS = 8;

/** A row for each category of the period: the first rows, and the others on demand. */
const CategoryTable = ({ title, columns }: { readonly title: string; readonly columns: readonly Column<string>[] }) => {
  const palette = usePalette();
  const { answer } = usePart('activity');
  const [isOpen, setOpen] = useState(false);
  const rows = answer === undefined ? [] : orderedCategories([answer]);
  const more = rows.length - FIRST_ROWS;
  const first: Column<string> = {
    name: 'Category',
    cell: (category) => (
      <>
        <Swatch palette={palette} of={category} />
        <Name>{category}</Name>
      </>
    ),
  };
  return (
    <>
      <DataTable
        title={title}
        class="categories"
        columns={[first, ...columns]}
        rows={isOpen ? rows : rows.slice(0, FIRST_ROWS)}
        rowKey={(category) => category}
      />
      {more <= 0 ? null : (
        <Button look="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show fewer' : `Show ${more} more categories`}
        </Button>
      )}
    </>
  );
};

/** The counts of the period, by category. */
export const Categories = () => {
  const { answer, busy, note } = usePart('activity');
  return (
    <Card
      id="categories"
      title="By category"
      tip={`A frame can have several detections and annotations. "${MAP_NAMES.reviewed_counts_per_category}" are the reviewed frames in which a reviewer marked the category.`}
      note={note}
      busy={busy}
    >
      <CategoryTable
        title="By category"
        columns={CATEGORY_MAPS.map((map) =>
          numberColumn(MAP_NAMES[map], (category) => answer && countOf(answer[map], category)),
        )}
      />
    </Card>
  );
};

/** How often the AI was right, in reviewed frames. The service counts it by UTC day: it has its own table. */
export const Quality = () => {
  const { view, times, now } = useShown();
  const { answer, busy, note } = usePart('accuracy');
  const days = utcDaysOf(periodOf(view.span, now, times), now);
  const { categories = {}, without = [] } = answer ?? {};
  const column = (name: string, of: (found: Accuracy['categories'][string]) => number | string) =>
    numberColumn(name, (category: string) => {
      const found = Object.hasOwn(categories, category) ? categories[category] : undefined;
      return found && of(found);
    });
  return (
    <Card
      id="quality"
      title="AI in reviewed frames"
      of={days.text}
      tip="Flags: reviewed frames in which the AI flagged the category. Right: the reviewer marked it, too. False alarms: the reviewer did not. Missed: the reviewer marked it, and the AI did not. Counted by UTC day."
      note={note}
      busy={busy}
    >
      <CategoryTable
        title={`AI in reviewed frames, ${days.text}`}
        columns={[
          column('Flags', ({ flagged }) => flagged),
          column('Right', ({ confirmed, flagged }) =>
            flagged === 0 ? '–' : `${numbers.count(confirmed)} (${numbers.share(confirmed, flagged)})`,
          ),
          column('False alarms', ({ confirmed, flagged }) => flagged - confirmed),
          column('Missed', ({ missed }) => missed),
        ]}
      />
      {without.length === 0 ? null : (
        <p class="note">Days without these figures: {without.map(shortDay).join(', ')}.</p>
      )}
    </Card>
  );
};
