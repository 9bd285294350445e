import { periodOf, spanOfDay } from '../model/spans.ts';
import { isCalendarDay } from '../model/times.ts';
import { isLast, LAST, type Last, type Span } from '../model/view.ts';
import { Button } from '../parts/button.tsx';
import { useShown } from '../parts/shown.ts';
import { ViewLink } from '../parts/view-link.tsx';

/** `6 hours`, `7 days` */
const lastText = (length: Last): string =>
  length === '1h' ? 'Last hour' : `Last ${length.replace('h', ' hours').replace('d', ' days')}`;

/** The usual ranges, a day, and a range with typed ends. Typed text stays until the view changes. */
export const RangePanel = ({ onChosen }: { readonly onChosen: () => void }) => {
  const { view, actions } = useShown();
  const { span } = view;
  const choose = (next: Span): void => {
    actions.show({ ...view, span: next });
    onChosen();
  };
  return (
    <div class="range">
      <ul>
        <li>
          <ViewLink to={{ ...view, span: { kind: 'today' } }} current={span.kind === 'today'} onFollowed={onChosen}>
            Today
          </ViewLink>
        </li>
        {Object.keys(LAST)
          .filter(isLast)
          .map((length) => (
            <li key={length}>
              <ViewLink
                to={{ ...view, span: { kind: 'last', length } }}
                current={span.kind === 'last' && span.length === length}
                onFollowed={onChosen}
              >
                {lastText(length)}
              </ViewLink>
            </li>
          ))}
      </ul>
      <div class="own">
        <DayForm onChoose={choose} />
        <EndsForm onChoose={choose} />
      </div>
    </div>
  );
};

interface FormProps {
  readonly onChoose: (span: Span) => void;
}

const fieldOf = (form: HTMLFormElement, name: string): string => {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value.trim() : '';
};

const DayForm = ({ onChoose }: FormProps) => {
  const { view, times, now } = useShown();
  const { span } = view;
  const day = span.kind === 'day' ? span.date : times.dayOf(span.kind === 'range' ? Date.parse(span.end) : now);
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        const date = fieldOf(event.currentTarget, 'day');
        if (isCalendarDay(date)) onChoose(spanOfDay(date, now, times));
      }}
    >
      <label>
        Day ({times.isUtc ? 'UTC' : 'local'}) <input name="day" type="date" required defaultValue={day} />
      </label>
      <Button type="submit">Show day</Button>
    </form>
  );
};

/** Both ends of a range are included, and may come in either order. */
const EndsForm = ({ onChoose }: FormProps) => {
  const { view, times, now } = useShown();
  const { start, end } = periodOf(view.span, now, times);
  const zone = times.isUtc ? 'UTC' : 'local';
  const ends = [
    { name: 'from', words: `From (${zone})`, at: start },
    { name: 'until', words: `To (${zone})`, at: end },
  ] as const;
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        const [earlier = '', later = ''] = ends.map(({ name }) => fieldOf(event.currentTarget, name)).sort();
        const [first, last] = [times.typed(earlier, 'from'), times.typed(later, 'until')];
        if (first !== undefined && last !== undefined) onChoose({ kind: 'range', start: first, end: last });
      }}
    >
      {ends.map(({ name, words, at }) => (
        <label key={name}>
          {words}{' '}
          <input
            name={name}
            type="datetime-local"
            step="1"
            required
            defaultValue={times.wall(Date.parse(at)).replace(' ', 'T')}
          />
        </label>
      ))}
      <Button type="submit">Show range</Button>
    </form>
  );
};
