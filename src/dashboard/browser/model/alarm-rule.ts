import { alertTitle, isDrill, isFire, needsPerson } from './alert-state.ts';
import type { Notification } from './answers.ts';
import type { TabMemory } from './arrivals.ts';

// When the page sounds: once for each new alert and for each outage, and again every 25 s while an alert needs a person.

/** Milliseconds until the alarm sounds again for an alert that no person has taken. */
const REPEAT_MS = 25_000;

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
 * @param alerts in their latest state, the worst first
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
export const dueReasons = (reasons: readonly Reason[], { sounded }: TabMemory, now: number): readonly Reason[] =>
  reasons.filter(({ id, repeats }) => {
    const last = sounded[id] ?? 0;
    return last === 0 || (repeats && now - last >= REPEAT_MS);
  });

/** The reasons without a desktop notification. */
export const newReasons = (reasons: readonly Reason[], { sounded }: TabMemory): readonly Reason[] =>
  reasons.filter(({ id }) => !Object.hasOwn(sounded, id));

/** More alerts than the page lists of a day: it lists 500. */
const MOST_ALERTS = 2_000;

/**
 * The alarm sounded for `heard` at `now`, and the desktop notifications of `shown` were shown. Alerts that left the lists are kept: a reloaded
 * page has no list yet. An outage that comes again sounds again.
 */
export const withAlarm = (
  memory: TabMemory,
  reasons: readonly Reason[],
  { heard, shown }: { readonly heard: readonly Reason[]; readonly shown: readonly Reason[] },
  now: number,
): TabMemory => {
  const all = [
    ...Object.entries(memory.sounded),
    ...shown.map(({ id }) => [id, 0] as const),
    ...heard.map(({ id }) => [id, now] as const),
  ];
  const current = new Set(reasons.map(({ id }) => id));
  const kept = [...new Map(all)].filter(([id]) => id.startsWith('alert ') || current.has(id));
  return { ...memory, sounded: Object.fromEntries(kept.slice(-MOST_ALERTS)) };
};

/** An alert of another type than fire is not new any more when its calls are over, and it has sounded or the sound is off. */
export const soundedArrivals = (
  arrivals: readonly Notification[],
  { sounded }: TabMemory,
  isSoundOn: boolean,
): readonly string[] =>
  arrivals
    .filter((each) => !isFire(each) && each.status !== 'in_progress')
    .filter((each) => !isSoundOn || (sounded[idOf(each)] ?? 0) > 0)
    .map(({ notification_id: id }) => id);
