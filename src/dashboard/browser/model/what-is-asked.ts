import { LIMITS, orderOf, type PageState, type PartName } from './page-state.ts';
import {
  accuracyQuestion,
  activityQuestion,
  ATTENTION_QUESTION,
  BY_NOT_CONFIRMED,
  camerasQuestion,
  knownQuestion,
  notificationsQuestion,
  type Question,
  seriesQuestion,
  storyQuestion,
} from './questions.ts';
import { type Pace, PACES } from './refresh.ts';
import { isLive, periodOf, recentPeriod, utcDaysOf } from './spans.ts';
import { utcDayOf } from './times.ts';

/** What the service is asked about one part of the page. */
export interface Asked {
  readonly question: Question;
  /** What the part is about. The last hour is one subject, wherever it begins: its figures stay until the new ones are there. */
  readonly subject: string;
  readonly pace: Pace;
}

/**
 * What the service is asked about a part of the page now; undefined: nothing. In a hidden tab: alerts alone, more slowly.
 *
 * @param now milliseconds since 1970
 */
export const askedOf = (state: PageState, name: PartName, now: number): Asked | undefined => {
  const { view, times, wants, isHidden } = state;
  if (name === 'attention') {
    return { question: ATTENTION_QUESTION, subject: name, pace: isHidden ? PACES.hidden : PACES.alerts };
  }
  if (isHidden) return undefined;
  const period = periodOf(view.span, now, times);
  const days = utcDaysOf(period, now);
  const pace = isLive(view.span, now, times) ? PACES.live : PACES.past;
  const moving = view.span.kind === 'last' ? `last ${view.span.length}, camera ${view.cameraId ?? ''}` : undefined;
  switch (name) {
    case 'notifications':
      return { question: notificationsQuestion(wants.notifications), subject: name, pace: PACES.alerts };
    case 'story': {
      const question = view.notification === undefined ? undefined : storyQuestion(view.notification);
      return question === undefined ? undefined : { question, subject: question, pace: PACES.alerts };
    }
    case 'activity': {
      const question = activityQuestion(period, view.cameraId, { withIds: wants.ids });
      return { question, subject: moving ?? activityQuestion(period, view.cameraId, { withIds: false }), pace };
    }
    case 'series': {
      const question = seriesQuestion(period, view.cameraId);
      return { question, subject: moving ?? question, pace };
    }
    case 'cameras': {
      const order = orderOf(state);
      // While a longer list or other names are asked for, the cameras that were there stay.
      const subject = camerasQuestion(days, order, '', 0);
      // A long list is work for the service and for the page.
      const isLong = days.days > 2 || wants.cameras > LIMITS.first.cameras || order === BY_NOT_CONFIRMED;
      const question = camerasQuestion(days, order, wants.search, wants.cameras);
      return { question, subject, pace: isLong ? PACES.past : pace };
    }
    case 'accuracy': {
      const question = accuracyQuestion(days, view.cameraId);
      return { question, subject: question, pace: PACES.past };
    }
    case 'recent': {
      const question = activityQuestion(recentPeriod(now), undefined, { withIds: true });
      return { question, subject: name, pace: PACES.past };
    }
    case 'known':
      return { question: knownQuestion(utcDayOf(now)), subject: name, pace: PACES.known };
  }
};
