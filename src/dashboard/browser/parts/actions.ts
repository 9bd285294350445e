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
  readonly showMoreCameras: () => void;
  /** Opens a notification; undefined closes the one that is open. */
  readonly openNotification: (id: string | undefined) => void;
}
