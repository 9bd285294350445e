import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

import { keptName } from '../asking/kept.ts';
import { alertState, alertTypeText } from '../model/alert-state.ts';
import type { Notification } from '../model/answers.ts';
import { Button } from '../parts/button.tsx';
import { useShown } from '../parts/shown.ts';
import { Time } from '../parts/words.tsx';
import { SHORTCUTS } from './keyboard.ts';

/** The open dialog. The page owns it: it stays, with the typed text, when the alert changes. */
export const Dialogs = () => {
  const { dialog } = useShown().state;
  if (dialog === undefined) return null;
  if (dialog.kind === 'keys') return <KeysDialog />;
  return <ActDialog key={`${dialog.kind} ${dialog.of.notification_id}`} {...dialog} />;
};

/** A modal dialog. `returnTo`: the id of the element that gets the focus if the opener is gone. */
const Modal = ({ title, returnTo, children }: { title: string; returnTo: string; children: ComponentChildren }) => {
  const { actions } = useShown();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const shown = dialog.current;
    if (shown?.open === false) shown.showModal();
    return () => {
      shown?.close();
      const back =
        opener?.isConnected === true && opener !== document.body ? opener : document.getElementById(returnTo);
      const target = back ?? document.getElementById('alerts');
      if (target instanceof HTMLElement) target.focus();
    };
  }, [returnTo]);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={() => actions.openDialog(undefined)}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
};

/** `Fire · North ridge, mile 4`, and its changes since the dialog opened. */
const About = ({ of, now }: { readonly of: Notification; readonly now: Notification }) => {
  const [before, after] = [alertState(of).text, alertState(now).text];
  const { acknowledged_by: owner, acknowledged_at: at } = now;
  return (
    <>
      <p class="about">
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
const wordsOf = (kind: 'take' | 'stop', owner: string | undefined) => {
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
const ActDialog = ({ kind, of }: { readonly kind: 'take' | 'stop'; readonly of: Notification }) => {
  const { actions, freshest } = useShown();
  const now = freshest.get(of.notification_id) ?? of;
  const { title, label, note, submit, cancel } = wordsOf(kind, now.acknowledged_by);
  const [input, canceling] = [useRef<HTMLInputElement>(null), useRef<HTMLButtonElement>(null)];
  // At once, and after the dialog has opened: no typed letter is lost. Before a stop, Enter alone does nothing.
  useLayoutEffect(() => (kind === 'stop' ? canceling.current?.focus() : input.current?.select()), [kind]);
  const close = (): void => actions.openDialog(undefined);
  return (
    <Modal title={title} returnTo={`alert-${of.notification_id}`}>
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
    </Modal>
  );
};

const KeysDialog = () => {
  const { actions } = useShown();
  return (
    <Modal title="Keyboard shortcuts" returnTo="alerts">
      <dl class="facts">
        {SHORTCUTS.map(([key, words]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <Button onClick={() => actions.openDialog(undefined)}>Close</Button>
    </Modal>
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
      {toast === undefined ? null : (
        <p class={toast.isBad ? 'toast bad' : 'toast'}>
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
