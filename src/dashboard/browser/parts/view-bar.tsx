import { movedSpan, periodOf, spanOfDay } from '../model/spans.ts';
import { isCalendarDay } from '../model/times.ts';
import { isLast, LAST, type Last, type Span, type View } from '../model/view.ts';
import { useShown } from './shown.ts';
import { ViewLink } from './view-link.tsx';

/** `6 h`, `7 days` */
const lastText = (length: Last): string => length.replace('h', ' h').replace('d', ' days');

export const ViewBar = () => {
  const { view, times, now } = useShown();
  const { span } = view;
  const to = (next: Span | undefined): View | undefined => (next === undefined ? undefined : { ...view, span: next });
  const unit = span.kind === 'today' || span.kind === 'day' ? ' day' : '';
  return (
    <nav class="bar" aria-label="What is shown">
      <div class="row">
        <ViewLink to={to(movedSpan(span, -1, now, times))} label={`Earlier${unit}`}>
          <span aria-hidden="true">‹</span> Earlier
        </ViewLink>
        <ViewLink to={to(movedSpan(span, 1, now, times))} label={`Later${unit}`}>
          Later <span aria-hidden="true">›</span>
        </ViewLink>
        <ViewLink to={to({ kind: 'today' })} current={span.kind === 'today'}>
          Today
        </ViewLink>
        {Object.keys(LAST)
          .filter(isLast)
          .map((length) => (
            <ViewLink
              key={length}
              to={to({ kind: 'last', length })}
              current={span.kind === 'last' && span.length === length}
              label={`Last ${lastText(length)}`}
            >
              {lastText(length)}
            </ViewLink>
          ))}
        <RangeForm />
      </div>
      <DayAndCameraForm />
      {times.readerZone === 'UTC' ? null : (
        <div class="row" role="group" aria-label="Times">
          {(['local', 'utc'] as const).map((clock) => (
            <ViewLink key={clock} to={{ ...view, clock }} current={view.clock === clock}>
              {clock === 'utc' ? 'UTC' : 'Local time'}
            </ViewLink>
          ))}
        </div>
      )}
    </nav>
  );
};

const fieldOf = (form: HTMLFormElement, name: string): string => {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value.trim() : '';
};

/** A day and a camera. Typed text stays until the view changes. */
const DayAndCameraForm = () => {
  const { view, times, now, cameraIds, actions } = useShown();
  const { span } = view;
  const day = span.kind === 'day' ? span.date : times.dayOf(span.kind === 'range' ? Date.parse(span.end) : now);
  return (
    <form
      key={JSON.stringify([span, view.cameraId, view.clock])}
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        const date = fieldOf(event.currentTarget, 'day');
        const isOther = date !== day && isCalendarDay(date);
        const cameraId = fieldOf(event.currentTarget, 'camera') || undefined;
        actions.show({ ...view, cameraId, span: isOther ? spanOfDay(date, now, times) : span });
      }}
    >
      <label for="day">Day ({times.isUtc ? 'UTC' : 'local'})</label>
      <input id="day" name="day" type="date" defaultValue={day} />
      <label for="camera">Camera</label>
      <input
        id="camera"
        name="camera"
        type="search"
        list="camera-choice"
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        placeholder="All cameras"
        defaultValue={view.cameraId ?? ''}
      />
      <datalist id="camera-choice">
        {cameraIds.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      <button type="submit" class="button">
        Show
      </button>
      {view.cameraId === undefined ? null : <ViewLink to={{ ...view, cameraId: undefined }}>All cameras</ViewLink>}
    </form>
  );
};

/** Both ends of a range are included, and may come in either order. */
const RangeForm = () => {
  const { view, times, now, actions } = useShown();
  const { start, end } = periodOf(view.span, now, times);
  const zone = times.isUtc ? 'UTC' : 'local';
  const ends = [
    { name: 'from', words: `From (${zone})`, at: start },
    { name: 'until', words: `to (${zone})`, at: end },
  ] as const;
  return (
    <details class="range">
      <summary class="button">Range…</summary>
      <form
        key={JSON.stringify([view.span, view.clock])}
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          const [earlier = '', later = ''] = ends.map(({ name }) => fieldOf(event.currentTarget, name)).sort();
          const [first, last] = [times.typed(earlier, 'from'), times.typed(later, 'until')];
          if (first === undefined || last === undefined) return;
          actions.show({ ...view, span: { kind: 'range', start: first, end: last } });
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
        <button type="submit" class="button">
          Show range
        </button>
      </form>
    </details>
  );
};
