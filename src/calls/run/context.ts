import type { Log } from '../../log.ts';
import type { Clock } from '../model/clock.ts';
import type { Destination } from '../model/outcome-events.ts';
import type { PhoneLine } from '../model/phone-line.ts';
import type { Policy } from '../state/step.ts';
import type { NotificationStore } from '../store/notification-store.ts';

/** What everything in this folder shares. */
export interface Context {
  readonly line: PhoneLine;
  readonly store: NotificationStore;
  readonly policy: Policy;
  /** Where outcomes are published. */
  readonly destinations: readonly Destination[];
  readonly clock: Clock;
  /** From 0 to 1, for the jitter of pauses. */
  readonly random: () => number;
  /** A new UUID. */
  readonly newId: () => string;
  /** For what happens outside any request. */
  readonly log: Log;
}
