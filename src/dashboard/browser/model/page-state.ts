import type { Activity, Cameras, Notification, Notifications, Series } from './answers.ts';
import { afterRound, isPhoneOff, type Refresh, type RoundOutcome, type Trouble } from './refresh.ts';
import { isLive } from './spans.ts';
import { Times } from './times.ts';
import type { View } from './view.ts';

/** One part of the page: what it is about, and the last answer about that. */
export interface Panel<Answer> {
  /** What the answer is about: an answer about something else is never shown in its place. */
  readonly subject: string | undefined;
  readonly answer: Answer | undefined;
  /** When it was given, or a whole round found it unchanged; milliseconds since 1970. */
  readonly at?: number | undefined;
  /** Why there is no newer answer; undefined where the last question was answered. */
  readonly trouble: Trouble | undefined;
}

/** What each part of the page shows the answers of. */
export interface Answers {
  readonly activity: Activity;
  readonly series: Series;
  readonly cameras: Cameras;
  readonly notifications: Notifications;
  /** What became of the notification that is open. */
  readonly story: Notification;
  /** The cameras that sent frames in the last minutes, and those of the last 24 hours. */
  readonly recent: Activity;
  readonly before: Activity;
}

/** Every part of the page that shows answers. */
export type Panels = { readonly [Name in keyof Answers]: Panel<Answers[Name]> };

/** How many cameras and notifications are asked for, and whether somebody looks at the ids of the active cameras. */
export interface Wants {
  readonly cameras: number;
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
  readonly refresh: Refresh;
  readonly keyHeld: boolean;
  readonly wants: Wants;
  /** Why the notification that is open could not be stopped. */
  readonly stopTrouble: Trouble | undefined;
}

/** What can happen. Times in milliseconds since 1970. */
export type PageEvent =
  | { readonly kind: 'view changed'; readonly view: View; readonly addressProblems: readonly string[] }
  | { readonly kind: 'panels changed'; readonly panels: Partial<Panels> }
  | {
      readonly kind: 'round ended';
      readonly outcome: RoundOutcome;
      readonly now: number;
      readonly chance: number;
      readonly byHand: boolean;
    }
  | { readonly kind: 'key given' }
  | { readonly kind: 'key forgotten' }
  | { readonly kind: 'wanted'; readonly wants: Partial<Wants> }
  | { readonly kind: 'stop failed'; readonly trouble: Trouble };

/** How many are listed at first, and at most: the service's own limits. */
export const LIMITS = {
  first: { cameras: 15, notifications: 10 },
  most: { cameras: 1_000, notifications: 100 },
} as const;

const NOTHING = { subject: undefined, answer: undefined, trouble: undefined } as const;

const NO_PANELS: Panels = {
  activity: NOTHING,
  series: NOTHING,
  cameras: NOTHING,
  notifications: NOTHING,
  story: NOTHING,
  recent: NOTHING,
  before: NOTHING,
};

/** The page before anything was asked. */
export const firstState = (view: View, addressProblems: readonly string[], keyHeld: boolean): PageState => ({
  view,
  times: new Times(view.clock),
  addressProblems,
  panels: NO_PANELS,
  refresh: { phase: 'asking' },
  keyHeld,
  wants: { ...LIMITS.first, ids: false },
  stopTrouble: undefined,
});

/** The page after something happened. */
export const afterEvent = (state: PageState, event: PageEvent): PageState => {
  switch (event.kind) {
    case 'view changed': {
      const { view, addressProblems } = event;
      const times = view.clock === state.view.clock ? state.times : new Times(view.clock);
      return { ...state, view, times, addressProblems, stopTrouble: undefined };
    }
    case 'panels changed':
      return { ...state, panels: { ...state.panels, ...event.panels } };
    case 'round ended': {
      const { outcome, now } = event;
      const running = state.panels.notifications.answer?.notifications.some(({ status }) => status === 'in_progress');
      const live = running === true || isLive(state.view.span, now, state.times);
      const { activity } = state.panels;
      return {
        ...state,
        panels: outcome.kind === 'answered' ? { ...state.panels, activity: { ...activity, at: now } } : state.panels,
        refresh: afterRound(state.refresh, outcome, { ...event, live }),
        keyHeld: state.keyHeld && outcome.kind !== 'unauthorized',
      };
    }
    case 'key given':
      return { ...state, keyHeld: true, refresh: { phase: 'asking', last: state.refresh.last } };
    case 'key forgotten':
      // Whoever forgets the key leaves: what it showed goes too.
      return { ...state, keyHeld: false, panels: NO_PANELS, refresh: { phase: 'locked', refused: false } };
    case 'wanted':
      return { ...state, wants: { ...state.wants, ...event.wants } };
    case 'stop failed':
      return { ...state, stopTrouble: event.trouble };
  }
};

/** Whether a part of the page waits for its first answer. */
export const isBusy = ({ answer, trouble }: Panel<unknown>): boolean => answer === undefined && trouble === undefined;

/** A panel that is asked about a subject: another subject's answer leaves it; what is known about this one is shown. */
export const panelAbout = <Answer>(
  panel: Panel<Answer>,
  subject: string,
  known: { readonly answer: Answer; readonly at: number } | undefined,
): Panel<Answer> =>
  panel.subject === subject ? panel : { subject, answer: known?.answer, at: known?.at, trouble: undefined };

/** What the cameras are ordered by: fire; where the service knows no fire, the frames. */
export const orderOf = ({ view, panels }: Pick<PageState, 'view' | 'panels'>): string => {
  const known = panels.activity.answer?.counts_per_category;
  return view.orderBy === 'fire' && known !== undefined && !Object.hasOwn(known, 'fire')
    ? 'total_events'
    : view.orderBy;
};

/** What questions were refused for, each said once: two panels may have asked the same. */
export const refusalsOf = ({ notifications, ...panels }: Panels): readonly (Trouble & { kind: 'refused' })[] => {
  const isOff = notifications.trouble !== undefined && isPhoneOff(notifications.trouble);
  const asked: readonly Panel<unknown>[] = isOff ? Object.values(panels) : [...Object.values(panels), notifications];
  const refused = asked.flatMap(({ trouble }) => (trouble?.kind === 'refused' ? [trouble] : []));
  return [...new Map(refused.map((trouble) => [trouble.detail, trouble])).values()];
};
