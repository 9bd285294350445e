import type { Wants } from '../model/page-state.ts';
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
