import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { idProblem } from '../../../src/analytics/model/identifier.ts';
import {
  cameraKey,
  DAY_KEY,
  eventKey,
  eventsOfMinute,
  hourKey,
  minuteKey,
  parseCameraKey,
  parseEventKey,
  parseMinuteKey,
  parseShardPartition,
  partitionsOf,
  rowsOfHour,
  SEALED_KEY,
  shardPartition,
} from '../../../src/analytics/rows/keys.ts';
import { inStripe, MAX_STRIPES, parseStripe, stripesOf } from '../../../src/analytics/rows/stripes.ts';
import { DecodeError } from '../../../src/storage/errors.ts';
import type { KeyRange } from '../../../src/storage/row.ts';
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
const minutes = fc.oneof(fc.nat(1_439), fc.integer({ min: 598, max: 601 }));
const stripes = fc.nat(MAX_STRIPES - 1);
const counterKeys = fc.oneof(
  fc.constant(DAY_KEY),
  fc.nat(23).map(hourKey),
  fc.tuple(minutes, fc.nat(59)).map(([minute, second]) => minuteKey(minute, second)),
  ids.map(cameraKey),
);
const has = ({ from, before }: KeyRange, key: string): boolean => from <= key && key < before;

it('the key of an event tells what it was made of, has at most 512 characters, and none that storage refuses, or proxies and SDKs decode', () => {
  fc.assert(
    fc.property(minutes, minutes, ids, ids, ids, (minute, other, cameraId, otherId, eventId) => {
      const key = eventKey(minute, cameraId, eventId);
      expect(parseEventKey(key)).toEqual({ minute, cameraId, eventId });
      expect(parseCameraKey(cameraKey(cameraId))).toBe(cameraId);
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
    fc.property(counterKeys, stripes, (key, stripe) => {
      const stored = inStripe(key, stripe);
      expect(parseStripe(stored)).toEqual({ key, stripe });
      expect(stored).toMatch(/^[^/\\#?%\p{Cc}]{1,512}$/u);
      expect(has(stripesOf(key), stored)).toBe(true);
    }),
  );
  const keys = [DAY_KEY, hourKey(1), minuteKey(1, 0), minuteKey(1, 30), ...NASTY.map(cameraKey)];
  for (const key of keys) expect(keys.filter((other) => has(stripesOf(key), other))).toEqual([key]);
  expect([29, 30].map((second) => parseMinuteKey(minuteKey(495, second)))).toEqual([
    { minute: 495, second: 0 },
    { minute: 495, second: 30 },
  ]);
  // The row that tells of a seal is the last of the day rows.
  expect(has(stripesOf(DAY_KEY), SEALED_KEY) && inStripe(DAY_KEY, MAX_STRIPES - 1) < SEALED_KEY).toBe(true);
});

it('the range of an hour has its minutes, and the range of the partitions of a day all its shards and generations', () => {
  for (const hour of all(24)) {
    const found = all(1_440).filter((minute) => has(rowsOfHour('minute', hour), minuteKey(minute, 42)));
    expect(found).toEqual(all(60).map((minute) => 60 * hour + minute));
  }
  for (const [shard, generation] of [
    [63, 0],
    [7, 12],
  ] as const) {
    const partition = shardPartition(DATE, shard, generation);
    expect(parseShardPartition(DATE, partition)).toEqual({ shard, generation });
    expect(has(partitionsOf(DATE), partition)).toBe(true);
  }
  for (const other of ['2026-11-20_00', '2026-11-22.1_00', 'days']) expect(has(partitionsOf(DATE), other)).toBe(false);
});

it.each<readonly [parse: (key: string) => unknown, keys: string]>([
  [parseCameraKey, 'camera,camera|a|b,event|0815|a|b,hour|08'],
  [parseMinuteKey, 'minute|0815,minute|2400|00,minute|0860|00,minute|0815|15,minute|0815|60,hour|0815|00'],
  [parseEventKey, 'event|9959|a|b,event|815|a|b,event|0815|a,event|0815|a|b|c,camera|a,event|08:5|a|b'],
  [parseStripe, 'day 1,day 00,day 64,day 01 02,day x1,day sealed'],
  [(key) => parseShardPartition(DATE, key), '2026-11-20_00,2026-11-21,2026-11-21.0_00,2026-11-21_0'],
])('a key of another form is damage: %o, %s', (parse, keys) => {
  for (const key of keys.split(',')) expect(() => parse(key), key).toThrow(DecodeError);
});
