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

/** Everything that the page shows, and what a person can do. */
export interface Shown {
  readonly state: PageState;
  readonly view: View;
  /** Times as the view wants them. */
  readonly times: Times;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly status: PageStatus;
  readonly attention: Attention;
  /** Each notification as the freshest answer has it, by its id. */
  readonly freshest: ReadonlyMap<string, Notification>;
  /** Undefined until it is known. */
  readonly silence: Silence | undefined;
  /** Every camera that the page knows of. */
  readonly cameraIds: readonly string[];
  readonly sound: { readonly isOn: boolean; readonly isDecided: boolean; readonly isReady: boolean };
  readonly clock: ServiceClock;
  readonly actions: Actions;
}

/** The page gives it to its parts. */
export const ShownContext = createContext<Shown | undefined>(undefined);

/** For a part of the page. @throws {TypeError} outside of it */
export const useShown = (): Shown => {
  const shown = useContext(ShownContext);
  if (shown === undefined) throw new TypeError('this part is not on the page');
  return shown;
};

/** The last answer of one part of the page, whether it waits for its first one, and as of when it was true if it is not current. */
export const usePart = <Name extends PartName>(
  name: Name,
): { readonly answer: Answers[Name] | undefined; readonly busy: boolean; readonly note: string | undefined } => {
  const { state, now } = useShown();
  return { answer: state.parts[name]?.answer, busy: isBusy(state, name), note: partNote(state, name, now) };
};

/** The colors of the categories; the same object until there are other counts. */
export const usePalette = (): Palette => {
  const { answer } = usePart('activity');
  return useMemo(() => paletteOf(answer), [answer]);
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
