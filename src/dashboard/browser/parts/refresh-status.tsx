import { useEffect, useState } from 'preact/hooks';

import { type Refresh, troubleText } from '../model/refresh.ts';
import { useShown } from './shown.ts';
import { TimeWords } from './words.tsx';

/** The time now, every second: nothing else is drawn anew for it. */
const useSeconds = (): number => {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
};

const ago = (seconds: number): string => {
  if (seconds < 60) return `${seconds} s ago`;
  return seconds < 3_600 ? `${Math.floor(seconds / 60)} min ago` : `${Math.floor(seconds / 3_600)} h ago`;
};

/** How long ago the service last answered; in the header. */
export const RefreshStatus = ({ refresh }: { readonly refresh: Refresh }) => {
  const { times, actions } = useShown();
  const { last, phase } = refresh;
  const now = Math.max(useSeconds(), last?.at ?? 0);
  const isLate = last !== undefined && now > last.lateFrom;
  return (
    <div class={`refresh ${phase} ${isLate ? 'late' : ''}`}>
      <span class="dot" aria-hidden="true" />
      <span class="words" title={last && times.clock(last.at).text}>
        {last === undefined
          ? phase === 'asking'
            ? 'Asking the service…'
            : 'No answer yet'
          : `Updated ${ago(Math.floor((now - last.at) / 1_000))}`}
      </span>
      {phase === 'locked' ? null : (
        <button type="button" class="button" onClick={actions.refreshNow}>
          Refresh
        </button>
      )}
    </div>
  );
};

/**
 * Says that the service does not answer and what is shown instead. It is there always, so that a screen reader hears it change.
 *
 * @param shownAt when the figures were answered that are shown; undefined where none are
 */
export const FailureBanner = ({
  refresh,
  shownAt,
}: {
  readonly refresh: Refresh;
  readonly shownAt: number | undefined;
}) => {
  const { times } = useShown();
  const failing = refresh.phase === 'failing';
  return (
    <div class={failing ? 'banner' : 'banner none'}>
      <div role="status">
        {failing ? (
          <>
            <strong>{troubleText(refresh.trouble)}</strong>{' '}
            {shownAt === undefined ? (
              'There is nothing to show yet.'
            ) : (
              <>
                You see what it answered at <TimeWords of={times.clock(shownAt)} />.
              </>
            )}
          </>
        ) : null}
      </div>
      {failing ? (
        <p class="next">
          Next try at <TimeWords of={times.clock(refresh.nextAt)} />.
        </p>
      ) : null}
    </div>
  );
};
