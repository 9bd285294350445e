import type { Activity, Cameras, Notification, Notifications, Series } from './answers.ts';
import { afterRound, type Refresh, type RoundOutcome, type Trouble } from './refresh.ts';
import type { View } from './view.ts';
import { isLive } from './view-steps.ts';

/** One part of the page: what it is about, and the last answer about that. */
export interface Panel<Answer> {
  /** What the answer is about: an answer about something else is never shown in its place. */
  readonly subject: string | undefined;
  readonly answer: Answer | undefined;
  /** Why there is no newer answer; undefined where the last question was answered. */
  readonly trouble: Trouble | undefined;
}

/** Every part of the page that shows answers. */
export interface Panels {
  readonly activity: Panel<Activity>;
  readonly series: Panel<Series>;
  readonly cameras: Panel<Cameras>;
  readonly notifications: Panel<Notifications>;
  /** What became of the notification that is open. */
  readonly story: Panel<Notification>;
}

/** Everything that the page shows is worked out from this. */
export interface PageState {
  readonly view: View;
  /** What of the address could not be understood. */
  readonly addressProblems: readonly string[];
  readonly panels: Panels;
  readonly refresh: Refresh;
  readonly keyHeld: boolean;
  /** How many cameras are asked for. */
  readonly cameraLimit: number;
  readonly openNotification: string | undefined;
}

/** What can happen. Times in milliseconds since 1970. */
export type PageEvent =
  | { readonly kind: 'view changed'; readonly view: View; readonly addressProblems: readonly string[] }
  | { readonly kind: 'panels changed'; readonly panels: Partial<Panels> }
  | { readonly kind: 'round ended'; readonly outcome: RoundOutcome; readonly now: number; readonly chance: number }
  | { readonly kind: 'key given' }
  | { readonly kind: 'key forgotten' }
  | { readonly kind: 'more cameras wanted' }
  | { readonly kind: 'notification opened'; readonly id: string | undefined };

/** How many cameras are listed at first, and at most: the service's own limit. */
export const CAMERA_LIMITS = { first: 15, most: 1_000 } as const;

const NOTHING = { subject: undefined, answer: undefined, trouble: undefined } as const;

const NO_PANELS: Panels = {
  activity: NOTHING,
  series: NOTHING,
  cameras: NOTHING,
  notifications: NOTHING,
  story: NOTHING,
};

/** The page before anything was asked. */
export const firstState = (view: View, addressProblems: readonly string[], keyHeld: boolean): PageState => ({
  view,
  addressProblems,
  panels: NO_PANELS,
  refresh: { phase: 'asking' },
  keyHeld,
  cameraLimit: CAMERA_LIMITS.first,
  openNotification: undefined,
});

/** The page after something happened. */
export const afterEvent = (state: PageState, event: PageEvent): PageState => {
  switch (event.kind) {
    case 'view changed':
      return { ...state, view: event.view, addressProblems: event.addressProblems };
    case 'panels changed':
      return { ...state, panels: { ...state.panels, ...event.panels } };
    case 'round ended': {
      const live = isLive(state.view.span, event.now);
      return {
        ...state,
        refresh: afterRound(state.refresh, event.outcome, { now: event.now, live, chance: event.chance }),
        keyHeld: state.keyHeld && event.outcome.kind !== 'unauthorized',
      };
    }
    case 'key given':
      return { ...state, keyHeld: true, refresh: unlocked(state.refresh) };
    case 'key forgotten':
      // Whoever forgets the key leaves: what it showed goes too.
      return {
        ...state,
        keyHeld: false,
        panels: NO_PANELS,
        openNotification: undefined,
        refresh: { phase: 'locked', refused: false, answeredAt: undefined },
      };
    case 'more cameras wanted':
      return { ...state, cameraLimit: CAMERA_LIMITS.most };
    case 'notification opened':
      return { ...state, openNotification: event.id };
  }
};

const unlocked = (refresh: Refresh): Refresh => (refresh.phase === 'locked' ? { phase: 'asking' } : refresh);

/** A panel that is about to be asked about a subject: another subject's answer leaves it. */
export const panelAbout = <Answer>(panel: Panel<Answer>, subject: string, known: Answer | undefined): Panel<Answer> =>
  panel.subject === subject ? panel : { subject, answer: known, trouble: undefined };
