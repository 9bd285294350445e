import { screen, within } from '@testing-library/preact';
import { afterEach, expect, vi } from 'vitest';

import { startPage } from '../../../src/dashboard/browser/start-page.tsx';
import { NOON, PageAnswers } from '../answers.ts';

const opened: (() => void)[] = [];

afterEach(() => {
  for (const close of opened.splice(0)) close();
  document.body.replaceChildren();
  sessionStorage.clear();
  localStorage.clear();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Turns the tab away from its reader, or back. */
const setHidden = (isHidden: boolean): void => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden });
  document.dispatchEvent(new Event('visibilitychange'));
};

const open = (): (() => void) => {
  const root = document.createElement('div');
  document.body.append(root);
  const close = startPage(root);
  return () => {
    close();
    root.remove();
  };
};

/** Time passes; answers that are there are shown. */
const advance = async (milliseconds: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(milliseconds);
};

const status = (): HTMLElement => element('.page-status');

/** How the page is opened. */
interface Opening {
  readonly search?: string;
  /** What the service answers. */
  readonly service?: PageAnswers;
  /** Kept for the tab already. */
  readonly key?: string;
  /** False: the first answers are not awaited. */
  readonly awaitsAnswers?: boolean;
}

/** The page as a reader has it, at noon of 21 November 2026 by clocks that stand until {@link advance} is called. */
export const openPage = async ({
  search = '?tz=utc',
  service = new PageAnswers(),
  key,
  awaitsAnswers = true,
}: Opening = {}) => {
  vi.useFakeTimers({ now: NOON, toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  vi.stubGlobal('fetch', service.fetch);
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => false });
  history.replaceState(null, '', `/api/dashboard${search}`);
  document.head.innerHTML = '<link rel="icon" href="data:image/svg+xml,%3Csvg%3E%3C/svg%3E">';
  if (key !== undefined) sessionStorage.setItem('wildfire-camera-activity.function-key', key);
  let close = open();
  opened.push(() => close());
  if (awaitsAnswers) await advance(0);
  return {
    service,
    advance,
    setHidden,
    /** `green`, `grey` or `red`, and what the head says beside the button. */
    head: () => ({
      color: status().className.replace('page-status ', ''),
      words: textOf(status().querySelector('.words')),
    }),
    /** The lines of the strip, the worst first; without their buttons. */
    strip: () =>
      [...document.querySelectorAll('.attention .alert')].map((line) => {
        const copy = document.createElement('p');
        copy.innerHTML = line.innerHTML;
        for (const control of copy.querySelectorAll('button, dialog')) control.remove();
        return textOf(copy);
      }),
    figure: (fact: string) => textOf(document.querySelector(`[data-fact="${fact}"]`)),
    press: async (name: string | RegExp, inside: HTMLElement = document.body) => {
      within(inside).getAllByRole('button', { name })[0]?.click();
      await advance(0);
    },
    follow: async (name: string | RegExp, inside: HTMLElement = document.body) => {
      within(inside).getAllByRole('link', { name })[0]?.click();
      await advance(0);
    },
    /** Loads the page again in the same tab. */
    reload: async () => {
      close();
      close = open();
      await advance(0);
    },
  };
};

/** The first element of a selector. @throws {Error} if there is none */
export const element = (selector: string): HTMLElement => {
  const found = document.querySelector<HTMLElement>(selector);
  if (found === null) throw new Error(`there is no ${selector}`);
  return found;
};

/** What somebody reads in an element. Parts that stand beside each other are apart, as in a layout. */
export const textOf = (of: Element | null): string =>
  textsIn(of)
    .join(' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ (?=[.,:)’])/g, '')
    .replaceAll('( ', '(')
    .trim();

const textsIn = (of: Node | null): readonly string[] =>
  [...(of?.childNodes ?? [])].flatMap((child) =>
    child.nodeType === Node.TEXT_NODE ? (child.textContent ?? '') : textsIn(child),
  );

/** A table of the page, as texts: rows of cells. */
export const cellsOf = (name: string | RegExp): readonly (readonly string[])[] =>
  [...screen.getByRole('table', { name }).querySelectorAll('tbody tr')].map((row) => [...row.children].map(textOf));

/** The element that has the focus, in words. */
export const focused = (): string => textOf(document.activeElement);

/** Holds the title of the tab against a pattern. */
export const expectTitle = (title: RegExp): void => expect(document.title).toMatch(title);
