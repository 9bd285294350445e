import { LIMITS, orderOf, type PageState, type PartName } from './page-state.ts';
import {
  activityQuestion,
  ATTENTION_QUESTION,
  camerasQuestion,
  knownQuestion,
  notificationsQuestion,
  type Question,
  seriesQuestion,
  storyQuestion,
} from './questions.ts';
import { PACE } from './refresh.ts';
import { isLive, periodOf, recentPeriod, utcDaysOf } from './spans.ts';
import { utcDayOf } from './times.ts';

/** What the service is asked about one part of the page. */
export interface Asked {
  readonly question: Question;
  /** What the part is about: the last hour is one subject, wherever it begins, and its figures stay until the new ones are there. */
  readonly subject: string;
  /** Milliseconds to the next question. */
  readonly pace: number;
}

/** The parts that go on while nobody sees the tab: its title tells of them. */
export const HIDDEN_PARTS: ReadonlySet<PartName> = new Set(['attention']);

/**
 * What the service is asked about a part of the page now; undefined: nothing.
 *
 * @param now milliseconds since 1970
 */
export const askedOf = (state: PageState, name: PartName, now: number): Asked | undefined => {
  const { view, times, wants } = state;
  const period = periodOf(view.span, now, times);
  const pace = isLive(view.span, now, times) ? PACE.live : PACE.past;
  const moving = view.span.kind === 'last' ? `last ${view.span.hours}, camera ${view.cameraId ?? ''}` : undefined;
  const about = (question: Question, rest: Partial<Asked>): Asked => ({ question, subject: question, pace, ...rest });
  switch (name) {
    case 'attention':
      return about(ATTENTION_QUESTION, { pace: PACE.alerts });
    case 'notifications':
      return about(notificationsQuestion(wants.notifications), { subject: 'newest', pace: PACE.alerts });
    case 'story':
      return view.notification === undefined
        ? undefined
        : about(storyQuestion(view.notification), { pace: PACE.alerts });
    case 'activity': {
      const subject = moving ?? activityQuestion(period, view.cameraId, { withIds: false });
      return about(activityQuestion(period, view.cameraId, { withIds: wants.ids }), { subject });
    }
    case 'series':
      return about(seriesQuestion(period, view.cameraId), moving === undefined ? {} : { subject: moving });
    case 'cameras': {
      const days = utcDaysOf(period, now);
      const question = camerasQuestion(days, orderOf(state), wants.search, wants.cameras);
      // A long list is work for the service and for the page.
      const isLong = days.days > 2 || wants.cameras > LIMITS.first.cameras;
      // While a longer list or other names are asked for, those that were there stay.
      const subject = camerasQuestion(days, orderOf(state), '', 0);
      return about(question, isLong ? { subject, pace: PACE.past } : { subject });
    }
    case 'recent':
      return about(activityQuestion(recentPeriod(now), undefined, { withIds: true }), {
        subject: 'recent',
        pace: PACE.recent,
      });
    case 'known':
      return about(knownQuestion(utcDayOf(now)), { subject: 'known', pace: PACE.known });
  }
};
