import type { Log } from '../log.ts';
import { Alarm } from './alarm.ts';
import { CallFlow } from './call-flow.ts';
import { DueWork } from './due-work.ts';
import { LinePause } from './line-pause.ts';
import type { NewNotificationRules } from './notification.ts';
import { Notifications } from './notifications.ts';
import type { PhoneLine } from './phone-line.ts';
import { Reaching } from './reaching.ts';
import type { ReachRules } from './recipient.ts';
import { CallLedger } from './store/call-ledger.ts';
import type { StoreRules } from './store/day-calls.ts';
import { NotificationStores } from './store/notification-stores.ts';
import type { Rows } from './store/rows.ts';

/** What the phone is made of. */
export interface PhoneParts {
  readonly line: PhoneLine;
  readonly rows: Rows;
  /** Spoken in the message. */
  readonly serviceName: string;
  readonly rules: ReachRules & NewNotificationRules & StoreRules;
  /** For what happens outside any request. */
  readonly log: Log;
}

/** What endpoints and the timer function use of the phone. */
export interface Phone {
  readonly notifications: Notifications;
  readonly flow: CallFlow;
  readonly dueWork: DueWork;
}

// Until then other instances do not know what this one did.
const WRITE_AGAIN_AFTER_MS = 3_000;

/** Puts the parts of this folder together. */
export const createPhone = ({ line, rows, serviceName, rules, log }: PhoneParts): Phone => {
  const stores = new NotificationStores(rows, rules);
  const alarm = new Alarm();
  const ledger = new CallLedger(rows, () => alarm.ringAt(Date.now() + WRITE_AGAIN_AFTER_MS));
  const pause = new LinePause();
  const reaching = new Reaching({ line, ledger, stores, rules, alarm, pause });
  const flow = new CallFlow({ line, ledger, owners: reaching, serviceName });
  const dueWork = new DueWork({ stores, reaching, flow, line, pause });
  alarm.onRing(() => {
    void dueWork.run(log);
  });
  return { notifications: new Notifications({ stores, reaching, ledger, rules, alarm }), flow, dueWork };
};
