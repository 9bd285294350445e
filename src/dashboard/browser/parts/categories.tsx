import type { Activity } from '../model/answers.ts';
import { accuracyText, CATEGORY_MAPS, countOf, MAP_NAMES, orderedCategories } from '../model/categories.ts';
import { periodOf, utcDaysOf } from '../model/spans.ts';
import { shortDay } from '../model/times.ts';
import { type Column, DataTable } from './data-table.tsx';
import { usePalette, usePart, useShown } from './shown.ts';
import { CameraLink } from './view-link.tsx';
import { Card, Name, numbers, Swatch, Time } from './words.tsx';

export const Categories = () => {
  const { view, times, now } = useShown();
  const palette = usePalette();
  const { answer, busy, note } = usePart('activity');
  const accuracy = usePart('accuracy');
  const { text: daysText } = utcDaysOf(periodOf(view.span, now, times), now);
  const without = accuracy.answer?.without ?? [];
  const columns: readonly Column<string>[] = [
    {
      name: 'Category',
      cell: (category) => (
        <>
          <Swatch palette={palette} of={category} />
          <Name>{category}</Name>
        </>
      ),
    },
    ...CATEGORY_MAPS.map((map): Column<string> => ({
      name: MAP_NAMES[map],
      isNumber: true,
      cell: (category) => (answer === undefined ? '' : numbers.count(countOf(answer[map], category))),
    })),
    {
      name: 'AI flags in reviewed frames',
      head: (
        <>
          AI flags in reviewed frames <span class="note">{daysText}</span>
        </>
      ),
      cell: (category) => {
        const of = accuracy.answer?.categories ?? {};
        const found = Object.hasOwn(of, category) ? of[category] : undefined;
        return found === undefined ? '–' : accuracyText(found);
      },
    },
  ];
  return (
    <Card id="categories" title="By category" note={note ?? accuracy.note} busy={busy}>
      <DataTable
        title="By category"
        class="categories"
        columns={columns}
        rows={answer === undefined ? [] : orderedCategories([answer])}
        rowKey={(category) => category}
      />
      <p class="note">
        A frame can have several detections and annotations. “{MAP_NAMES.reviewed_counts_per_category}” are the reviewed
        frames in which a reviewer marked the category. Missed: a reviewer marked it, and the AI did not.
        {without.length === 0 ? null : ` Days without accuracy figures: ${without.map(shortDay).join(', ')}.`}
      </p>
      {answer === undefined ? null : (
        <>
          <p class="note period">
            From <Time at={answer.ts_utc_start} as="time" /> to <Time at={answer.ts_utc_end} as="time" />, both
            included.
          </p>
          <ActiveIds of={answer} />
        </>
      )}
    </Card>
  );
};

/** The page requests the ids only while they are open: there may be over a thousand. */
const ActiveIds = ({ of: { active_cameras: count, active_camera_ids: ids } }: { readonly of: Activity }) => {
  const { state, actions } = useShown();
  const wantsIds = state.wants.ids;
  if (count === 0) return null;
  return (
    <details
      class="ids"
      open={wantsIds}
      onToggle={({ currentTarget: { open } }) => {
        if (open !== wantsIds) actions.want({ ids: open });
      }}
    >
      <summary>{count === 1 ? 'The active camera' : `The ${numbers.count(count)} active cameras`}</summary>
      {wantsIds && ids === undefined ? <p class="note">Loading…</p> : null}
      <ul class="camera-ids">
        {(wantsIds ? (ids ?? []) : []).map((id) => (
          <li key={id}>
            <CameraLink id={id} />
          </li>
        ))}
      </ul>
    </details>
  );
};
