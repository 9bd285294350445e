import { Fragment } from 'preact';
import { useRef, useState } from 'preact/hooks';

import { dayAround, movedSpan, periodOf, spanOfDay } from '../model/spans.ts';
import { isCalendarDay, type Times } from '../model/times.ts';
import { LIVE_DAYS, LIVE_HOURS, type Span, type View } from '../model/view.ts';
import { drawnOnChange } from './drawn-on-change.tsx';
import { useShown } from './shown.ts';
import { ViewLink } from './view-link.tsx';

interface ViewBarProps {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** To choose from. */
  readonly cameraIds: readonly string[];
}

/** The text of a field: what the view says, until somebody types. Then it is theirs, until the view says something else. */
const useField = (shown: string, subject = shown) => {
  const [draft, setDraft] = useState<{ readonly subject: string; readonly text: string }>();
  return {
    value: draft?.subject === subject ? draft.text : shown,
    isDraft: draft?.subject === subject && draft.text !== shown,
    onInput: (event: { readonly currentTarget: HTMLInputElement }): void =>
      setDraft({ subject, text: event.currentTarget.value }),
    reset: (): void => setDraft(undefined),
  };
};

/** Chooses what is shown: a day, the last hours, a range; all cameras or one; whose clock. */
export const ViewBar = ({ now, cameraIds }: ViewBarProps) => {
  const { view, times } = useShown();
  const { span } = view;
  const to = (next: Span | undefined): View | undefined => (next === undefined ? undefined : { ...view, span: next });
  const isWholeDay = span.kind === 'today' || span.kind === 'day';
  const unit = isWholeDay ? ' day' : '';
  const around = dayAround(span, now, times);
  return (
    <nav class="bar" aria-label="What is shown">
      <div class="group">
        <ViewLink to={to(movedSpan(span, -1, now, times))} label={`Earlier${unit}`}>
          <span aria-hidden="true">‹</span> Earlier
        </ViewLink>
        <DayForm now={now} />
        <ViewLink to={to(movedSpan(span, 1, now, times))} label={`Later${unit}`}>
          Later <span aria-hidden="true">›</span>
        </ViewLink>
        {around === undefined ? null : <ViewLink to={to(around)}>Whole day</ViewLink>}
      </div>
      <div class="group">
        <ViewLink to={to({ kind: 'today' })} current={span.kind === 'today'}>
          Today
        </ViewLink>
        {LIVE_HOURS.map((hours) => (
          <ViewLink key={hours} to={to({ kind: 'last', hours })} current={span.kind === 'last' && span.hours === hours}>
            <span class="unseen">Last </span>
            {hours} h
          </ViewLink>
        ))}
        {LIVE_DAYS.map((days) => (
          <ViewLink key={days} to={to({ kind: 'days', days })} current={span.kind === 'days' && span.days === days}>
            <span class="unseen">Last </span>
            {days} days
          </ViewLink>
        ))}
        <RangeForm now={now} />
      </div>
      <CameraForm cameraIds={cameraIds} />
      {times.readerZone === 'UTC' ? null : (
        <div class="group" role="group" aria-label="Times">
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

/** The day that a span shows or ends in. */
const shownDay = (span: Span, now: number, times: Times): string =>
  span.kind === 'day' ? span.date : times.dayOf(span.kind === 'range' ? Date.parse(span.end) : now);

/** A day that is picked is shown at once; one that is typed, when it is there wholly: with Enter or the button. */
const DayForm = ({ now }: Pick<ViewBarProps, 'now'>) => {
  const { view, times, actions } = useShown();
  const day = shownDay(view.span, now, times);
  const field = useField(day);
  const isTyping = useRef(false);
  const show = (value: string): void => {
    if (!isCalendarDay(value)) return;
    field.reset();
    if (value !== day || view.span.kind === 'range') actions.show({ ...view, span: spanOfDay(value, now, times) });
  };
  return (
    <form
      class="group"
      onSubmit={(event) => {
        event.preventDefault();
        isTyping.current = false;
        show(field.value);
      }}
    >
      <input
        type="date"
        aria-label={times.isUtc ? 'Day (UTC)' : 'Day (local)'}
        value={field.value}
        onKeyDown={() => (isTyping.current = true)}
        onPointerDown={() => (isTyping.current = false)}
        onInput={(event) => {
          field.onInput(event);
          if (!isTyping.current) show(event.currentTarget.value);
        }}
      />
      {field.isDraft ? (
        <button type="submit" class="button">
          Show day
        </button>
      ) : null}
    </form>
  );
};

const CameraChoice = drawnOnChange(({ ids }: { readonly ids: readonly string[] }) => (
  <datalist id="cameras">
    {ids.map((id) => (
      <option key={id} value={id} />
    ))}
  </datalist>
));

const CameraForm = ({ cameraIds }: Pick<ViewBarProps, 'cameraIds'>) => {
  const { view, actions } = useShown();
  const field = useField(view.cameraId ?? '');
  return (
    <form
      class="group"
      onSubmit={(event) => {
        event.preventDefault();
        field.reset();
        actions.show({ ...view, cameraId: field.value.trim() || undefined });
      }}
    >
      <label for="camera">Camera</label>
      <input
        id="camera"
        type="search"
        list="cameras"
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        placeholder="All cameras"
        value={field.value}
        onInput={field.onInput}
      />
      <CameraChoice ids={cameraIds} />
      <button type="submit" class="button">
        Show
      </button>
      {view.cameraId === undefined ? null : <ViewLink to={{ ...view, cameraId: undefined }}>All cameras</ViewLink>}
    </form>
  );
};

/** Both ends as text: 24 hours in every language, which a browser's own fields have not. */
const RangeForm = ({ now }: Pick<ViewBarProps, 'now'>) => {
  const { view, times, actions } = useShown();
  const { start, end } = periodOf(view.span, now, times);
  const subject = JSON.stringify([view.span, view.clock]);
  const from = useField(times.wall(Date.parse(start)), subject);
  const until = useField(times.wall(Date.parse(end)), subject);
  const [problem, setProblem] = useState<string>();
  return (
    <details class="range">
      <summary class="button">Range…</summary>
      <form
        class="group"
        onSubmit={(event) => {
          event.preventDefault();
          const [first, last] = [times.typed(from.value, 'from'), times.typed(until.value, 'until')];
          if (first === undefined || last === undefined) {
            const which = first === undefined ? 'From' : 'To';
            return setProblem(`${which} is no time: write it as 2026-11-21 08:00, with hours from 00 to 23.`);
          }
          if (Date.parse(first) > Date.parse(last)) return setProblem('From is after To.');
          setProblem(undefined);
          from.reset();
          until.reset();
          actions.show({ ...view, span: { kind: 'range', start: first, end: last } });
        }}
      >
        {(
          [
            ['from', 'From', from],
            ['until', 'to', until],
          ] as const
        ).map(([id, words, { value, onInput }]) => (
          <Fragment key={id}>
            <label for={id}>
              {words} ({times.isUtc ? 'UTC' : 'local'})
            </label>
            <input id={id} autocomplete="off" value={value} onInput={onInput} aria-describedby="range-problem" />
          </Fragment>
        ))}
        <button type="submit" class="button">
          Show range
        </button>
        <p id="range-problem" class="trouble" role="alert">
          {problem}
        </p>
      </form>
    </details>
  );
};
