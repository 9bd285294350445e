import type { PageState } from '../model/page-state.ts';
import { type Standing, standingOf } from '../model/standing.ts';
import { agoText } from '../model/times.ts';
import { useSeconds, useShown } from './shown.ts';
import { TimeWords } from './words.tsx';

/** How the page stands, as its worst part; in the header. */
export const RefreshStatus = ({ state }: { readonly state: PageState }) => {
  const { times, actions } = useShown();
  const { phase, at, bad } = standingOf(state, useSeconds());
  return (
    <div class={`refresh ${phase}`}>
      <span class="dot" aria-hidden="true" />
      <span class="words" title={at === undefined ? undefined : times.moment(at).text}>
        {phase === 'locked' ? (
          'Key needed'
        ) : phase === 'failing' || phase === 'late' ? (
          `Not current: ${bad.join(', ')}`
        ) : at === undefined || phase === 'asking' ? (
          'Asking the service…'
        ) : (
          <Updated at={at} />
        )}
      </span>
      {phase === 'locked' ? null : (
        <button type="button" class="button" onClick={actions.refreshNow}>
          Refresh
        </button>
      )}
    </div>
  );
};

const Updated = ({ at }: { readonly at: number }) => <>Updated {agoText(useSeconds() - at)}</>;

/** Switches the sound, and says where it could not be heard. */
export const AlarmSwitch = ({ isOn, isHeard }: { readonly isOn: boolean; readonly isHeard: boolean }) => {
  const { actions } = useShown();
  return (
    <>
      <button type="button" class="button quiet" aria-pressed={isOn} onClick={() => actions.switchAlarm(!isOn)}>
        Alarm {isOn ? 'on' : 'off'}
      </button>
      {isOn && !isHeard ? <span class="trouble">Click the page: before that it makes no sound.</span> : null}
    </>
  );
};

/** Says what is not answered, and what is shown instead. It is there always, so that a screen reader hears it change. */
export const FailureBanner = ({
  standing: { troubles },
  hasFigures,
}: {
  readonly standing: Standing;
  readonly hasFigures: boolean;
}) => {
  const { times } = useShown();
  return (
    <div class={troubles.length > 0 ? 'banner' : 'banner none'}>
      <div role="status">
        {troubles.map(({ text, parts, shownAt }) => (
          <p key={text}>
            {parts.length === 0 ? null : `Not current: ${parts.join(', ')}. `}
            <strong>{text}</strong>{' '}
            {shownAt !== undefined ? (
              <>
                You see what it answered at <TimeWords of={times.moment(shownAt)} />.
              </>
            ) : hasFigures ? null : (
              'There is nothing to show yet.'
            )}
          </p>
        ))}
      </div>
      {troubles.length === 0 ? null : (
        <p class="next">
          Next try at <TimeWords of={times.clock(Math.min(...troubles.map(({ nextAt }) => nextAt)))} />.
        </p>
      )}
    </div>
  );
};
