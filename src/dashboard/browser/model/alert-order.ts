import { alertState, isDrill, isFire, isTaken, needsPerson } from './alert-state.ts';
import type { Notification } from './answers.ts';

export interface Alerts {
  /** Calls that failed, fires without a known listener, and new fires that are over: worst first. */
  readonly needsYou: readonly Notification[];
  readonly running: readonly Notification[];
  /** The alerts of both sections together, worst first: a fire that runs comes before a failed drill. */
  readonly worst: readonly Notification[];
  /** Of 24 hours, the newest first. */
  readonly rest: readonly Notification[];
  /** New fires: listed until a reader has seen them. For other types, the sound is enough. */
  readonly unseen: ReadonlySet<string>;
  /** Alerts that need a person, and unseen fires, without drills. */
  readonly openCount: number;
  readonly failedCount: number;
  /** Drills that run or failed. */
  readonly drillCount: number;
}

/** Fires first, drills last. A fire without owner whose calls are over comes first. */
const rankOf = (of: Notification): number => {
  const { stage } = alertState(of);
  const kind = isFire(of) ? 0 : isDrill(of) ? 20 : 10;
  const urgency = stage === 'failed' ? 0 : stage === 'unsure' ? 1 : 2;
  return kind + urgency + (isTaken(of) ? 5 : 0);
};

const oldestFirst = (left: Notification, right: Notification): number =>
  Date.parse(left.created_at) - Date.parse(right.created_at);

/** Of equal alerts, the oldest comes first: a new alert moves no older row. */
const worstFirst = (left: Notification, right: Notification): number =>
  rankOf(left) - rankOf(right) || oldestFirst(left, right);

/**
 * The sections of the alerts.
 *
 * @param listed alerts of 24 hours, each once, in its latest state
 * @param arrivals the alerts that are new to this tab
 */
export const alertsOf = (listed: readonly Notification[], arrivals: readonly Notification[]): Alerts => {
  const unseen = new Set(
    arrivals.filter((each) => isFire(each) && !isTaken(each)).map(({ notification_id: id }) => id),
  );
  const sectionOf = (of: Notification): 'needsYou' | 'running' | 'rest' => {
    const { stage } = alertState(of);
    if (stage === 'running') return 'running';
    if (isTaken(of)) return 'rest';
    const isOpen = stage === 'failed' || (stage === 'unsure' && isFire(of));
    return isOpen || unseen.has(of.notification_id) ? 'needsYou' : 'rest';
  };
  const sections = Map.groupBy(listed, sectionOf);
  const [needsYou = [], running = [], rest = []] = (['needsYou', 'running', 'rest'] as const).map((name) =>
    sections.get(name),
  );
  const worst = [...needsYou, ...running].toSorted(worstFirst);
  return {
    needsYou: needsYou.toSorted(worstFirst),
    running: running.toSorted(worstFirst),
    worst,
    rest: rest.toSorted((left, right) => oldestFirst(right, left)),
    unseen,
    openCount: worst.filter((each) => needsPerson(each) || unseen.has(each.notification_id)).length,
    failedCount: needsYou.filter((each) => alertState(each).stage === 'failed' && !isDrill(each)).length,
    drillCount: worst.filter(isDrill).length,
  };
};

/** `1 drill`; `3 drills` */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
