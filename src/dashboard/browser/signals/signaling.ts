import { dueReasons, newReasons, type Reason, toldOnce, withAlarm } from '../model/alarm-rule.ts';
import type { Notification } from '../model/answers.ts';
import { type Told, withSeen } from '../model/arrivals.ts';
import type { Alarm } from './alarm.ts';

/**
 * Sounds and shows what is due at `now` (milliseconds since 1970). A sound that the browser blocks stays due: it comes after the click that
 * unlocks it.
 *
 * @returns what the tab has told after that; the same object if nothing changed
 */
export const signal = (
  alarm: Alarm,
  told: Told,
  reasons: readonly Reason[],
  arrivals: readonly Notification[],
  now: number,
): Told => {
  const due = alarm.isOn ? dueReasons(reasons, told, now) : [];
  const tone = due.some((each) => each.tone === 'alarm') ? 'alarm' : 'drill';
  const heard = due.length > 0 && alarm.sound(tone) ? due : [];
  const shown = alarm.isOn ? newReasons(reasons, told) : [];
  alarm.show(shown);
  const signaled = withAlarm(told, reasons, { heard, shown }, now);
  const next = withSeen(signaled, toldOnce(arrivals, signaled, alarm.isOn));
  return JSON.stringify(next) === JSON.stringify(told) ? told : next;
};
