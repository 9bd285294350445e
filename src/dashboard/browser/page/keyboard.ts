import { alertState, isTaken } from '../model/alert-state.ts';
import type { Notification } from '../model/answers.ts';
import type { Shown } from '../parts/shown.ts';
import { closeAlert } from './drawer.tsx';

export const SHORTCUTS: readonly (readonly [key: string, words: string])[] = [
  ['/', 'Find a camera'],
  ['j', 'Next alert'],
  ['k', 'Alert before'],
  ['Enter', 'Open the alert'],
  ['a', 'Take the alert'],
  ['s', 'Stop the calls of the alert'],
  ['Esc', 'Close the alert'],
  ['?', 'This list'],
];

/** Handles the keys of the page. In a field or a dialog, letters are text. */
export const keyboardOf =
  (shownNow: () => Shown | undefined) =>
  (event: KeyboardEvent): void => {
    const shown = shownNow();
    const { key, target } = event;
    if (shown === undefined || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (shown.view.wall || shown.state.dialog !== undefined) return;
    // A field or a panel that uses Escape itself stops the event.
    if (key === 'Escape') return closeAlert(shown);
    if (isTyping(target)) return;
    if (key === '/') document.getElementById('camera')?.focus();
    else if (key === '?') shown.actions.openDialog({ kind: 'keys' });
    else if (key === 'j' || key === 'k') move(key === 'j' ? 1 : -1);
    else if (key === 'a' || key === 's') act(key, shown);
    else return;
    event.preventDefault();
  };

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null;

const move = (by: 1 | -1): void => {
  const links = [...document.querySelectorAll<HTMLElement>('[data-alert] .alert-link')];
  const row = document.activeElement?.closest('[data-alert]');
  const current = links.findIndex((link) => row?.contains(link) === true);
  const next =
    links[current < 0 ? (by === 1 ? 0 : links.length - 1) : Math.min(Math.max(current + by, 0), links.length - 1)];
  next?.focus();
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
