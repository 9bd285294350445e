import { fireEvent, screen, within } from '@testing-library/preact';
import { afterEach, vi } from 'vitest';

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

/** Hides the tab, or shows it. */
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

/** Time passes. The page gets answers and draws them. */
const advance = async (milliseconds: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(milliseconds);
};

interface Opening {
  readonly search?: string;
  /** Differences from a service where all is well. */
  readonly service?: Partial<PageAnswers>;
  /** A key in the tab's storage. */
  readonly key?: string;
}

/** Opens the page at noon of 21 November 2026. The clocks stand until {@link advance}. */
export const openPage = async ({ search = '?tz=utc', service: differences = {}, key }: Opening = {}) => {
  const service = Object.assign(new PageAnswers(), differences);
  vi.useFakeTimers({ now: NOON, toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  vi.stubGlobal('fetch', service.fetch);
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => false });
  history.replaceState(null, '', `/api/dashboard${search}`);
  document.head.innerHTML = '<link rel="icon" href="data:image/svg+xml,%3Csvg%3E%3C/svg%3E">';
  if (key !== undefined) sessionStorage.setItem('wildfire-camera-activity.function-key', key);
  let close = open();
  opened.push(() => close());
  await advance(0);
  const act = async (role: 'button' | 'link', name: string | RegExp, inside: HTMLElement): Promise<void> => {
    within(inside).getAllByRole(role, { name })[0]?.click();
    await advance(0);
  };
  return {
    service,
    advance,
    setHidden,
    /** The color and the words of the head. */
    head: () => ({
      color: element('.page-status').className.replace('page-status ', ''),
      words: textOf(element('.page-status .words')),
    }),
    /** The lines of the strip, without their buttons. */
    strip: () =>
      [...document.querySelectorAll('.attention .alert')].map((line) => {
        const copy = document.createElement('p');
        copy.innerHTML = line.innerHTML;
        for (const control of copy.querySelectorAll('button, dialog')) control.remove();
        return textOf(copy);
      }),
    figure: (fact: string) => textOf(document.querySelector(`[data-fact="${fact}"]`)),
    press: async (name: string | RegExp, inside: HTMLElement = document.body) => act('button', name, inside),
    follow: async (name: string | RegExp, inside: HTMLElement = document.body) => act('link', name, inside),
    /** Fills fields by their labels, and submits their form. */
    submit: async (fields: Readonly<Record<string, string>>, inside: HTMLElement = document.body) => {
      const filled = Object.entries(fields).map(([label, value]) => {
        const field = within(inside).getByLabelText<HTMLInputElement>(label);
        field.value = value;
        return field;
      });
      fireEvent.submit(filled[0]?.closest('form') ?? document.body);
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

/** The first element of a selector. */
export const element = (selector: string): HTMLElement => {
  const found = document.querySelector<HTMLElement>(selector);
  if (found === null) throw new Error(`there is no ${selector}`);
  return found;
};

/** The text of an element. Adjacent parts are apart, as in a layout. */
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

/** The texts of a table: rows of cells. */
export const cellsOf = (name: string | RegExp): readonly (readonly string[])[] =>
  [...screen.getByRole('table', { name }).querySelectorAll('tbody tr')].map((row) => [...row.children].map(textOf));

/** The text of the element with the focus. */
export const focused = (): string => textOf(document.activeElement);
