import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { idProblem } from '../../../src/analytics/model/camera-event.ts';
import { isHour, minuteFrom } from '../../../src/analytics/model/day.ts';
import {
  ALL_PARTITIONS,
  dayOfPartition,
  cameraCounter,
  counterKey,
  DAY_COUNTER,
  eventKey,
  eventsOfHour,
  eventsOfMinute,
  hourCounter,
  MAX_STRIPES,
  parseCameraKey,
  parseEventKey,
  parseStripe,
  partitionsOf,
  shardPartition,
  stripesOf,
} from '../../../src/analytics/rows/keys.ts';
import { DecodeError, type KeyRange } from '../../../src/storage/row.ts';
import { all, DATE } from '../counting.ts';

/** Characters that keys cannot have, their escapes, characters that separate the parts of keys, and ids that are much alike. */
const NASTY = String.raw`/ \ # ? % | } { ' " & + = , ; . ~ ! é 語 🔥 👩‍🚒 ／ ＼ ＃ ？ ％ ｜ a ab a| a|b a} a/ A .. %2F`
  .split(' ')
  .concat('\u3000', ' ', 'a ', 'a 01');
const ids = fc
  .oneof(
    fc.constantFrom(...NASTY, ...NASTY.map((text) => text.repeat(Math.floor(128 / text.length)))),
    fc.string({ unit: fc.constantFrom(...NASTY), minLength: 1, maxLength: 40 }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
  )
  .filter((id) => idProblem(id) === undefined);
const minutes = fc.oneof(fc.nat(1_439), fc.integer({ min: 598, max: 601 })).map(minuteFrom);
const stripes = fc.nat(MAX_STRIPES - 1);
const hours = all(24).filter(isHour);
const counters = fc.oneof(fc.constant(DAY_COUNTER), fc.constantFrom(...hours).map(hourCounter), ids.map(cameraCounter));
const has = ({ from, before }: KeyRange, key: string): boolean => from <= key && key < before;

it('the key of an event tells what it was made of, has at most 512 characters, and none that storage refuses, or proxies and SDKs decode', () => {
  fc.assert(
    fc.property(minutes, minutes, ids, ids, ids, (minute, other, cameraId, otherId, eventId) => {
      const key = eventKey(minute, cameraId, eventId);
      expect(parseEventKey(key)).toEqual({ cameraId, eventId });
      expect(parseCameraKey(counterKey(cameraCounter(cameraId), 63))).toBe(cameraId);
      expect(key).toMatch(/^[^/\\#?%\p{Cc}]{1,512}$/u);
      // Only the range of its minute, and of its camera, has it.
      expect(has(eventsOfMinute(other), key)).toBe(other === minute);
      expect(has(eventsOfMinute(minute, otherId), key)).toBe(otherId === cameraId);
    }),
    { numRuns: 500 },
  );
});

it('the key of a counter row tells its stripe, and only the range of its counter has it', () => {
  fc.assert(
    fc.property(counters, stripes, (counter, stripe) => {
      const key = counterKey(counter, stripe);
      expect(parseStripe(key)).toBe(stripe);
      expect(key).toMatch(/^[^/\\#?%\p{Cc}]{1,512}$/u);
      expect(has(stripesOf(counter), key)).toBe(true);
    }),
  );
  const some = [DAY_COUNTER, ...hours.map(hourCounter), ...NASTY.map(cameraCounter)] as const;
  for (const counter of some) {
    for (const stripe of [0, 63]) {
      expect(some.filter((other) => has(stripesOf(other), counterKey(counter, stripe)))).toEqual([counter]);
    }
  }
  for (const stripe of [-1, 64, 0.5]) expect(() => counterKey(DAY_COUNTER, stripe)).toThrow(RangeError);
});

it('the range of an hour has the events of its minutes, and the range of the partitions of a day all its shards', () => {
  for (const hour of hours) {
    const found = all(1_440).filter((minute) => has(eventsOfHour(hour), eventKey(minuteFrom(minute), 'a', 'b')));
    expect(found).toEqual(all(60).map((minute) => 60 * hour + minute));
  }
  for (const shard of [0, 7, 63]) {
    const partition = shardPartition(DATE, shard);
    expect(dayOfPartition(partition)).toBe(DATE);
    expect(has(partitionsOf(DATE), partition) && has(ALL_PARTITIONS, partition)).toBe(true);
  }
  for (const other of ['2026-11-20.00', '2026-11-22.00', 'days']) expect(has(partitionsOf(DATE), other)).toBe(false);
});

it.each<readonly [parse: (key: string) => unknown, keys: string]>([
  [parseCameraKey, 'camera,camera|a|b|00,event|0815|a|b,hour|08|00,camera|a'],
  [parseEventKey, 'event|815|a|b,event|0815|a,event|0815|a|b|c,camera|a,event|08:5|a|b'],
  [parseStripe, 'day|1,day|64,day|0x,day,hour|8|00,hour|08,camera|a,event|0815|a|00,day|00|00'],
  [dayOfPartition, '2026-11-20_00,2026-11-21,2026-11-21.64,2026-11-21.0,2026-02-30.00,days'],
])('a key of another form is damage: %o, %s', (parse, keys) => {
  for (const key of keys.split(',')) expect(() => parse(key), key).toThrow(DecodeError);
});
