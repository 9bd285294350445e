import { lengthText } from '../model/times.ts';
import { movedSpan, spanTitle, zoneOf } from '../model/spans.ts';
import type { Span, View } from '../model/view.ts';
import { Button } from '../parts/button.tsx';
import { Combobox } from '../parts/combobox.tsx';
import { Popover } from '../parts/popover.tsx';
import { useShown } from '../parts/shown.ts';
import { ViewLink } from '../parts/view-link.tsx';
import { RangePanel } from './range-panel.tsx';

/** One row: the range, the camera, the zone, and a refresh. */
export const Tools = () => {
  const { view, times, now, cameraIds, cameras, actions } = useShown();
  const { span } = view;
  const to = (next: Span | undefined): View | undefined => (next === undefined ? undefined : { ...view, span: next });
  const unit = span.kind === 'today' || span.kind === 'day' ? ' day' : '';
  const title = spanTitle(span, now, times);
  const noteOf = (id: string): string => {
    const found = cameras?.byId.get(id);
    if (found === undefined || found.state === 'sending') return '';
    return `${found.state} for ${lengthText(now - Date.parse(found.lastEventAt))}`;
  };
  return (
    <nav class="tools" aria-label="What is shown">
      <div class="joined">
        <ViewLink to={to(movedSpan(span, -1, now, times))} label={`Earlier${unit}`}>
          <span aria-hidden="true">‹</span>
        </ViewLink>
        <Popover label={`Range: ${title}`} button={title}>
          {(close) => <RangePanel onChosen={close} />}
        </Popover>
        <ViewLink to={to(movedSpan(span, 1, now, times))} label={`Later${unit}`}>
          <span aria-hidden="true">›</span>
        </ViewLink>
      </div>
      <Combobox
        id="camera"
        label="Camera"
        placeholder="All cameras"
        value={view.cameraId ?? ''}
        options={cameraIds}
        noteOf={noteOf}
        onChoose={(id) => actions.show({ ...view, cameraId: id === '' ? undefined : id })}
      />
      {view.cameraId === undefined ? null : (
        <ViewLink to={{ ...view, cameraId: undefined }} onFollowed={() => document.getElementById('camera')?.focus()}>
          All cameras
        </ViewLink>
      )}
      <span class="apart">
        {times.readerZone === 'UTC' ? (
          <span class="note">UTC</span>
        ) : (
          <ViewLink to={{ ...view, clock: times.isUtc ? 'local' : 'utc' }}>
            {zoneOf(span, now, times)} <span aria-hidden="true">⇄</span>
            <span class="unseen">: show {times.isUtc ? 'local time' : 'UTC'}</span>
          </ViewLink>
        )}
        <Button aria-label="Refresh" title="Refresh" onClick={actions.refreshNow}>
          ↻
        </Button>
      </span>
    </nav>
  );
};
