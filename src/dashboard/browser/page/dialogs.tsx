import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

import { canBeKey, keptName } from '../asking/kept.ts';
import { alertState, alertTypeText } from '../model/alert-state.ts';
import type { Notification } from '../model/answers.ts';
import { useShown } from '../parts/shown.ts';
import { SHORTCUTS } from './keyboard.ts';

/** The open dialog. The page owns it: it stays, with the typed text, when the alert changes. */
export const Dialogs = () => {
  const { dialog } = useShown().state;
  if (dialog === undefined) return null;
  if (dialog.kind === 'keys') return <KeysDialog />;
  const key = `${dialog.kind} ${dialog.of.notification_id}`;
  return dialog.kind === 'take' ? <TakeDialog key={key} of={dialog.of} /> : <StopDialog key={key} of={dialog.of} />;
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
const About = ({ of }: { readonly of: Notification }) => {
  const now = useShown().freshest.get(of.notification_id) ?? of;
  const [before, after] = [alertState(of).text, alertState(now).text];
  const owner = now.acknowledged_by === of.acknowledged_by ? undefined : now.acknowledged_by;
  return (
    <>
      <p class="about">
        <b>{alertTypeText(of.alert_type)}</b>
        {of.details === undefined ? null : <bdi> · {of.details}</bdi>}
        {of.reference === undefined ? null : <bdi class="note"> · {of.reference}</bdi>}
      </p>
      <p role="status" class="since-opened">
        {before === after ? null : `Meanwhile: ${after}. `}
        {owner === undefined ? null : `${owner} has taken it.`}
      </p>
    </>
  );
};

/** The service's limit. */
const MOST_CHARACTERS = 60;

/** It asks for the name each time: the next shift uses the same screen. */
const NameField = ({ label }: { readonly label: string }) => {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.select(), []);
  return (
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
  );
};

const nameIn = (form: HTMLFormElement): string => {
  const by = new FormData(form).get('by');
  return typeof by === 'string' ? by.trim() : '';
};

const TakeDialog = ({ of }: { readonly of: Notification }) => {
  const { actions } = useShown();
  const owner = of.acknowledged_by;
  return (
    <Modal
      title={owner === undefined ? 'Take this alert' : `Take over from ${owner}`}
      returnTo={`alert-${of.notification_id}`}
    >
      <About of={of} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const by = nameIn(event.currentTarget);
          if (by === '') return;
          actions.openDialog(undefined);
          void actions.take(of, by);
        }}
      >
        <NameField label="Who has it?" />
        <p class="note">
          Every reader sees the name, and the alarm stops. Calls continue. The alert comes back if it becomes worse.
        </p>
        <div class="row">
          <button type="submit" class="button primary">
            Take
          </button>
          <button type="button" class="button" onClick={() => actions.openDialog(undefined)}>
            Cancel
          </button>
        </div>
      </form>
    </Modal>
  );
};

const StopDialog = ({ of }: { readonly of: Notification }) => {
  const { actions, state } = useShown();
  const cancel = useRef<HTMLButtonElement>(null);
  const key = useRef<HTMLInputElement>(null);
  useEffect(() => cancel.current?.focus(), []);
  return (
    <Modal title="Stop the calls of this alert?" returnTo={`alert-${of.notification_id}`}>
      <About of={of} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const by = nameIn(event.currentTarget);
          if (by === '') return;
          const given = key.current?.value.trim() ?? '';
          actions.openDialog(undefined);
          if (canBeKey(given)) actions.giveKey(given);
          void actions.stop(of, by);
        }}
      >
        <NameField label="Who stops it?" />
        {state.keyHeld ? null : (
          <label>
            Function key, if this service demands one <input ref={key} type="password" autocomplete="off" />
          </label>
        )}
        <p class="note">
          The service calls no more people and cancels ringing calls. A person in a call hears the message to its end.
        </p>
        <div class="row">
          <button type="submit" class="button stop">
            Stop the calls
          </button>
          {/* It has the focus: Enter stops nothing. */}
          <button type="button" class="button" ref={cancel} onClick={() => actions.openDialog(undefined)}>
            Continue phoning
          </button>
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
      <button type="button" class="button" onClick={() => actions.openDialog(undefined)}>
        Close
      </button>
    </Modal>
  );
};

/** Milliseconds that a good result stays. A failure stays until the reader closes it. */
const TOAST_MS = 8_000;

/** The result of the last action. */
export const ToastLine = () => {
  const { state, actions } = useShown();
  const { toast } = state;
  const [hovered, setHovered] = useState(false);
  useEffect(() => {
    if (toast === undefined || toast.isBad || hovered) return undefined;
    const timer = setTimeout(() => actions.say(undefined), TOAST_MS);
    return () => clearTimeout(timer);
  }, [toast, hovered, actions]);
  return (
    <div class="toasts" role={toast?.isBad === true ? 'alert' : 'status'}>
      {toast === undefined ? null : (
        <p
          class={toast.isBad ? 'toast bad' : 'toast'}
          onPointerEnter={() => setHovered(true)}
          onPointerLeave={() => setHovered(false)}
        >
          <span>{toast.text}</span>
          {toast.undo === undefined ? null : (
            <button
              type="button"
              class="button small"
              onClick={() => {
                actions.say(undefined);
                toast.undo?.();
              }}
            >
              Undo
            </button>
          )}
          <button
            type="button"
            class="button small"
            aria-label="Close the message"
            onClick={() => actions.say(undefined)}
          >
            ✕
          </button>
        </p>
      )}
    </div>
  );
};
