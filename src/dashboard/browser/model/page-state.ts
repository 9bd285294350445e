import type { Accuracy, Activity, Cameras, KnownCameras, Notification, Notifications, Series } from './answers.ts';
import type { Part, Trouble } from './refresh.ts';
import { Times } from './times.ts';
import type { View } from './view.ts';

/** What each part of the page shows the answers of. */
export interface Answers {
  /** The notifications that need attention, and whether the phone works. */
  readonly attention: Notifications;
  /** What became of the notification that is open. */
  readonly story: Notification;
  /** The newest notifications. */
  readonly notifications: Notifications;
  /** The cameras that sent frames in the last minutes. */
  readonly recent: Activity;
  /** The cameras of the last days. */
  readonly known: KnownCameras;
  readonly activity: Activity;
  readonly series: Series;
  readonly cameras: Cameras;
  readonly accuracy: Accuracy;
}

/** A part of the page that is asked about by itself. */
export type PartName = keyof Answers;

/** The parts in the order of their worth, and what each is called. */
export const PARTS: readonly (readonly [name: PartName, words: string])[] = [
  ['attention', 'alerts'],
  ['story', 'the open notification'],
  ['notifications', 'notifications'],
  ['recent', 'silence'],
  ['known', 'silence'],
  ['activity', 'figures'],
  ['series', 'plots'],
  ['cameras', 'cameras'],
  ['accuracy', 'accuracy'],
];

/** What the page knows of each part; undefined if it does not ask about it. */
export type Parts = { readonly [Name in PartName]?: Part<Answers[Name]> | undefined };

/** How much is asked for. */
export interface Wants {
  readonly cameras: number;
  /** A part of the cameras' ids; empty: any. */
  readonly search: string;
  readonly notifications: number;
  /** Somebody looks at the ids of the active cameras. */
  readonly ids: boolean;
}

/** Everything that the page shows is computed from this. */
export interface PageState {
  readonly view: View;
  /** Times as the view wants them. */
  readonly times: Times;
  /** What of the address could not be understood. */
  readonly addressProblems: readonly string[];
  readonly parts: Parts;
  /** Nothing is asked until there is a key. `refused`: there was one, and the service did not accept it. */
  readonly locked: { readonly refused: boolean } | undefined;
  readonly keyHeld: boolean;
  /** Nobody sees the tab. Then the page asks about alerts alone. */
  readonly isHidden: boolean;
  /** This tab has had an answer about notifications: the service has, or had, a phone. */
  readonly sawPhone: boolean;
  readonly wants: Wants;
  /** The answer to the last action, and when it came (milliseconds since 1970). */
  readonly acted: { readonly at: number; readonly answer: Notification } | undefined;
  /** Why an action on a notification was not done. */
  readonly actionTrouble: { readonly id: string; readonly trouble: Trouble } | undefined;
}

/** What can happen. */
export type PageEvent =
  | { readonly kind: 'view changed'; readonly view: View; readonly addressProblems: readonly string[] }
  | { readonly kind: 'part changed'; readonly parts: Parts }
  | { readonly kind: 'hidden or seen'; readonly isHidden: boolean }
  /** `keySent`: a key was sent and not accepted. */
  | { readonly kind: 'unauthorized'; readonly keySent: boolean }
  | { readonly kind: 'key given' }
  | { readonly kind: 'key forgotten' }
  | { readonly kind: 'wanted'; readonly wants: Partial<Wants> }
  | { readonly kind: 'action done'; readonly at: number; readonly answer: Notification }
  | { readonly kind: 'action failed'; readonly id: string; readonly trouble: Trouble };

/** How many are listed at first, and at most. */
export const LIMITS = {
  first: { cameras: 15, notifications: 10 },
  most: { cameras: 100, notifications: 100 },
} as const;

/** The page before anything was asked. */
export const firstState = (
  given: Pick<PageState, 'view' | 'addressProblems' | 'keyHeld' | 'isHidden' | 'sawPhone'>,
): PageState => ({
  ...given,
  times: new Times(given.view.clock),
  parts: {},
  locked: undefined,
  wants: { ...LIMITS.first, search: '', ids: false },
  acted: undefined,
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
    case 'part changed': {
      const parts = { ...state.parts, ...event.parts };
      const isAnswered = event.parts.attention?.trouble === undefined && event.parts.attention?.answer !== undefined;
      // What is said about an action that failed ends when the service answers again.
      const hasRecovered = isAnswered && state.parts.attention?.trouble !== undefined;
      return {
        ...state,
        parts,
        sawPhone: state.sawPhone || isAnswered,
        actionTrouble: hasRecovered ? undefined : state.actionTrouble,
      };
    }
    case 'hidden or seen':
      return { ...state, isHidden: event.isHidden };
    case 'unauthorized':
      // What a key that worked has shown stays.
      return { ...state, keyHeld: false, locked: { refused: event.keySent } };
    case 'key given':
      return { ...state, keyHeld: true, locked: undefined };
    case 'key forgotten':
      // The reader who forgets the key leaves: nothing that it showed stays.
      return { ...state, keyHeld: false, parts: {}, acted: undefined, locked: { refused: false } };
    case 'wanted':
      return { ...state, wants: { ...state.wants, ...event.wants } };
    case 'action done':
      return { ...state, acted: { at: event.at, answer: event.answer }, actionTrouble: undefined };
    case 'action failed':
      return { ...state, actionTrouble: { id: event.id, trouble: event.trouble } };
  }
};

/** Whether a part of the page waits for its first answer. */
export const isBusy = ({ parts, locked }: PageState, name: PartName): boolean => {
  const part = parts[name];
  return locked === undefined && part?.answer === undefined && part?.trouble === undefined;
};

/** What the cameras are ordered by: fire; if the service knows no fire, the frames. */
export const orderOf = ({ view, parts }: Pick<PageState, 'view' | 'parts'>): string => {
  const known = parts.activity?.answer?.counts_per_category;
  return view.orderBy === 'fire' && known !== undefined && !Object.hasOwn(known, 'fire')
    ? 'total_events'
    : view.orderBy;
};
