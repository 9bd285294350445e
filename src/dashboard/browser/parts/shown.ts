import { createContext } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';

import type { ServiceClock } from '../asking/service-clock.ts';
import type { Notification } from '../model/answers.ts';
import type { Attention } from '../model/attention.ts';
import { type Palette, paletteOf } from '../model/categories.ts';
import { type Answers, isBusy, type PageState, type PartName, type Wants } from '../model/page-state.ts';
import { type PageStatus, partNote } from '../model/page-status.ts';
import type { Question } from '../model/questions.ts';
import type { Silence } from '../model/silence.ts';
import type { Times } from '../model/times.ts';
import type { View } from '../model/view.ts';

export interface Actions {
  /** Shows another view, as a new entry of the history. */
  readonly show: (view: View) => void;
  readonly addressOf: (view: View) => string;
  readonly refreshNow: () => void;
  readonly giveKey: (key: string) => void;
  readonly forgetKey: () => void;
  readonly want: (wants: Partial<Wants>) => void;
  readonly stopNotification: (id: string) => Promise<void>;
  readonly acknowledge: (id: string, by: string) => Promise<void>;
  /** A CSV file; undefined if the service does not answer it now. */
  readonly file: (question: Question) => Promise<string | undefined>;
  readonly switchSound: (isOn: boolean) => void;
}

/** What the parts of the page need, computed once for each drawing. */
export interface Shown {
  readonly state: PageState;
  readonly view: View;
  readonly times: Times;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly status: PageStatus;
  readonly attention: Attention;
  readonly freshest: ReadonlyMap<string, Notification>;
  readonly silence: Silence | undefined;
  readonly cameraIds: readonly string[];
  readonly sound: { readonly isOn: boolean; readonly isDecided: boolean; readonly isReady: boolean };
  readonly clock: ServiceClock;
  readonly actions: Actions;
}

export const ShownContext = createContext<Shown | undefined>(undefined);

export const useShown = (): Shown => {
  const shown = useContext(ShownContext);
  if (shown === undefined) throw new TypeError('this part is not on the page');
  return shown;
};

/** `busy`: the part waits for its first answer. `note`: the part is not current. */
export const usePart = <Name extends PartName>(
  name: Name,
): { readonly answer: Answers[Name] | undefined; readonly busy: boolean; readonly note: string | undefined } => {
  const { state, now } = useShown();
  return { answer: state.parts[name]?.answer, busy: isBusy(state, name), note: partNote(state, name, now) };
};

export const usePalette = (): Palette => {
  const { answer } = usePart('activity');
  return useMemo(() => paletteOf(answer), [answer]);
};

/** The time (milliseconds since 1970). Each second, only the component that uses it is drawn again. */
export const useSeconds = (): number => {
  const { clock } = useShown();
  const [now, setNow] = useState(() => clock.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(clock.now()), 1_000);
    return () => clearInterval(timer);
  }, [clock]);
  return now;
};

/** Scrolls to an element and moves the focus to it. */
export const goTo = (element: HTMLElement | null): void => {
  element?.scrollIntoView({ block: 'start' });
  element?.focus({ preventScroll: true });
};
