import { alertTypeText } from './alerts.ts';
import type { KnownCamera, Notification } from './answers.ts';
import type { PageState, Panels } from './page-state.ts';
import { SILENT_MINUTES } from './spans.ts';
import { standingOf } from './standing.ts';

/** A camera that sent frames in the last days and sends none now. */
export interface SilentCamera {
  readonly id: string;
  /** The start of the minute of its last frame, ISO 8601; undefined where the service cannot tell. */
  readonly lastAt: string | undefined;
}

/** What somebody has to know of, the worst first. */
export interface Alarms {
  /** Notifications that run or did not reach enough people, and that nobody has seen yet. */
  readonly alerts: readonly Notification[];
  /** Those that somebody has seen. */
  readonly seen: readonly Notification[];
  /** No camera sends; since when, where that is known (ISO 8601). */
  readonly noCamera: { readonly since: string | undefined } | undefined;
}

const URGENT: ReadonlySet<string> = new Set(['ConfirmedFire', 'ReportOfFire']);

/** Fires first, then the newest. */
const worstFirst = (left: Notification, right: Notification): number =>
  Number(URGENT.has(right.alert_type)) - Number(URGENT.has(left.alert_type)) ||
  (left.created_at < right.created_at ? 1 : -1);

/** The cameras that sent frames in the last days and sent none for {@link SILENT_MINUTES}, those first that fell silent last; undefined: not known yet. */
export const silentCameras = (
  { known, recent }: Pick<Panels, 'known' | 'recent'>,
  now: number,
): readonly SilentCamera[] | undefined => {
  const sending = recent.answer?.active_camera_ids;
  if (known.answer === undefined || sending === undefined) return undefined;
  const isSending = new Set(sending);
  const before = now - SILENT_MINUTES * 60_000;
  // One that began to send after it was asked who does is no silent one.
  const isSilent = ({ camera_id: id, last_event_at: at = '' }: KnownCamera): boolean =>
    !isSending.has(id) && !(Date.parse(at) > before);
  return known.answer.cameras
    .filter(isSilent)
    .map(({ camera_id: id, last_event_at: lastAt }) => ({ id, lastAt }))
    .sort((left, right) => timeOf(right) - timeOf(left) || (left.id < right.id ? -1 : 1));
};

const timeOf = ({ lastAt }: SilentCamera): number => Date.parse(lastAt ?? '') || 0;

/** What somebody has to know of. */
export const alarmsOf = ({ attention, known }: Panels, silent: readonly SilentCamera[] | undefined): Alarms => {
  const sending = (known.answer?.cameras.length ?? 0) - (silent?.length ?? 0);
  const notifications = [...(attention.answer?.notifications ?? [])].sort(worstFirst);
  return {
    alerts: notifications.filter((each) => each.acknowledged_by === undefined),
    seen: notifications.filter((each) => each.acknowledged_by !== undefined),
    noCamera: silent !== undefined && silent.length > 0 && sending === 0 ? { since: silent[0]?.lastAt } : undefined,
  };
};

/** What the tab says before its title, and with its icon: alert, outage, silence. */
export interface TabSign {
  readonly icon: 'alert' | 'outage' | 'silence' | 'calm';
  readonly words: readonly string[];
}

/** What the tab of a page says: it is all that is seen of it while somebody works in another one. */
export const tabSignOf = (state: PageState, { alerts, noCamera }: Alarms, now: number): TabSign => {
  const { phase } = standingOf(state, now);
  const outage = phase === 'locked' ? 'Key needed' : phase === 'failing' ? 'Not current' : undefined;
  const words = [
    alerts.length === 0 ? undefined : `(${alerts.length})`,
    outage,
    noCamera === undefined ? undefined : 'No camera sends',
  ];
  return {
    icon: alerts.length > 0 ? 'alert' : outage !== undefined ? 'outage' : noCamera !== undefined ? 'silence' : 'calm',
    words: words.filter((word) => word !== undefined),
  };
};

/** Why the alarm of the tab sounds: each reason by an id of its own, once. */
export const alarmReasons = (
  state: PageState,
  { alerts, noCamera }: Alarms,
  now: number,
): ReadonlyMap<string, string> => {
  const reasons = new Map(alerts.map((each) => [`alert ${each.notification_id}`, alertTypeText(each.alert_type)]));
  if (noCamera !== undefined) reasons.set('silence', 'No camera sends.');
  const { refreshes, locked } = state;
  const isBlind = locked?.refused === true || now > (refreshes.attention?.last?.lateFrom ?? Infinity);
  if (isBlind) reasons.set('outage', 'It is not known whether there are alerts.');
  return reasons;
};
