import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';

import type { ServiceClock } from '../asking/service-clock.ts';
import type { Cameras } from '../model/answers.ts';
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
  readonly stopNotification: (id: string) => void;
  /** Says who has seen a notification. */
  readonly acknowledge: (id: string, by: string) => void;
  /** Asks for cameras once, for a file. */
  readonly ask: (question: Question) => Promise<Cameras | undefined>;
  readonly switchAlarm: (isOn: boolean) => void;
}

/** What every part of the page may need: what is shown, by which clock, and what a person can do. */
export interface Shown {
  readonly view: View;
  /** Times as the view wants them. */
  readonly times: Times;
  /** The day that is shown, or the first and the last one: for the names of files. */
  readonly days: string;
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

/** The time now, every second: only the part that uses it is drawn anew. Milliseconds since 1970. */
export const useSeconds = (): number => {
  const { clock } = useShown();
  const [now, setNow] = useState(() => clock.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(clock.now()), 1_000);
    return () => clearInterval(timer);
  }, [clock]);
  return now;
};
