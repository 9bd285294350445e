import { accuracyText } from '../model/accuracy.ts';
import type { Accuracy, Activity } from '../model/answers.ts';
import { CATEGORY_MAPS, countOf, MAP_NAMES, orderedCategories, type Palette } from '../model/categories.ts';
import { shortDay } from '../model/times.ts';
import { type Column, DataTable } from './data-table.tsx';
import { drawnOnChange } from './drawn-on-change.tsx';
import { useShown } from './shown.ts';
import { CameraLinks } from './view-link.tsx';
import { Card, Name, numbers, type PartProps, Swatch, Time } from './words.tsx';

interface CategoriesProps extends PartProps<Activity> {
  readonly palette: Palette;
  readonly accuracy: PartProps<Accuracy>;
  /** The UTC days of the accuracy, in words. */
  readonly daysText: string;
  /** Somebody looks at the ids of the active cameras. */
  readonly wantsIds: boolean;
}

/** The counts of every category, how often the AI was right, and which cameras were active. */
export const Categories = drawnOnChange((props: CategoriesProps) => {
  const { answer, busy, note, palette, accuracy, daysText, wantsIds } = props;
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
          AI flags in reviewed frames <span class="of">{daysText}</span>
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
        Detections and annotations are marks: a frame may have several. “{MAP_NAMES.reviewed_counts_per_category}” are
        the reviewed frames in which a reviewer marked the category. Missed: a reviewer marked it, and the AI did not.
        {without.length === 0 ? null : ` Days without these figures: ${without.map(shortDay).join(', ')}.`}
      </p>
      {answer === undefined ? null : (
        <>
          <p class="note period">
            From <Time at={answer.ts_utc_start} as="time" /> to <Time at={answer.ts_utc_end} as="time" />, both
            included.
          </p>
          <ActiveIds answer={answer} wantsIds={wantsIds} />
        </>
      )}
    </Card>
  );
});

/** The ids of the active cameras. There may be over a thousand: the page asks for them only if somebody looks at them. */
const ActiveIds = ({ answer, wantsIds }: { readonly answer: Activity; readonly wantsIds: boolean }) => {
  const { active_cameras: count, active_camera_ids: ids } = answer;
  const { actions } = useShown();
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
      {!wantsIds ? null : ids === undefined ? <p class="note">Asking the service…</p> : <CameraLinks ids={ids} />}
    </details>
  );
};
