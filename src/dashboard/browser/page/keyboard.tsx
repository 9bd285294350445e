import { alertState, isTaken } from '../model/alert-state.ts';
import type { Notification } from '../model/answers.ts';
import type { Shown } from '../parts/shown.ts';
import { closeAlert } from './drawer.tsx';

/** The id of the list of keys, for its button. */
export const KEYS_PANEL = 'keys';

const SHORTCUTS = {
  '/': 'Find a camera',
  j: 'Next alert',
  k: 'Alert before',
  Enter: 'Open the alert',
  a: 'Take the alert',
  s: 'Stop the calls of the alert',
  Esc: 'Close the alert',
  '?': 'This list',
};

export const KeysPanel = () => (
  <div id={KEYS_PANEL} popover="auto" role="dialog" aria-labelledby="keys-title">
    <h2 id="keys-title">Keyboard shortcuts</h2>
    <dl class="facts">
      {Object.entries(SHORTCUTS).map(([key, words]) => [
        <dt key={key}>
          <kbd>{key}</kbd>
        </dt>,
        <dd key={words}>{words}</dd>,
      ])}
    </dl>
  </div>
);

/** Handles the keys of the page. In a field or a dialog, letters are text. */
export const keyboardOf =
  (shownNow: () => Shown | undefined) =>
  (event: KeyboardEvent): void => {
    const shown = shownNow();
    const { key, target } = event;
    if (shown === undefined || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (shown.view.wall || shown.state.dialog !== undefined) return;
    // The browser closes an open panel. A field that uses Escape itself stops the event.
    if (key === 'Escape') return document.querySelector(':popover-open') === null ? closeAlert(shown) : undefined;
    if (target instanceof HTMLInputElement) return;
    if (key === '/') document.getElementById('camera')?.focus();
    else if (key === '?') document.getElementById(KEYS_PANEL)?.showPopover();
    else if (key === 'j' || key === 'k') move(key === 'j' ? 1 : -1);
    else if (key === 'a' || key === 's') act(key, shown);
    else return;
    event.preventDefault();
  };

const move = (by: 1 | -1): void => {
  const links = [...document.querySelectorAll<HTMLElement>('[data-alert] .alert-link')];
  const row = document.activeElement?.closest('[data-alert]');
  const current = links.findIndex((link) => row?.contains(link) === true);
  // Without a current alert, the first or the last.
  const next = current < 0 && by < 0 ? -1 : Math.min(Math.max(current + by, 0), links.length - 1);
  links.at(next)?.focus();
};

/** Takes or stops the alert with the focus, the open alert, or the first that can be taken or stopped. */
const act = (key: 'a' | 's', { alerts, freshest, view, actions }: Shown): void => {
  const can = (of: Notification): boolean =>
    key === 's' ? of.status === 'in_progress' : !isTaken(of) && alertState(of).stage !== 'done';
  const focused = document.activeElement?.closest<HTMLElement>('[data-alert]')?.dataset['alert'];
  const chosen = freshest.get(focused ?? view.notification ?? '');
  const of = chosen ?? [...alerts.needsYou, ...alerts.running].find(can);
  if (of !== undefined && can(of)) actions.openDialog({ kind: key === 'a' ? 'take' : 'stop', of });
};
