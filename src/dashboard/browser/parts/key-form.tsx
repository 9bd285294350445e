import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { canBeKey } from '../asking/kept.ts';
import { useShown } from './shown.ts';
import { TimeWords } from './words.tsx';

interface KeyFormProps {
  /** There was a key, and the service did not take it. */
  readonly refused: boolean;
  /** When what is shown was true; undefined where no key has worked before. */
  readonly shownAt: number | undefined;
}

/** Asks for the function key, and tells where the one that was given was not taken, or is not taken any more. */
export const KeyForm = ({ refused, shownAt }: KeyFormProps) => {
  const { actions, times } = useShown();
  const input = useRef<HTMLInputElement>(null);
  const [unfit, setUnfit] = useState(false);
  // Before it is painted: whoever types at once types into it.
  useLayoutEffect(() => input.current?.focus(), [refused]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const key = input.current?.value.trim() ?? '';
    setUnfit(!canBeKey(key));
    if (!canBeKey(key)) return;
    actions.giveKey(key);
    // The form is gone with the focus that it had: the figures are next.
    document.querySelector<HTMLElement>('#shown')?.focus();
  };
  const problem = unfit
    ? 'A key consists of letters, digits and signs, without spaces.'
    : refused
      ? 'The service did not accept this key.'
      : undefined;
  return (
    <section class="card key" aria-labelledby="key-title">
      <h2 id="key-title">
        {shownAt === undefined ? 'This service asks for a key' : 'The key is not accepted any more'}
      </h2>
      {shownAt === undefined ? null : (
        <p>
          Nothing is asked until there is a key that is. You see what the service answered at{' '}
          <TimeWords of={times.moment(shownAt)} />.
        </p>
      )}
      <form onSubmit={submit}>
        <label for="key">Function key</label>
        <div class="row">
          <input hidden autocomplete="username" value="camera activity" readOnly />
          <input
            id="key"
            ref={input}
            type="password"
            autocomplete="current-password"
            spellcheck={false}
            aria-describedby="key-note key-problem"
            aria-invalid={problem !== undefined}
          />
          <button type="submit" class="button primary">
            Open
          </button>
        </div>
        <p id="key-problem" class="trouble" role="alert">
          {problem}
        </p>
        <p id="key-note" class="note">
          It is kept until this tab is closed, is sent to this service only, and never becomes part of an address.
        </p>
      </form>
    </section>
  );
};
