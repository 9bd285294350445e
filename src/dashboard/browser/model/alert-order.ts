import { alertState, isDrill, isFire, isTaken, needsPerson } from './alert-state.ts';
import { staysListed } from './arrivals.ts';
import type { Notification } from './answers.ts';

export interface Alerts {
  /** Calls that failed, fires without a known listener, and new fires that are over: worst first. */
  readonly needsYou: readonly Notification[];
  readonly running: readonly Notification[];
  /** Of 24 hours, the newest first. */
  readonly rest: readonly Notification[];
  /** New fires that are over: listed until a reader has seen them. */
  readonly unseen: ReadonlySet<string>;
  /** Alerts that need a person, and unseen fires, without drills. */
  readonly openCount: number;
  readonly failedCount: number;
  /** Drills that run or failed. */
  readonly drillCount: number;
}

/** Fires first, drills last. A fire without owner whose calls are over comes first. */
const rankOf = (of: Notification, unseen: ReadonlySet<string>): number => {
  const { stage } = alertState(of);
  const kind = isFire(of) ? 0 : isDrill(of) ? 20 : 10;
  const urgency = stage === 'failed' ? 0 : stage === 'unsure' ? 1 : unseen.has(of.notification_id) ? 2 : 3;
  return kind + urgency + (isTaken(of) ? 5 : 0);
};

const newestFirst = (left: Notification, right: Notification): number =>
  left.created_at === right.created_at ? 0 : left.created_at < right.created_at ? 1 : -1;

/**
 * The sections of the alerts.
 *
 * @param listed alerts of 24 hours, each once, in its latest state
 * @param arrivals the alerts that are new to this tab
 */
export const alertsOf = (listed: readonly Notification[], arrivals: readonly Notification[]): Alerts => {
  const unseen = new Set(
    arrivals.filter((each) => staysListed(each) && !isTaken(each)).map(({ notification_id: id }) => id),
  );
  const sectionOf = (of: Notification): 'needsYou' | 'running' | 'rest' => {
    const { stage } = alertState(of);
    if (stage === 'running') return 'running';
    if (isTaken(of)) return 'rest';
    const isOpen = stage === 'failed' || (stage === 'unsure' && isFire(of));
    return isOpen || unseen.has(of.notification_id) ? 'needsYou' : 'rest';
  };
  const sections = Map.groupBy(listed, sectionOf);
  const [needsYou, running, rest] = [
    sections.get('needsYou') ?? [],
    sections.get('running') ?? [],
    sections.get('rest') ?? [],
  ];
  const worstFirst = (left: Notification, right: Notification): number =>
    rankOf(left, unseen) - rankOf(right, unseen) || newestFirst(left, right);
  const isOpen = (each: Notification): boolean => needsPerson(each) || unseen.has(each.notification_id);
  return {
    needsYou: needsYou.toSorted(worstFirst),
    running: running.toSorted(worstFirst),
    rest: rest.toSorted(newestFirst),
    unseen,
    openCount: [...needsYou, ...running].filter(isOpen).length,
    failedCount: needsYou.filter((each) => alertState(each).stage === 'failed' && !isDrill(each)).length,
    drillCount: [...needsYou, ...running].filter(isDrill).length,
  };
};
