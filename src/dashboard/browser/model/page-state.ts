import type { Activity, Cameras, KnownCameras, Notification, Notifications, Series } from './answers.ts';
import type { Refresh, Trouble } from './refresh.ts';
import { Times } from './times.ts';
import type { View } from './view.ts';

/** What each part of the page shows the answers of. */
export interface Answers {
  /** The notifications that somebody has to know of. */
  readonly attention: Notifications;
  readonly activity: Activity;
  readonly series: Series;
  readonly cameras: Cameras;
  /** The newest notifications. */
  readonly notifications: Notifications;
  /** What became of the notification that is open. */
  readonly story: Notification;
  /** The cameras that sent frames in the last minutes, and those of the last days. */
  readonly recent: Activity;
  readonly known: KnownCameras;
}

/** A part of the page that is asked about by itself. */
export type PartName = keyof Answers;

/** The parts in the order of their worth, and what they are called: what is asked about together is called together. */
export const PARTS: readonly (readonly [name: PartName, words: string])[] = [
  ['attention', 'alerts'],
  ['story', 'the open notification'],
  ['notifications', 'notifications'],
  ['recent', 'silence'],
  ['known', 'silence'],
  ['activity', 'figures'],
  ['series', 'plots'],
  ['cameras', 'cameras'],
];

/** What a part of the page is about, and the last answer about that. */
export interface Panel<Answer> {
  /** What the answer is about: an answer about something else is never shown in its place. */
  readonly subject: string | undefined;
  readonly answer: Answer | undefined;
}

/** Every part of the page that shows answers. */
export type Panels = { readonly [Name in PartName]: Panel<Answers[Name]> };

/** Whether each part is current; undefined where it is not asked about. */
export type Refreshes = { readonly [Name in PartName]?: Refresh | undefined };

/** How many cameras and notifications are asked for, which cameras, and whether somebody looks at the ids of the active cameras. */
export interface Wants {
  readonly cameras: number;
  /** A part of their ids; empty: any. */
  readonly search: string;
  readonly notifications: number;
  readonly ids: boolean;
}

/** Everything that the page shows is worked out from this. */
export interface PageState {
  readonly view: View;
  /** Times as the view wants them. */
  readonly times: Times;
  /** What of the address could not be understood. */
  readonly addressProblems: readonly string[];
  readonly panels: Panels;
  readonly refreshes: Refreshes;
  /** Nothing is asked until there is a key. `refused`: there was one, and the service did not take it. */
  readonly locked: { readonly refused: boolean } | undefined;
  readonly keyHeld: boolean;
  readonly wants: Wants;
  /** Why what somebody wanted to be done to a notification was not done. */
  readonly actionTrouble: { readonly id: string; readonly trouble: Trouble } | undefined;
}

/** What can happen. */
export type PageEvent =
  | { readonly kind: 'view changed'; readonly view: View; readonly addressProblems: readonly string[] }
  | { readonly kind: 'parts changed'; readonly panels: Partial<Panels>; readonly refreshes: Refreshes }
  /** `keySent`: a key was sent and not taken. */
  | { readonly kind: 'unauthorized'; readonly keySent: boolean }
  | { readonly kind: 'key given' }
  | { readonly kind: 'key forgotten' }
  | { readonly kind: 'wanted'; readonly wants: Partial<Wants> }
  | { readonly kind: 'action ended'; readonly id: string; readonly trouble: Trouble | undefined };

/** How many are listed at first, and at most: the service's own limits. */
export const LIMITS = {
  first: { cameras: 15, notifications: 10 },
  most: { cameras: 5_000, notifications: 100 },
} as const;

/** A part that nothing is known of. */
export const NOTHING = { subject: undefined, answer: undefined } as const;

const NO_PANELS: Panels = {
  attention: NOTHING,
  activity: NOTHING,
  series: NOTHING,
  cameras: NOTHING,
  notifications: NOTHING,
  story: NOTHING,
  recent: NOTHING,
  known: NOTHING,
};

/** The page before anything was asked. */
export const firstState = (view: View, addressProblems: readonly string[], keyHeld: boolean): PageState => ({
  view,
  times: new Times(view.clock),
  addressProblems,
  panels: NO_PANELS,
  refreshes: {},
  locked: undefined,
  keyHeld,
  wants: { ...LIMITS.first, search: '', ids: false },
  actionTrouble: undefined,
});

/** The page after something happened. */
export const afterEvent = (state: PageState, event: PageEvent): PageState => {
  switch (event.kind) {
    case 'view changed': {
      const { view, addressProblems } = event;
      const times = view.clock === state.view.clock ? state.times : new Times(view.clock);
      return { ...state, view, times, addressProblems, actionTrouble: undefined };
    }
    case 'parts changed':
      return {
        ...state,
        panels: { ...state.panels, ...event.panels },
        refreshes: { ...state.refreshes, ...event.refreshes },
      };
    case 'unauthorized':
      // Where a key that worked is not taken any more, what it showed stays.
      return { ...state, keyHeld: false, locked: { refused: event.keySent } };
    case 'key given':
      return { ...state, keyHeld: true, locked: undefined };
    case 'key forgotten':
      // Whoever forgets the key leaves: what it showed goes too.
      return { ...state, keyHeld: false, panels: NO_PANELS, refreshes: {}, locked: { refused: false } };
    case 'wanted':
      return { ...state, wants: { ...state.wants, ...event.wants } };
    case 'action ended':
      return { ...state, actionTrouble: event.trouble && { id: event.id, trouble: event.trouble } };
  }
};

/** Whether a part of the page waits for its first answer. */
export const isBusy = ({ panels, refreshes, locked }: PageState, name: PartName): boolean =>
  panels[name].answer === undefined && locked === undefined && (refreshes[name]?.phase ?? 'asking') === 'asking';

/** What the cameras are ordered by: fire; where the service knows no fire, the frames. */
export const orderOf = ({ view, panels }: Pick<PageState, 'view' | 'panels'>): string => {
  const known = panels.activity.answer?.counts_per_category;
  return view.orderBy === 'fire' && known !== undefined && !Object.hasOwn(known, 'fire')
    ? 'total_events'
    : view.orderBy;
};
