import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

import type { Lamp, Level } from '../model/health.ts';
import { lengthText } from '../model/times.ts';
import { Button } from '../parts/button.tsx';
import { useSeconds, useShown } from '../parts/shown.ts';
import { JumpLink } from '../parts/words.tsx';
import { closeAlert } from './drawer.tsx';
import { KEYS_PANEL } from './keyboard.tsx';

/** Each level has its own sign, for readers who cannot tell the colors apart. */
const SIGNS: Readonly<Record<Level, string>> = { good: '✓', quiet: '•', warn: '!', bad: '✕' };

/** The health of the service and of the page, and the sound. It stays in sight while the reader scrolls. */
export const HealthBar = () => {
  const { health, view, state, actions } = useShown();
  const bar = useRef<HTMLElement>(null);
  // The drawer begins below the bar, and the bar never covers the focus: on a phone, it has two or three lines.
  useLayoutEffect(() => {
    const measured = new ResizeObserver(() =>
      document.documentElement.style.setProperty('--head', `${bar.current?.offsetHeight ?? 0}px`),
    );
    if (bar.current !== null) measured.observe(bar.current);
    return () => measured.disconnect();
  }, []);
  return (
    <header ref={bar} class={`health row ${health.worst}`}>
      <h1>Camera activity</h1>
      <ul class="lamps row" aria-label="Health">
        {health.lamps.map((lamp) => (
          <li key={lamp.name} class={`lamp ${lamp.level}`} data-lamp={lamp.name}>
            <LampLink of={lamp}>
              <span class="sign" aria-hidden="true">
                {SIGNS[lamp.level]}
              </span>
              <span class="lamp-name">{lamp.name}</span>{' '}
              <b>{lamp.name === 'Data' ? <DataWords of={lamp} /> : lamp.text}</b>
            </LampLink>
          </li>
        ))}
      </ul>
      {view.wall ? null : (
        <div class="apart row">
          <SoundButton />
          {state.keyHeld ? (
            <Button look="small" onClick={actions.forgetKey}>
              Forget key
            </Button>
          ) : null}
          <Button look="small" aria-label="Keyboard shortcuts" popovertarget={KEYS_PANEL}>
            ?
          </Button>
        </div>
      )}
    </header>
  );
};

const LampLink = ({ of: { name, level }, children }: { readonly of: Lamp; readonly children: ComponentChildren }) => {
  const shown = useShown();
  const { actions, view } = shown;
  if (view.wall || (name !== 'Alerts' && name !== 'Cameras')) return <span class="lamp-body row">{children}</span>;
  const isSilent = name === 'Cameras' && level !== 'good';
  return (
    <JumpLink
      to={name === 'Alerts' ? 'alerts' : 'cameras'}
      class="lamp-body row"
      onFollow={() => {
        // On a phone, it covers the page.
        closeAlert(shown);
        if (isSilent) actions.want({ notSending: true });
      }}
    >
      {children}
    </JumpLink>
  );
};

/** `6 s old`; on paper, the time. */
const DataWords = ({ of: { text, level } }: { readonly of: Lamp }) => {
  const { health, times } = useShown();
  const now = useSeconds();
  const { asOf } = health;
  const at = asOf === undefined ? '' : times.clock(asOf).text;
  return (
    <span title={at}>
      {text}
      {asOf === undefined ? null : (
        <>
          <span class="screen">
            {level === 'bad' || level === 'warn' ? ` as of ${at}` : ` ${lengthText(now - asOf)} old`}
          </span>
          <span class="paper"> as of {at}</span>
        </>
      )}
    </span>
  );
};

/** The button for the sound. If the browser blocks the sound, the button says that: a click on it unlocks the sound. */
const SoundButton = () => {
  const { sound, actions } = useShown();
  const isBlocked = sound.isOn && !sound.isReady;
  const missed = sound.missed === 0 ? '' : `: ${sound.missed} missed`;
  const words = isBlocked ? `Sound is blocked${missed}. Click to allow it` : sound.isOn ? 'Sound on' : 'Sound off';
  return (
    <Button
      look={isBlocked ? 'small blocked' : 'small'}
      aria-pressed={sound.isOn}
      onClick={() => actions.switchSound(isBlocked || !sound.isOn)}
    >
      {words}
    </Button>
  );
};

/** Asked once in each browser. A browser lets a page sound only after a click. */
export const SoundQuestion = () => {
  const { actions } = useShown();
  return (
    <section class="banner row" aria-label="Sound">
      <p>Play a sound when an alert arrives, and every 25 s until a person takes it, even if you are in another tab?</p>
      <div class="row">
        <Button look="primary" onClick={() => actions.switchSound(true)}>
          Turn the sound on
        </Button>
        <Button onClick={() => actions.switchSound(false)}>Leave it off</Button>
      </div>
    </section>
  );
};
