import { useLayoutEffect, useRef, useState } from 'preact/hooks';

import { canBeKey } from '../asking/kept.ts';
import { useShown } from '../parts/shown.ts';

/** `refused`: the service did not accept the last key. `hasShown`: the page shows the answers to an earlier key. */
export const KeyForm = ({ refused, hasShown }: { readonly refused: boolean; readonly hasShown: boolean }) => {
  const { actions } = useShown();
  const input = useRef<HTMLInputElement>(null);
  const [unfit, setUnfit] = useState(false);
  // Before the paint, so that the first typed letter is not lost.
  useLayoutEffect(() => input.current?.focus(), [refused]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const key = input.current?.value.trim() ?? '';
    setUnfit(!canBeKey(key));
    if (!canBeKey(key)) return;
    actions.giveKey(key);
    // The form had the focus, and is gone.
    document.querySelector<HTMLElement>('#shown')?.focus();
  };
  const problem = unfit
    ? 'A key consists of letters, digits and signs, without spaces.'
    : refused
      ? 'The service did not accept this key.'
      : undefined;
  return (
    <section class="card key" aria-labelledby="key-title">
      <h2 id="key-title">{hasShown ? 'The service no longer accepts the key' : 'This service asks for a key'}</h2>
      <p>
        Ask the operator of this service for the key. In Azure: Function App, Functions, App keys, Host keys; or{' '}
        <code>az functionapp keys list</code>.
      </p>
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
          The page keeps it until this tab is closed, sends it to this service only, and never puts it into an address.
        </p>
      </form>
    </section>
  );
};
