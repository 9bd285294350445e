import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

import type { Wants } from '../model/page-state.ts';
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
}

/** What every part of the page may need: what is shown, by which clock, and what a person can do. */
export interface Shown {
  readonly view: View;
  /** Times as the view wants them. */
  readonly times: Times;
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
