import type { Accuracy, Activity, Cameras, KnownCameras, Notification, Notifications, Series } from './answers.ts';
import type { Part, Trouble } from './refresh.ts';
import { Times } from './times.ts';
import type { View } from './view.ts';

export interface Answers {
  /** The notifications that need attention, and whether the phone works. */
  readonly attention: Notifications;
  readonly story: Notification;
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

/** A part of the page, polled with its own question. */
export type PartName = keyof Answers;

/** The parts and their names on the page, the most important first. */
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

/** A part that the page does not poll is undefined. */
export type Parts = { readonly [Name in PartName]?: Part<Answers[Name]> | undefined };

export interface Wants {
  readonly cameras: number;
  /** A part of the cameras' ids; empty: any. */
  readonly search: string;
  readonly notifications: number;
  /** Whether the ids of the active cameras are open. */
  readonly ids: boolean;
}

/** The page shows this and nothing else. */
export interface PageState {
  readonly view: View;
  readonly times: Times;
  readonly addressProblems: readonly string[];
  readonly parts: Parts;
  /** The page polls nothing until it has a key. `refused`: the service did not accept the last key. */
  readonly locked: { readonly refused: boolean } | undefined;
  readonly keyHeld: boolean;
  /** A hidden tab polls only the alerts. */
  readonly isHidden: boolean;
  /** This tab has had an answer about alerts: the service has, or had, a phone. */
  readonly sawPhone: boolean;
  readonly wants: Wants;
  /** The answer to the last action, and when it came (milliseconds since 1970). */
  readonly acted: { readonly at: number; readonly answer: Notification } | undefined;
  readonly actionTrouble: { readonly id: string; readonly trouble: Trouble } | undefined;
}

export const LIMITS = {
  first: { cameras: 15, notifications: 10 },
  most: { cameras: 100, notifications: 100 },
} as const;

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

export const withParts = (state: PageState, changed: Parts): PageState => {
  const { attention } = changed;
  const isAnswered = attention?.trouble === undefined && attention?.answer !== undefined;
  // The message about an action that failed goes when the service answers again.
  const hasRecovered = isAnswered && state.parts.attention?.trouble !== undefined;
  return {
    ...state,
    parts: { ...state.parts, ...changed },
    sawPhone: state.sawPhone || isAnswered,
    actionTrouble: hasRecovered ? undefined : state.actionTrouble,
  };
};

export const isBusy = ({ parts, locked }: PageState, name: PartName): boolean => {
  const part = parts[name];
  return locked === undefined && part?.answer === undefined && part?.trouble === undefined;
};

/** The order of the cameras. By frames if the service knows no fire, the default. */
export const orderOf = ({ view, parts }: Pick<PageState, 'view' | 'parts'>): string => {
  const known = parts.activity?.answer?.counts_per_category;
  return view.orderBy === 'fire' && known !== undefined && !Object.hasOwn(known, 'fire')
    ? 'total_events'
    : view.orderBy;
};
