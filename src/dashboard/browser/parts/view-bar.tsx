import { DAY_MILLISECONDS, dayOfTime, isCalendarDay, shiftDay } from '../model/calendar-day.ts';
import { addressTime, type Span, type View } from '../model/view.ts';
import { lastDayOf, neighbourDay, spanOfDay } from '../model/view-steps.ts';
import type { Actions } from './actions.ts';
import { ViewLink } from './view-link.tsx';

/** What the view bar needs. */
export interface ViewBarProps {
  readonly view: View;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** To choose from. */
  readonly cameraIds: readonly string[];
  readonly actions: Actions;
}

/** No camera network is older: a year that is still being typed is not asked for. */
const FIRST_YEAR = '2000';

/** Chooses what is shown: a day, the sliding window, a range; all cameras or one. */
export const ViewBar = ({ view, now, cameraIds, actions }: ViewBarProps) => {
  const { span } = view;
  const to = (next: Span | undefined): View | undefined => (next === undefined ? undefined : { ...view, span: next });
  const chooseDay = (event: { readonly currentTarget: HTMLInputElement }): void => {
    const { value } = event.currentTarget;
    if (isCalendarDay(value) && value >= FIRST_YEAR) actions.show({ ...view, span: spanOfDay(value, now) });
  };
  return (
    <nav class="bar" aria-label="What is shown">
      <div class="group">
        <ViewLink to={to(neighbourDay(span, -1, now))} actions={actions} label="Earlier day">
          <span aria-hidden="true">‹</span> Earlier
        </ViewLink>
        <input type="date" aria-label="Day (UTC)" value={lastDayOf(span, now)} onChange={chooseDay} />
        <ViewLink to={to(neighbourDay(span, 1, now))} actions={actions} label="Later day">
          Later <span aria-hidden="true">›</span>
        </ViewLink>
      </div>
      <div class="group">
        <ViewLink to={to({ kind: 'today' })} actions={actions} current={span.kind === 'today'}>
          Today
        </ViewLink>
        <ViewLink to={to({ kind: 'window' })} actions={actions} current={span.kind === 'window'}>
          Sliding window
        </ViewLink>
        {[7, 30].map((days) => {
          const last = daysUntilToday(days, now);
          return (
            <ViewLink key={days} to={to(last)} actions={actions} current={sameRange(span, last)}>
              {days} days
            </ViewLink>
          );
        })}
      </div>
      <CameraForm view={view} cameraIds={cameraIds} actions={actions} />
      <RangeForm view={view} now={now} actions={actions} />
    </nav>
  );
};

const daysUntilToday = (days: number, now: number): Span & { kind: 'range' } => {
  const today = dayOfTime(now);
  return { kind: 'range', start: `${shiftDay(today, 1 - days)}T00:00:00Z`, end: `${today}T23:59:59.999999Z` };
};

const sameRange = (span: Span, { start, end }: Span & { kind: 'range' }): boolean =>
  span.kind === 'range' && span.start === start && span.end === end;

/** What was typed into a form's field. */
const typed = (form: HTMLFormElement, name: string): string => {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value : '';
};

const CameraForm = ({ view, cameraIds, actions }: Pick<ViewBarProps, 'view' | 'cameraIds' | 'actions'>) => {
  const submit = (event: { readonly currentTarget: HTMLFormElement; preventDefault(): void }): void => {
    event.preventDefault();
    actions.show({ ...view, cameraId: typed(event.currentTarget, 'camera') || undefined });
  };
  return (
    <form class="group" onSubmit={submit}>
      <label for="camera">Camera</label>
      <input
        id="camera"
        name="camera"
        type="search"
        list="cameras"
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        placeholder="All cameras"
        value={view.cameraId ?? ''}
      />
      <datalist id="cameras">
        {cameraIds.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
      <button type="submit" class="button">
        Show
      </button>
      {view.cameraId === undefined ? null : (
        <ViewLink to={{ ...view, cameraId: undefined }} actions={actions}>
          All cameras
        </ViewLink>
      )}
    </form>
  );
};

/** The text of a field for a date and a time, to the second: it knows no zone, here it is UTC. */
const fieldTime = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 19);

const RangeForm = ({ view, now, actions }: Pick<ViewBarProps, 'view' | 'now' | 'actions'>) => {
  const { span } = view;
  const shown =
    span.kind === 'range'
      ? [Date.parse(span.start), Date.parse(span.end)]
      : [now - (now % DAY_MILLISECONDS) - 6 * DAY_MILLISECONDS, now];
  const [start = now, end = now] = shown;
  const submit = (event: { readonly currentTarget: HTMLFormElement; preventDefault(): void }): void => {
    event.preventDefault();
    // Both ends are included: the last second wholly.
    const from = addressTime(`${withSeconds(typed(event.currentTarget, 'from'))}Z`);
    const until = addressTime(`${withSeconds(typed(event.currentTarget, 'until'))}.999999Z`);
    if (from !== undefined && until !== undefined) {
      actions.show({ ...view, span: { kind: 'range', start: from, end: until } });
    }
  };
  return (
    <details class="range">
      <summary class="button">Range…</summary>
      <form class="group" onSubmit={submit}>
        <label for="from">From (UTC)</label>
        <input id="from" name="from" type="datetime-local" step="1" required value={fieldTime(start)} />
        <label for="until">to (UTC)</label>
        <input id="until" name="until" type="datetime-local" step="1" required value={fieldTime(end)} />
        <button type="submit" class="button">
          Show range
        </button>
      </form>
    </details>
  );
};

/** A field leaves out seconds that are 0. */
const withSeconds = (text: string): string => (/T\d{2}:\d{2}$/.test(text) ? `${text}:00` : text);
