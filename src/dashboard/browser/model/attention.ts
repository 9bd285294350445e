import { alertTypeText } from './alerts.ts';
import type { Notification } from './answers.ts';
import type { PageState } from './page-state.ts';
import type { PageStatus } from './page-status.ts';
import type { Silence } from './silence.ts';

export interface Attention {
  /** Notifications that run or reached too few people, the worst first. */
  readonly alerts: readonly Notification[];
  readonly redCount: number;
  /** Defined if no camera sends (ISO 8601). */
  readonly noCameraSince: string | undefined;
}

/** Not acknowledged, or the outcome became worse afterwards. */
export const isRed = ({ acknowledged_by: by, worsened_since_acknowledged: worsened }: Notification): boolean =>
  by === undefined || worsened === true;

const FIRES: ReadonlySet<string> = new Set(['ConfirmedFire', 'ReportOfFire']);

/** `Custom` comes last: drills use it. */
const rankOf = ({ alert_type: type }: Notification): number => (FIRES.has(type) ? 0 : type === 'Custom' ? 2 : 1);

const worstFirst = (left: Notification, right: Notification): number =>
  Number(isRed(right)) - Number(isRed(left)) ||
  rankOf(left) - rankOf(right) ||
  (left.created_at < right.created_at ? 1 : -1);

/** Each notification by its id, from the freshest answer of all parts of the page. */
export const freshestNotifications = ({ parts, acted }: PageState): ReadonlyMap<string, Notification> => {
  const { attention, notifications: newest, story } = parts;
  const answers = [
    { at: attention?.answeredAt ?? 0, of: attention?.answer?.notifications ?? [] },
    { at: newest?.answeredAt ?? 0, of: newest?.answer?.notifications ?? [] },
    { at: story?.answeredAt ?? 0, of: story?.answer === undefined ? [] : [story.answer] },
    { at: acted?.at ?? 0, of: acted === undefined ? [] : [acted.answer] },
  ];
  const oldestFirst = answers.toSorted((left, right) => left.at - right.at).flatMap(({ of }) => of);
  return new Map(oldestFirst.map((each) => [each.notification_id, each]));
};

export const attentionOf = (
  { parts }: Pick<PageState, 'parts'>,
  freshest: ReadonlyMap<string, Notification>,
  silence: Silence | undefined,
): Attention => {
  const listed = parts.attention?.answer?.notifications ?? [];
  const alerts = listed.map((each) => freshest.get(each.notification_id) ?? each).sort(worstFirst);
  const isNoneSending = silence !== undefined && silence.cameras.length > 0 && silence.sending === 0;
  return {
    alerts,
    redCount: alerts.filter(isRed).length,
    noCameraSince: isNoneSending ? silence.cameras[0]?.last_event_at : undefined,
  };
};

export interface TabSign {
  readonly icon: 'alert' | 'outage' | 'silence' | 'calm';
  readonly words: readonly string[];
}

export const tabSignOf = ({ redCount, noCameraSince }: Attention, { color, short }: PageStatus): TabSign => ({
  icon: redCount > 0 ? 'alert' : color === 'red' ? 'outage' : noCameraSince !== undefined ? 'silence' : 'calm',
  words: [...(color === 'red' ? [short] : []), ...(noCameraSince === undefined ? [] : ['No camera is sending'])],
});

/** Why the alarm sounds, by an id for each reason. An acknowledged alert that became worse is a new reason. */
export const alarmReasons = (
  { alerts, noCameraSince }: Attention,
  { blind }: PageStatus,
): ReadonlyMap<string, string> => {
  const reasons = new Map(
    alerts
      .filter(isRed)
      .map((each) => [
        `alert ${each.notification_id} ${each.acknowledged_at ?? ''}`,
        [alertTypeText(each.alert_type), each.details].filter(Boolean).join(': '),
      ]),
  );
  if (noCameraSince !== undefined) reasons.set('silence', 'No camera is sending.');
  if (blind !== undefined) reasons.set('outage', blind);
  return reasons;
};
