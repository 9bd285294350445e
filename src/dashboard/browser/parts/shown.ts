import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';

import type { ServiceClock } from '../asking/service-clock.ts';
import type { Wants } from '../model/page-state.ts';
import type { Question } from '../model/questions.ts';
import type { Times } from '../model/times.ts';
import type { View } from '../model/view.ts';

/** What a person can do on the page. */
export interface Actions {
  /** Shows another view; its address goes into the history. */
  readonly show: (view: View) => void;
  /** The address of a view, for links. */
  readonly addressOf: (view: View) => string;
  readonly refreshNow: () => void;
  readonly giveKey: (key: string) => void;
  readonly forgetKey: () => void;
  readonly want: (wants: Partial<Wants>) => void;
  /** Ends when the answer is shown. */
  readonly stopNotification: (id: string) => Promise<void>;
  /** Says who has an alert in hand. Ends when the answer is shown. */
  readonly acknowledge: (id: string, by: string) => Promise<void>;
  /** A CSV file of the service; undefined if it gives none now. */
  readonly file: (question: Question) => Promise<string | undefined>;
  readonly switchSound: (isOn: boolean) => void;
}

/** What every part of the page may need: what is shown, by which clock, and what a person can do. */
export interface Shown {
  readonly view: View;
  /** Times as the view wants them. */
  readonly times: Times;
  /** The day that is shown, or the first and the last one: for the names of files. */
  readonly days: string;
  /** The page has a key. */
  readonly keyHeld: boolean;
  readonly actions: Actions;
  readonly clock: ServiceClock;
}

/** The page gives it to its parts. */
export const ShownContext = createContext<Shown | undefined>(undefined);

/** For a part of the page. @throws {TypeError} outside of it */
export const useShown = (): Shown => {
  const shown = useContext(ShownContext);
  if (shown === undefined) throw new TypeError('this part is not on the page');
  return shown;
};

/** The time now, every second: only the part that uses it is drawn again. Milliseconds since 1970. */
export const useSeconds = (): number => {
  const { clock } = useShown();
  const [now, setNow] = useState(() => clock.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(clock.now()), 1_000);
    return () => clearInterval(timer);
  }, [clock]);
  return now;
};

/** Brings an element into sight and moves the focus to it. */
export const goTo = (element: HTMLElement | null): void => {
  element?.scrollIntoView({ block: 'start' });
  element?.focus({ preventScroll: true });
};
