import { fireEvent, screen, within } from '@testing-library/preact';
import { afterEach, vi } from 'vitest';

import { startPage } from '../../../src/dashboard/browser/start-page.tsx';
import { NOON, PageAnswers } from '../answers.ts';

let close: () => void = () => undefined;

afterEach(() => {
  close();
  document.body.replaceChildren();
  sessionStorage.clear();
  localStorage.clear();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** The sounds and desktop notifications of the browser. */
export interface Heard {
  /** How often each signal sounded: `880 880 880`, `440 330`. */
  readonly signals: string[];
  readonly shown: string[];
  /** True: the browser blocks the sound until a click. */
  isBlocked: boolean;
  /** The system takes the sound away until a click. */
  interrupt: () => void;
}

/** Stands for the browser's sound and desktop notifications, and records them. */
export const hear = (): Heard => {
  const heard: Heard = { signals: [], shown: [], isBlocked: false, interrupt: () => undefined };
  let tones: number[] = [];
  const started = (frequency: number): void => {
    tones.push(frequency);
    queueMicrotask(() => {
      if (tones.length > 0) heard.signals.push(tones.join(' '));
      tones = [];
    });
  };
  class Sound {
    state = heard.isBlocked ? 'suspended' : 'running';
    readonly currentTime = 0;
    constructor() {
      heard.interrupt = () => (this.state = 'interrupted');
    }
    readonly createGain = () => ({ connect: () => undefined, gain: {} });
    readonly createOscillator = () => {
      const frequency = { value: 0 };
      const start = () => started(frequency.value);
      return {
        connect: (next: object) => ({ ...next, connect: () => undefined }),
        frequency,
        start,
        stop: () => undefined,
      };
    };
    readonly resume = async () => {
      if (!heard.isBlocked) this.state = 'running';
    };
  }
  class Shown extends EventTarget {
    static permission = 'granted';
    static readonly requestPermission = async () => 'granted';
    constructor(_: string, { body }: { readonly body: string }) {
      super();
      heard.shown.push(body);
    }
  }
  vi.stubGlobal('AudioContext', Sound);
  vi.stubGlobal('Notification', Shown);
  return heard;
};

/** Stands for the browser's popovers: closed until they are shown. The focus returns to their button. */
const showPopovers = (): void => {
  document.head.insertAdjacentHTML('beforeend', '<style>[popover]:not([data-shown]) { display: none }</style>');
  HTMLElement.prototype.showPopover = function show() {
    this.dataset['shown'] = 'yes';
  };
  HTMLElement.prototype.hidePopover = function hide() {
    delete this.dataset['shown'];
    document.querySelector<HTMLElement>(`[popovertarget="${this.id}"]`)?.focus();
  };
};

/** Hides the tab, or shows it. */
const setHidden = (isHidden: boolean): void => {
  vi.spyOn(document, 'hidden', 'get').mockReturnValue(isHidden);
  document.dispatchEvent(new Event('visibilitychange'));
};

/** Time passes. The page gets answers and draws them. */
const advance = async (milliseconds: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(milliseconds);
};

const act = async (role: 'button' | 'link', name: string | RegExp, inside: HTMLElement): Promise<void> => {
  within(inside).getAllByRole(role, { name })[0]?.click();
  await advance(0);
};

const open = async (): Promise<void> => {
  close();
  document.body.innerHTML = '<div id="page"></div>';
  close = startPage(element('#page'));
  await advance(0);
};

/**
 * Opens the page of a service at noon of 21 November 2026, in place of an earlier page. The clocks stand until {@link advance}.
 *
 * @param key in the tab's storage
 */
export const openPage = async (differences: Partial<PageAnswers> = {}, search = '?tz=utc', key?: string) => {
  const service = Object.assign(new PageAnswers(), differences);
  vi.useFakeTimers({
    now: NOON,
    toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
  });
  vi.restoreAllMocks();
  vi.stubGlobal('fetch', service.fetch);
  // The timeouts of questions pass by the clock of the test, too.
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), milliseconds);
    return controller.signal;
  });
  history.replaceState(null, '', `/api/dashboard${search}`);
  document.head.innerHTML = '<link rel="icon" href="data:image/svg+xml,%3Csvg%3E%3C/svg%3E">';
  showPopovers();
  if (key !== undefined) sessionStorage.setItem('wildfire-camera-activity.function-key', key);
  await open();
  return {
    service,
    advance,
    setHidden,
    /** The level and the words of a lamp of the health bar. */
    lamp: (name: 'Alerts' | 'Phone' | 'Cameras' | 'Data') => {
      const lamp = element(`[data-lamp=${name}]`);
      return `${lamp.className.replace('lamp ', '')}: ${textOf(lamp.querySelector('b'), '.paper')}`;
    },
    /** Why the page is not current. */
    problems: () => [...document.querySelectorAll('.problem')].map((line) => textOf(line, 'a')),
    /** The alerts by section, without their buttons. */
    alerts: () => {
      const sections: Record<string, string[]> = {};
      for (const body of document.querySelectorAll('.alerts tbody')) {
        const name = textOf(body.querySelector('.section th'), '.note, .button, [aria-hidden]');
        sections[name] = [...body.querySelectorAll('.alert')].map((row) => textOf(row, 'button, .paper'));
      }
      return sections;
    },
    /** The row of an alert. */
    row: (id: string) => element(`[data-alert="${id}"]`),
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
    /** Opens details. */
    unfold: async (details: Element | null) => {
      details?.toggleAttribute('open', true);
      details?.dispatchEvent(new Event('toggle'));
      await advance(0);
    },
    /** Loads the page again in the same tab. */
    reload: open,
  };
};

/** The first element of a selector. */
export const element = (selector: string): HTMLElement => {
  const found = document.querySelector<HTMLElement>(selector);
  if (found === null) throw new Error(`there is no ${selector}`);
  return found;
};

/** The text of an element, without some of its parts. Adjacent parts are apart, as in a layout. */
export const textOf = (of: Element | null, without = 'none'): string =>
  textsIn(of, without)
    .join(' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ (?=[.,:)’])/g, '')
    .replaceAll('( ', '(')
    .trim();

const textsIn = (of: Node | null, without: string): readonly string[] =>
  [...(of?.childNodes ?? [])].flatMap((child) => {
    if (child instanceof Element && child.matches(without)) return [];
    return child.nodeType === Node.TEXT_NODE ? (child.textContent ?? '') : textsIn(child, without);
  });

/** The texts of a table: rows of cells. */
export const cellsOf = (name: string | RegExp): readonly (readonly string[])[] =>
  [...screen.getByRole('table', { name }).querySelectorAll('tbody tr')].map((row) =>
    [...row.children].map((cell) => textOf(cell)),
  );

/** The text of the element with the focus. */
export const focused = (): string => textOf(document.activeElement);
