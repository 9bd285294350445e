import { answeredAtOf, type Refresh, troubleText } from '../model/refresh.ts';
import type { Actions } from './actions.ts';
import { times } from './texts.ts';

const clock = (milliseconds: number): string => {
  const own = times.ownClock(milliseconds);
  return `${times.utcClock(milliseconds)} UTC${own === undefined ? '' : ` (${own} your time)`}`;
};

/** When the service last answered; in the header. */
export const RefreshStatus = ({ refresh, actions }: { readonly refresh: Refresh; readonly actions: Actions }) => {
  const answeredAt = answeredAtOf(refresh);
  return (
    <div class={`refresh ${refresh.phase}`}>
      <span class="dot" aria-hidden="true" />
      <span class="words">
        {answeredAt === undefined
          ? refresh.phase === 'asking'
            ? 'Asking the service…'
            : 'No answer yet'
          : `Updated ${clock(answeredAt)}`}
      </span>
      {refresh.phase === 'locked' ? null : (
        <button type="button" class="button" onClick={actions.refreshNow}>
          Refresh
        </button>
      )}
    </div>
  );
};

/** Says that the service does not answer and what is shown instead. It is there always, so that a screen reader hears it change. */
export const FailureBanner = ({ refresh }: { readonly refresh: Refresh }) => {
  const failing = refresh.phase === 'failing';
  return (
    <div class={failing ? 'banner' : 'banner none'}>
      <div role="status">
        {failing ? (
          <>
            <strong>{troubleText(refresh.trouble)}</strong>{' '}
            {refresh.answeredAt === undefined
              ? 'There is nothing to show yet.'
              : `You see what it answered at ${clock(refresh.answeredAt)}.`}
          </>
        ) : null}
      </div>
      {failing ? <p class="next">Next try at {clock(refresh.nextAt)}.</p> : null}
    </div>
  );
};
