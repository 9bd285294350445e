import { useLayoutEffect, useRef } from 'preact/hooks';

import { Button } from '../parts/button.tsx';
import { useShown } from '../parts/shown.ts';

/** `refused`: the service did not accept the last key. `isHeld`: the page holds a key that was accepted before. */
export const KeyForm = ({ refused, isHeld }: { readonly refused: boolean; readonly isHeld: boolean }) => {
  const { actions } = useShown();
  const input = useRef<HTMLInputElement>(null);
  // Before the paint, so that the first typed letter is not lost. A reader who is somewhere else stays there.
  useLayoutEffect(() => {
    const { activeElement: at, body } = document;
    if (at === body || at?.id === 'shown') input.current?.focus();
  }, [refused]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    actions.giveKey(input.current?.value.trim() ?? '');
    // The form had the focus, and is gone.
    document.getElementById('shown')?.focus();
  };
  return (
    <section class="card key" aria-labelledby="key-title">
      <h2 id="key-title">{isHeld ? 'The service no longer accepts the key' : 'This service asks for a key'}</h2>
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
            aria-invalid={refused}
            required
            // A header accepts visible ASCII only.
            pattern="\s*[!-~]{1,512}\s*"
            title="letters, digits and signs, without spaces"
          />
          <Button type="submit" look="primary">
            Open
          </Button>
        </div>
        <p id="key-problem" class="trouble" role="alert">
          {refused ? 'The service did not accept this key.' : undefined}
        </p>
        <p id="key-note" class="note">
          The page keeps it until this tab is closed, sends it to this service only, and never puts it into an address.
        </p>
      </form>
    </section>
  );
};
