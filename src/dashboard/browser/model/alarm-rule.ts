import { alertTitle, isDrill, isFire, needsPerson } from './alert-state.ts';
import type { Notification } from './answers.ts';
import type { Told } from './arrivals.ts';

// When the page sounds: once for each new alert and for each outage, and again every 25 s while an alert needs a person.

/** Milliseconds until the alarm sounds again for an alert that no person has taken. */
export const REPEAT_MS = 25_000;

export interface Reason {
  readonly id: string;
  /** For a desktop notification. */
  readonly words: string;
  /** A drill has its own tone. */
  readonly tone: 'alarm' | 'drill';
  /** Sounds again until a person takes the alert. */
  readonly repeats: boolean;
}

/** A taken alert that became worse is a new reason. */
const idOf = ({
  notification_id: id,
  acknowledged_at: at,
  worsened_since_acknowledged: worsened,
}: Notification): string => (worsened === true ? `alert ${id} ${at ?? ''}` : `alert ${id}`);

/**
 * @param alerts in their latest state
 * @param arrivals the alerts that are new to this tab
 * @param outages why a fire could burn unnoticed: id → words
 */
export const reasonsOf = (
  alerts: readonly Notification[],
  arrivals: readonly Notification[],
  outages: ReadonlyMap<string, string>,
): readonly Reason[] => {
  const isNew = new Set(arrivals.map(({ notification_id: id }) => id));
  const ofAlerts = alerts.flatMap((each): readonly Reason[] => {
    const repeats = needsPerson(each);
    if (!repeats && !isNew.has(each.notification_id)) return [];
    return [{ id: idOf(each), words: alertTitle(each), tone: isDrill(each) ? 'drill' : 'alarm', repeats }];
  });
  return [...ofAlerts, ...Array.from(outages, ([id, words]): Reason => ({ id, words, tone: 'alarm', repeats: false }))];
};

/** The reasons that must sound at `now`. */
export const dueReasons = (reasons: readonly Reason[], { sounded }: Told, now: number): readonly Reason[] =>
  reasons.filter(({ id, repeats }) => {
    const last = Object.hasOwn(sounded, id) ? sounded[id] : undefined;
    return last === undefined || (repeats && now - last >= REPEAT_MS);
  });

/** More alerts than the service lists in a day. */
const MOST_ALERTS = 500;

/** The page keeps alerts that left the lists: a reloaded page has no list yet. An outage that comes again sounds again. */
const keptIds = (ids: readonly string[], reasons: readonly Reason[]): readonly string[] => {
  const current = new Set(reasons.map(({ id }) => id));
  return ids.filter((id) => id.startsWith('alert ') || current.has(id)).slice(-MOST_ALERTS);
};

/** The alarm sounded for these reasons at `now`. */
export const withSounded = (told: Told, reasons: readonly Reason[], due: readonly Reason[], now: number): Told => {
  const all = { ...told.sounded, ...Object.fromEntries(due.map(({ id }) => [id, now])) };
  return { ...told, sounded: Object.fromEntries(keptIds(Object.keys(all), reasons).map((id) => [id, all[id] ?? now])) };
};

/** Desktop notifications of these reasons were shown. */
export const withShown = (told: Told, reasons: readonly Reason[], fresh: readonly Reason[]): Told => ({
  ...told,
  shown: keptIds([...told.shown, ...fresh.map(({ id }) => id)], reasons),
});

/** The reasons without a desktop notification. */
export const unshownReasons = (reasons: readonly Reason[], { shown }: Told): readonly Reason[] =>
  reasons.filter(({ id }) => !shown.includes(id));

/** An alert of another type than fire is not new any more when its calls are over, and it has sounded or the sound is off. */
export const toldOnce = (arrivals: readonly Notification[], { sounded }: Told, isSoundOn: boolean): readonly string[] =>
  arrivals
    .filter((each) => !isFire(each) && each.status !== 'in_progress')
    .filter((each) => !isSoundOn || Object.hasOwn(sounded, idOf(each)))
    .map(({ notification_id: id }) => id);
