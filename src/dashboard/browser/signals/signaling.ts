import { keepTold } from '../asking/told.ts';
import { dueReasons, type Reason, toldOnce, unshownReasons, withShown, withSounded } from '../model/alarm-rule.ts';
import type { Notification } from '../model/answers.ts';
import { type Told, withSeen } from '../model/arrivals.ts';
import type { Alarm } from './alarm.ts';

/**
 * Sounds and shows what is due at `now` (milliseconds since 1970), and keeps what it told. A sound that the browser blocks stays due: it
 * comes after the click that unlocks it.
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
  const sounded = withSounded(told, reasons, heard, now);
  const unshown = alarm.isOn ? unshownReasons(reasons, told) : [];
  alarm.show(unshown);
  const shown = withShown(sounded, reasons, unshown);
  const next = withSeen(shown, toldOnce(arrivals, shown, alarm.isOn));
  if (JSON.stringify(next) !== JSON.stringify(told)) keepTold(next);
  return next;
};
