import type { Answers, Notification, PartName } from './answers.ts';
import { EMPTY_MEMORY, type TabMemory } from './arrivals.ts';
import type { Part } from './refresh.ts';
import { Times } from './times.ts';
import type { View } from './view.ts';

/** The parts and their names on the page, the most important first. */
export const PARTS: readonly (readonly [name: PartName, words: string])[] = [
  ['attention', 'alerts'],
  ['notifications', 'alerts'],
  ['opened', 'the open alert'],
  ['recent', 'camera states'],
  ['known', 'camera states'],
  ['activity', 'figures'],
  ['previous', 'the period before'],
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
  /** Only the cameras that are silent or gone. */
  readonly notSending: boolean;
}

/** It names the alert as it was when it opened, and stays open when the alert changes. */
export interface Dialog {
  readonly kind: 'take' | 'stop';
  readonly of: Notification;
}

/** The result of an action. */
export interface Toast {
  readonly text: string;
  readonly isBad: boolean;
  readonly undo?: () => void;
}

/** The whole state of the page. */
export interface PageState {
  readonly view: View;
  readonly times: Times;
  readonly addressProblems: readonly string[];
  readonly parts: Parts;
  /** Until the service accepts a key, the page polls only the alerts. `refused`: the service did not accept the last key. */
  readonly locked: { readonly refused: boolean } | undefined;
  readonly keyHeld: boolean;
  /** A hidden tab polls only the alerts and the states of cameras. */
  readonly isHidden: boolean;
  /** This tab has had an answer about alerts: the service has, or had, a phone. */
  readonly sawPhone: boolean;
  readonly wants: Wants;
  /** The answer to the last action, and when it came (milliseconds since 1970). */
  readonly acted: { readonly at: number; readonly answer: Notification } | undefined;
  readonly memory: TabMemory;
  readonly dialog: Dialog | undefined;
  readonly toast: Toast | undefined;
  /** The service has a newer version of the page. */
  readonly isOutdated: boolean;
  /** In its first second, the page waits for the alerts: the figures below them must not move. */
  readonly isEarly: boolean;
}

/** The rows of the list of cameras: at first, and on demand. */
export const [FIRST_CAMERAS, MORE_CAMERAS] = [15, 100] as const;

export const firstState = (
  given: Pick<PageState, 'view' | 'addressProblems' | 'keyHeld' | 'isHidden' | 'sawPhone'> & {
    readonly memory?: TabMemory | undefined;
  },
): PageState => ({
  ...given,
  times: new Times(given.view.clock),
  parts: {},
  locked: undefined,
  wants: { cameras: FIRST_CAMERAS, search: '', notSending: false },
  acted: undefined,
  memory: given.memory ?? EMPTY_MEMORY,
  dialog: undefined,
  toast: undefined,
  isOutdated: false,
  isEarly: true,
});

export const withParts = (state: PageState, changed: Parts): PageState => {
  const { attention } = changed;
  const isAnswered = attention?.trouble === undefined && attention?.answer !== undefined;
  return { ...state, parts: { ...state.parts, ...changed }, sawPhone: state.sawPhone || isAnswered };
};

export const isBusy = ({ parts, locked }: PageState, name: PartName): boolean => {
  const part = parts[name];
  return locked === undefined && part?.answer === undefined && part?.trouble === undefined;
};

/** Whether the page waits for both answers about alerts: they push everything else down. It waits for a second at most. */
export const isOpening = (state: PageState): boolean =>
  state.isEarly && (isBusy(state, 'attention') || isBusy(state, 'notifications'));

/** The order of the cameras. The default is by fires; by frames if the service has no category `fire`. */
export const orderOf = ({ view, parts }: Pick<PageState, 'view' | 'parts'>): string => {
  const known = parts.activity?.answer?.counts_per_category;
  return view.orderBy === 'fire' && known !== undefined && !Object.hasOwn(known, 'fire')
    ? 'total_events'
    : view.orderBy;
};

/** Each notification by its id, from the freshest answer of all parts of the page. */
export const freshestNotifications = ({ parts, acted }: PageState): ReadonlyMap<string, Notification> => {
  const { attention, notifications, opened } = parts;
  const answers = [
    { at: attention?.answeredAt ?? 0, of: attention?.answer?.notifications ?? [] },
    { at: notifications?.answeredAt ?? 0, of: notifications?.answer?.notifications ?? [] },
    { at: opened?.answeredAt ?? 0, of: opened?.answer === undefined ? [] : [opened.answer] },
    { at: acted?.at ?? 0, of: acted === undefined ? [] : [acted.answer] },
  ];
  const oldestFirst = answers.toSorted((left, right) => left.at - right.at).flatMap(({ of }) => of);
  return new Map(oldestFirst.map((each) => [each.notification_id, each]));
};

/** The alerts of 24 hours and the running alerts, each once. The open alert may be older. */
export const listedNotifications = (
  { parts: { attention, notifications } }: Pick<PageState, 'parts'>,
  freshest: ReadonlyMap<string, Notification>,
): readonly Notification[] => {
  const listed = [...(attention?.answer?.notifications ?? []), ...(notifications?.answer?.notifications ?? [])];
  const ids = new Set(listed.map(({ notification_id: id }) => id));
  return [...ids].flatMap((id) => freshest.get(id) ?? []);
};
