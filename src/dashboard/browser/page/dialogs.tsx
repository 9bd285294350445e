import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

import { keptName } from '../asking/kept.ts';
import { alertState, alertTypeText } from '../model/alert-state.ts';
import type { Notification } from '../model/answers.ts';
import type { Dialog } from '../model/page-state.ts';
import { Button } from '../parts/button.tsx';
import { useShown } from '../parts/shown.ts';
import { Time } from '../parts/words.tsx';

/** The open dialog. The page owns it: it stays, with the typed text, when the alert changes. */
export const AlertDialog = () => {
  const { dialog } = useShown().state;
  return dialog && <Opened key={`${dialog.kind} ${dialog.of.notification_id}`} {...dialog} />;
};

/** `Fire · North ridge, mile 4`, and its changes since the dialog opened. */
const About = ({ of, now }: { readonly of: Notification; readonly now: Notification }) => {
  const [before, after] = [alertState(of).text, alertState(now).text];
  const { acknowledged_by: owner, acknowledged_at: at } = now;
  return (
    <>
      <p>
        <b>{alertTypeText(of.alert_type)}</b>
        {[of.details, of.reference].flatMap((each) =>
          each === undefined ? [] : [' · ', <bdi key={each}>{each}</bdi>],
        )}
      </p>
      <p role="status" class="since-opened">
        {before === after ? null : `Meanwhile: ${after}. `}
        {owner === of.acknowledged_by || at === undefined ? null : (
          <>
            {owner} has taken it at <Time at={at} as="clock" />.
          </>
        )}
      </p>
    </>
  );
};

/** The service's limit. */
const MOST_CHARACTERS = 60;

/** The text of a dialog about an alert with this owner. */
const wordsOf = (kind: Dialog['kind'], owner: string | undefined) => {
  if (kind === 'stop') {
    return {
      title: 'Stop the calls of this alert?',
      label: 'Who stops it?',
      note: 'The service calls no more people and cancels ringing calls. A person in a call hears the message to its end.',
      submit: 'Stop the calls',
      cancel: 'Continue phoning',
    };
  }
  const submit = owner === undefined ? 'Take' : `Take over from ${owner}`;
  return {
    title: owner === undefined ? 'Take this alert' : submit,
    label: 'Who has it?',
    note: 'Every reader sees the name, and the alarm stops. Calls continue. The alert comes back if it becomes worse.',
    submit,
    cancel: 'Cancel',
  };
};

/** It asks for the name each time: the next shift uses the same screen. */
const Opened = ({ kind, of }: Dialog) => {
  const { actions, freshest } = useShown();
  const id = of.notification_id;
  const now = freshest.get(id) ?? of;
  const { title, label, note, submit, cancel } = wordsOf(kind, now.acknowledged_by);
  const dialog = useRef<HTMLDialogElement>(null);
  const [input, canceling] = [useRef<HTMLInputElement>(null), useRef<HTMLButtonElement>(null)];
  // At once: no typed letter is lost. Before a stop, Enter alone does nothing.
  useLayoutEffect(() => {
    const [shown, opener] = [dialog.current, document.activeElement];
    if (shown?.open === false) shown.showModal();
    if (kind === 'stop') canceling.current?.focus();
    else input.current?.select();
    return () => {
      shown?.close();
      const back = opener === document.body || !opener?.isConnected ? document.getElementById(`alert-${id}`) : opener;
      const target = back ?? document.getElementById('alerts');
      if (target instanceof HTMLElement) target.focus();
    };
  }, [kind, id]);
  const close = (): void => actions.openDialog(undefined);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={close}>
      <h2 id="dialog-title">{title}</h2>
      <About of={of} now={now} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const by = input.current?.value.trim() ?? '';
          keptName.set(by);
          close();
          void actions[kind](now, by);
        }}
      >
        <label>
          {label}{' '}
          <input
            ref={input}
            name="by"
            required
            pattern=".*\S.*"
            maxLength={MOST_CHARACTERS}
            autocomplete="off"
            defaultValue={keptName.get() ?? ''}
          />
        </label>
        <p class="note">{note}</p>
        <div class="row">
          <Button type="submit" look={kind === 'stop' ? 'stop' : 'primary'}>
            {submit}
          </Button>
          <Button ref={canceling} onClick={close}>
            {cancel}
          </Button>
        </div>
      </form>
    </dialog>
  );
};

/** Milliseconds that a good result stays. A failure stays until the reader closes it. */
const TOAST_MS = 12_000;

/** The result of the last action. */
export const ToastLine = () => {
  const { state, actions } = useShown();
  const { toast } = state;
  const close = (): void => actions.say(undefined);
  useEffect(() => {
    if (toast === undefined || toast.isBad) return undefined;
    const timer = setTimeout(close, TOAST_MS);
    return () => clearTimeout(timer);
  }, [toast]);
  return (
    <div class="toasts" role={toast?.isBad === true ? 'alert' : 'status'}>
      {toast && (
        <p class={toast.isBad ? 'toast row bad' : 'toast row'}>
          <span>{toast.text}</span>
          {toast.undo && (
            <Button
              look="small"
              onClick={() => {
                close();
                toast.undo?.();
              }}
            >
              Undo
            </Button>
          )}
          <Button look="small" aria-label="Close the message" onClick={close}>
            ✕
          </Button>
        </p>
      )}
    </div>
  );
};
