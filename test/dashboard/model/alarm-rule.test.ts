import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import {
  dueReasons,
  newReasons,
  type Reason,
  reasonsOf,
  soundedArrivals,
  withAlarm,
} from '../../../src/dashboard/browser/model/alarm-rule.ts';
import {
  arrivalsOf,
  isOnWall,
  EMPTY_MEMORY,
  type TabMemory,
  withFirstAnswer,
  withSeen,
  withUnseen,
} from '../../../src/dashboard/browser/model/arrivals.ts';
import { before, missed, NOON, notification, person } from '../answers.ts';

const NONE: ReadonlyMap<string, string> = new Map();
const CONFIRMED = { status: 'completed', recipients: [person('00', 'confirmed')] };

const idsOf = (reasons: readonly Reason[]): readonly string[] => reasons.map(({ id }) => id);

it('sounds for alerts that need a person and for new alerts; a drill has its tone, and repeats never', () => {
  const fire = missed('fire', { details: 'Mile 4' });
  const over = notification('over', { ...CONFIRMED, alert_type: 'Anomaly' });
  const drill = missed('drill', { alert_type: 'Custom' });
  const reasons = reasonsOf(
    [fire, over, drill, notification('known', CONFIRMED)],
    [over, drill],
    new Map([['outage', 'Blind.']]),
  );
  expect(reasons).toEqual([
    { id: 'alert fire', words: 'Fire: Mile 4', tone: 'alarm', repeats: true },
    { id: 'alert over', words: 'Anomaly', tone: 'alarm', repeats: false },
    { id: 'alert drill', words: 'Drill', tone: 'drill', repeats: false },
    { id: 'outage', words: 'Blind.', tone: 'alarm', repeats: false },
  ]);
});

/** The memory of the tab after the alarm sounded for these reasons at noon. */
const heardAtNoon = (reasons: readonly Reason[], memory: TabMemory = EMPTY_MEMORY): TabMemory =>
  withAlarm(memory, reasons, { heard: reasons, shown: reasons }, NOON);

it('sounds once for each reason, every 25 s while an alert needs a person, and again for one that became worse', () => {
  const reasons = reasonsOf([missed('fire')], [], new Map([['silence', '']]));
  const memory = heardAtNoon(reasons);
  expect(dueReasons(reasons, EMPTY_MEMORY, NOON)).toEqual(reasons);
  expect(dueReasons(reasons, memory, NOON + 24_999)).toEqual([]);
  expect(idsOf(dueReasons(reasons, memory, NOON + 25_000))).toEqual(['alert fire']);
  const taken = { acknowledged_by: 'Ana', acknowledged_at: before(0) };
  expect(reasonsOf([missed('fire', taken)], [], NONE)).toEqual([]);
  const worse = reasonsOf([missed('fire', { ...taken, worsened_since_acknowledged: true })], [], NONE);
  expect(dueReasons(worse, memory, NOON + 1)).toEqual(worse);
});

it('a reason that was blocked stays due, and is shown once; a reason that ends and comes again is due again', () => {
  const reasons = reasonsOf([], [], new Map([['silence', '']]));
  const blocked = withAlarm(EMPTY_MEMORY, reasons, { heard: [], shown: reasons }, NOON);
  expect([newReasons(reasons, EMPTY_MEMORY), newReasons(reasons, blocked)]).toEqual([reasons, []]);
  expect(dueReasons(reasons, blocked, NOON)).toEqual(reasons);
  const ended = withAlarm(heardAtNoon(reasons, blocked), [], { heard: [], shown: [] }, NOON);
  expect([dueReasons(reasons, ended, NOON), newReasons(reasons, ended)]).toEqual([reasons, reasons]);
});

it('an alert that left the lists is not due again when it comes back', () => {
  const reasons = reasonsOf([missed('fire')], [], NONE);
  const left = withAlarm(heardAtNoon(reasons), [], { heard: [], shown: [] }, NOON);
  expect([dueReasons(reasons, left, NOON + 1), newReasons(reasons, left)]).toEqual([[], []]);
});

it('keeps the latest 2,000 alerts that sounded', () => {
  const reasons = reasonsOf(
    Array.from({ length: 2_001 }, (_, index) => missed(`${index}`)),
    [],
    NONE,
  );
  const { sounded } = heardAtNoon(reasons);
  expect(Object.keys(sounded)).toEqual(idsOf(reasons).slice(1));
});

it('another type than fire is not new after it has sounded, or without sound; a fire is new until it was seen', () => {
  const arrivals = [notification('fire', CONFIRMED), notification('other', { ...CONFIRMED, alert_type: 'BurnJob' })];
  expect(soundedArrivals(arrivals, EMPTY_MEMORY, true)).toEqual([]);
  expect(soundedArrivals(arrivals, { ...EMPTY_MEMORY, sounded: { 'alert other': NOON } }, true)).toEqual(['other']);
  expect(
    soundedArrivals(arrivals, { ...EMPTY_MEMORY, sounded: { 'alert other': 0 } }, true),
    'the sound is blocked',
  ).toEqual([]);
  expect(soundedArrivals(arrivals, EMPTY_MEMORY, false)).toEqual(['other']);
  expect(soundedArrivals([notification('runs', { alert_type: 'BurnJob' })], EMPTY_MEMORY, false)).toEqual([]);
});

it('what was over when the tab was opened is not new; what came later is, until a reader has seen it', () => {
  const first = [
    notification('over', { ...CONFIRMED, created_at: before(3_600) }),
    notification('runs', { created_at: before(3_600) }),
    notification('over while it opened', { ...CONFIRMED, created_at: before(-2) }),
  ];
  const memory = withFirstAnswer(EMPTY_MEMORY, first, NOON);
  const listed = [...first, notification('later', CONFIRMED)];
  const news = arrivalsOf(memory, listed).map(({ notification_id: id }) => id);
  expect(news).toEqual(['runs', 'over while it opened', 'later']);
  expect(withFirstAnswer(memory, listed, NOON + 1)).toBe(memory);
  const seen = withSeen(memory, ['later']);
  expect(arrivalsOf(seen, listed)).toHaveLength(2);
  expect(arrivalsOf(withUnseen(seen, ['later']), listed)).toHaveLength(3);
  expect(arrivalsOf(EMPTY_MEMORY, listed), 'before the first answer').toEqual([]);
});

it('an alert that ended at most 30 s before the tab was opened is new: clocks of instances differ', () => {
  const ended = [29, 30, 31].map((age) => notification(`${age}`, { ...CONFIRMED, created_at: before(age) }));
  expect(withFirstAnswer(EMPTY_MEMORY, ended, NOON).known).toEqual(['31']);
});

it('keeps the latest 2,000 alerts that a reader has seen', () => {
  const ids = Array.from({ length: 2_001 }, (_, index) => `${index}`);
  expect(withSeen(withSeen(EMPTY_MEMORY, ids), ['last']).known).toEqual([...ids.slice(2), 'last']);
});

it('every alert that comes after the first answer is new exactly until it was seen, whatever the order', () => {
  const id = fc.string({ minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(fc.uniqueArray(id, { maxLength: 100 }), fc.array(fc.nat(99), { maxLength: 100 }), (ids, seen) => {
      const listed = ids.map((each) => notification(each, CONFIRMED));
      const seenIds = seen.flatMap((index) => ids[index] ?? []);
      const memory = withSeen(withFirstAnswer(EMPTY_MEMORY, [], NOON - 3_600_000), seenIds);
      const expected = ids.filter((each) => !seenIds.includes(each));
      expect(arrivalsOf(memory, listed).map((each) => each.notification_id)).toEqual(expected);
    }),
  );
});

it('on a wall, where nobody marks a fire as seen, it stays for an hour', () => {
  expect([3_599, 3_600].map((seconds) => isOnWall(notification('n', { created_at: before(seconds) }), NOON))).toEqual([
    true,
    false,
  ]);
});
