import { periodOf, spanOfDay } from '../model/spans.ts';
import { isCalendarDay } from '../model/times.ts';
import type { Span } from '../model/view.ts';
import { Button } from '../parts/button.tsx';
import { useShown } from '../parts/shown.ts';
import { ViewLink } from '../parts/view-link.tsx';

/** The id of the panel, for its button. */
export const RANGE_PANEL = 'range';

const CHOICES: readonly (readonly [words: string, span: Span])[] = [
  ['Today', { kind: 'today' }],
  ['Last hour', { kind: 'last', length: '1h' }],
  ['Last 6 hours', { kind: 'last', length: '6h' }],
  ['Last 24 hours', { kind: 'last', length: '24h' }],
  ['Last 7 days', { kind: 'last', length: '7d' }],
  ['Last 30 days', { kind: 'last', length: '30d' }],
];

const closePanel = (): void => document.getElementById(RANGE_PANEL)?.hidePopover();

/** The usual ranges, a day, and own ends, which are included and may come in either order. Typed text stays until the view changes. */
export const RangePanel = () => {
  const { view, times, now, actions } = useShown();
  const { span } = view;
  const { start, end } = periodOf(span, now, times);
  const zone = times.isUtc ? 'UTC' : 'local';
  const choose = (next: Span | undefined): void => {
    if (next === undefined) return;
    // While the focus is in the panel, the browser gives it back to the button. The new view removes the form.
    closePanel();
    actions.show({ ...view, span: next });
  };
  const day = span.kind === 'day' ? span.date : times.dayOf(span.kind === 'range' ? Date.parse(end) : now);
  const wall = (at: string): string => times.wall(Date.parse(at)).replace(' ', 'T');
  return (
    <div
      id={RANGE_PANEL}
      popover="auto"
      class="range"
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (relatedTarget instanceof Node && !currentTarget.contains(relatedTarget)) closePanel();
      }}
    >
      <ul>
        {CHOICES.map(([words, to]) => (
          <li key={words}>
            <ViewLink
              to={{ ...view, span: to }}
              current={JSON.stringify(to) === JSON.stringify(span)}
              onFollowed={closePanel}
            >
              {words}
            </ViewLink>
          </li>
        ))}
      </ul>
      <div key={`${zone} ${JSON.stringify(span)}`} class="own">
        <FieldsForm
          fields={[['date', `Day (${zone})`, day]]}
          submit="Show day"
          onSubmit={([date = '']) => choose(isCalendarDay(date) ? spanOfDay(date, now, times) : undefined)}
        />
        <FieldsForm
          fields={[
            ['datetime-local', `From (${zone})`, wall(start)],
            ['datetime-local', `To (${zone})`, wall(end)],
          ]}
          submit="Show range"
          onSubmit={(ends) => {
            const [earlier = '', later = ''] = ends.toSorted();
            const [first, last] = [times.typed(earlier, 'from'), times.typed(later, 'until')];
            choose(first && last ? { kind: 'range', start: first, end: last } : undefined);
          }}
        />
      </div>
    </div>
  );
};

interface FieldsFormProps {
  readonly fields: readonly (readonly [type: 'date' | 'datetime-local', words: string, value: string])[];
  readonly submit: string;
  readonly onSubmit: (values: readonly string[]) => void;
}

const FieldsForm = ({ fields, submit, onSubmit }: FieldsFormProps) => (
  <form
    class="row"
    onSubmit={(event) => {
      event.preventDefault();
      onSubmit(Array.from(event.currentTarget.querySelectorAll('input'), ({ value }) => value));
    }}
  >
    {fields.map(([type, words, value]) => (
      <label key={words}>
        {words} <input type={type} step="1" required defaultValue={value} />
      </label>
    ))}
    <Button type="submit">{submit}</Button>
  </form>
);
