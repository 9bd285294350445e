import { dueReasons, newReasons, type Reason, soundedArrivals, withAlarm } from '../model/alarm-rule.ts';
import type { Notification } from '../model/answers.ts';
import { type TabMemory, withSeen } from '../model/arrivals.ts';
import type { Alarm } from './alarm.ts';

/**
 * Sounds and shows what is due at `now` (milliseconds since 1970). A sound that the browser blocks stays due: it comes after the click that
 * unlocks it.
 *
 * @returns the memory of the tab after that; the same object if nothing changed
 */
export const signal = (
  alarm: Alarm,
  memory: TabMemory,
  reasons: readonly Reason[],
  arrivals: readonly Notification[],
  now: number,
): TabMemory => {
  const due = alarm.isOn ? dueReasons(reasons, memory, now) : [];
  const tone = due.some((each) => each.tone === 'alarm') ? 'alarm' : 'drill';
  const heard = due.length > 0 && alarm.sound(tone) ? due : [];
  const shown = alarm.isOn ? newReasons(reasons, memory) : [];
  alarm.show(shown);
  const signaled = withAlarm(memory, reasons, { heard, shown }, now);
  const next = withSeen(signaled, soundedArrivals(arrivals, signaled, alarm.isOn));
  return JSON.stringify(next) === JSON.stringify(memory) ? memory : next;
};
