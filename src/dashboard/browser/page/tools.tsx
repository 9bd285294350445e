import { movedSpan, spanTitle, zoneOf } from '../model/spans.ts';
import { lengthText } from '../model/times.ts';
import { Button } from '../parts/button.tsx';
import { Combobox } from '../parts/combobox.tsx';
import { useShown } from '../parts/shown.ts';
import { ViewLink } from '../parts/view-link.tsx';
import { RANGE_PANEL, RangePanel } from './range-panel.tsx';

/** One row: the range, the camera, the zone, and a refresh. */
export const Tools = () => {
  const { view, times, now, cameraIds, cameras, actions } = useShown();
  const { span, cameraId } = view;
  const unit = span.kind === 'today' || span.kind === 'day' ? ' day' : '';
  const title = spanTitle(span, now, times);
  const moved = (by: -1 | 1) => {
    const to = movedSpan(span, by, now, times);
    return to && { ...view, span: to };
  };
  const noteOf = (id: string): string => {
    const found = cameras?.byId.get(id);
    if (found === undefined || found.state === 'sending') return '';
    return `${found.state} for ${lengthText(now - Date.parse(found.lastEventAt))}`;
  };
  return (
    <nav class="tools row" aria-label="What is shown">
      <div class="joined">
        <ViewLink to={moved(-1)} label={`Earlier${unit}`}>
          <span aria-hidden="true">‹</span>
        </ViewLink>
        <Button look="opener" popovertarget={RANGE_PANEL} aria-label={`Range: ${title}`}>
          {title} <span aria-hidden="true">▾</span>
        </Button>
        <ViewLink to={moved(1)} label={`Later${unit}`}>
          <span aria-hidden="true">›</span>
        </ViewLink>
      </div>
      <RangePanel />
      <Combobox
        id="camera"
        label="Camera"
        placeholder="All cameras"
        value={cameraId ?? ''}
        options={cameraIds}
        noteOf={noteOf}
        onChoose={(id) => actions.show({ ...view, cameraId: id === '' ? undefined : id })}
      />
      {cameraId && (
        <ViewLink to={{ ...view, cameraId: undefined }} onFollowed={() => document.getElementById('camera')?.focus()}>
          All cameras
        </ViewLink>
      )}
      <span class="apart row">
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
