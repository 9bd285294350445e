import { agoText } from '../model/times.ts';
import { useSeconds, useShown } from './shown.ts';
import { JumpLink, TimeWords } from './words.tsx';

/** The head of the page. Its status and the count of red alerts stay in sight while the reader scrolls. */
export const Head = () => {
  const { state, status, attention, sound, actions } = useShown();
  const { redCount } = attention;
  return (
    <header class="top">
      <div class="brand">
        <h1>Camera activity</h1>
        <button type="button" class="button" onClick={() => actions.switchSound(!sound.isOn)}>
          {sound.isOn ? 'Sound on · turn off' : 'Sound off · turn on'}
        </button>
        {sound.isOn && !sound.isReady ? (
          <span class="trouble">Click on the page: until then, the browser blocks the sound.</span>
        ) : null}
        {state.keyHeld ? (
          <button type="button" class="button" onClick={actions.forgetKey}>
            Forget the key
          </button>
        ) : null}
      </div>
      <div class={`page-status ${status.color}`}>
        {redCount === 0 ? null : (
          <JumpLink to="attention" class="alert-count">
            {redCount === 1 ? '1 alert' : `${redCount} alerts`}
          </JumpLink>
        )}
        <span class="dot" aria-hidden="true" />
        <StatusWords />
        {status.short === 'Key needed' ? null : (
          <button type="button" class="button" onClick={actions.refreshNow}>
            Refresh
          </button>
        )}
      </div>
    </header>
  );
};

const StatusWords = () => {
  const { times, status } = useShown();
  const { color, words, asOf } = status;
  const now = useSeconds();
  const title = asOf === undefined ? undefined : times.moment(asOf).text;
  return (
    <span class="words" title={title}>
      {words === undefined ? null : `${words} `}
      {asOf === undefined ? null : color === 'red' ? (
        <>
          as of <TimeWords of={times.clock(asOf)} />
        </>
      ) : words === undefined || color === 'gray' ? (
        `Updated ${agoText(now - asOf)}`
      ) : null}
    </span>
  );
};

/** Asked once. A browser lets a page sound only after a click. */
export const SoundQuestion = () => {
  const { actions } = useShown();
  return (
    <section class="banner" aria-label="Sound">
      <p>Play a sound when an alert arrives, even if you are in another tab?</p>
      <div class="row">
        <button type="button" class="button primary" onClick={() => actions.switchSound(true)}>
          Turn the sound on
        </button>
        <button type="button" class="button" onClick={() => actions.switchSound(false)}>
          Leave it off
        </button>
      </div>
    </section>
  );
};
