import { createContext } from 'preact';
import { useContext, useLayoutEffect, useMemo, useState } from 'preact/hooks';

import type { ServiceClock } from '../asking/service-clock.ts';
import type { Alerts } from '../model/alert-order.ts';
import type { Answers, Notification, PartName } from '../model/answers.ts';
import type { CameraStates } from '../model/camera-states.ts';
import { type Palette, paletteOf } from '../model/categories.ts';
import { partNote } from '../model/freshness.ts';
import type { Health } from '../model/health.ts';
import { type Dialog, isBusy, type PageState, type Toast, type Wants } from '../model/page-state.ts';
import type { Question } from '../model/questions.ts';
import type { Times } from '../model/times.ts';
import type { View } from '../model/view.ts';
import { everySecond } from './every-second.ts';

export interface Actions {
  /** Shows another view, as a new entry of the history. */
  readonly show: (view: View) => void;
  readonly addressOf: (view: View) => string;
  readonly refreshNow: () => void;
  readonly giveKey: (key: string) => void;
  readonly forgetKey: () => void;
  readonly want: (wants: Partial<Wants>) => void;
  readonly openDialog: (dialog: Dialog | undefined) => void;
  readonly say: (toast: Toast | undefined) => void;
  /** Notes that a person handles the alert. If its owner is no longer the owner in `of`, it opens the dialog again. */
  readonly take: (of: Notification, by: string) => Promise<void>;
  readonly stop: (of: Notification, by: string) => Promise<void>;
  /** A reader has seen these alerts. */
  readonly see: (alerts: readonly Notification[]) => void;
  /** A CSV file; undefined if the service does not answer it now. */
  readonly file: (question: Question) => Promise<string | undefined>;
  readonly switchSound: (isOn: boolean) => void;
}

export interface Sound {
  readonly isOn: boolean;
  readonly isDecided: boolean;
  /** False: the browser blocks the sound until a click. */
  readonly isReady: boolean;
  /** The number of reasons for which the alarm could not sound. */
  readonly missed: number;
}

/** The values for the parts of the page, computed once for each drawing. */
export interface Shown {
  readonly state: PageState;
  readonly view: View;
  readonly times: Times;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly health: Health;
  readonly alerts: Alerts;
  readonly freshest: ReadonlyMap<string, Notification>;
  readonly cameras: CameraStates | undefined;
  readonly cameraIds: readonly string[];
  readonly sound: Sound;
  /** On the wall: the browser does not keep the screen awake. */
  readonly mayScreenSleep: boolean;
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

/** The note of the first of some parts that is not current. */
export const useNote = (...names: readonly PartName[]): string | undefined => {
  const { state, now } = useShown();
  return names.map((name) => partNote(state, name, now)).find((note) => note !== undefined);
};

export const usePalette = (): Palette => {
  const { answer } = usePart('activity');
  return useMemo(() => paletteOf(answer), [answer]);
};

/** The time (milliseconds since 1970). Each second, only the component that uses it is drawn again. */
export const useSeconds = (): number => {
  const { clock } = useShown();
  const [now, setNow] = useState(() => clock.now());
  // At once: a busy browser runs other effects late.
  useLayoutEffect(() => everySecond(() => setNow(clock.now())), [clock]);
  return now;
};
