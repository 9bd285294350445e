import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

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
import { ids } from '../arbitraries.ts';
import { DATE } from '../counting.ts';

const minutes = fc.oneof(fc.nat(1_439), fc.integer({ min: 598, max: 601 }));
/** Ids that are much alike, with characters that separate the parts of keys. */
const alike = fc.constantFrom('a', 'ab', 'a|', 'a|b', 'a}', 'a/', 'A', 'a ', 'a!', 'a 01', 'a\uFF5C', '..', '%2F', '~');
const anyId = fc.oneof(ids, alike);
const stripes = fc.nat(MAX_STRIPES - 1);

const counterKeys = fc.oneof(
  fc.constant(DAY_KEY),
  fc.nat(23).map(hourKey),
  fc.tuple(minutes, fc.nat(59)).map(([minute, second]) => minuteKey(minute, second)),
  anyId.map(cameraKey),
);
const has = ({ from, before }: KeyRange, key: string): boolean => from <= key && key < before;
describe('a key', () => {
  it('tells what it was made of, and has at most 512 characters: none that storage refuses, or proxies and SDKs decode', () => {
    fc.assert(
      fc.property(
        minutes,
        anyId,
        anyId,
        fc.nat(59),
        counterKeys,
        stripes,
        (minute, cameraId, eventId, second, key, stripe) => {
          const own = eventKey(minute, cameraId, eventId);
          expect(parseCameraKey(cameraKey(cameraId))).toBe(cameraId);
          expect(parseEventKey(own)).toEqual({ minute, cameraId, eventId });
          expect(parseMinuteKey(minuteKey(minute, second))).toEqual({ minute, second: second < 30 ? 0 : 30 });
          expect(parseStripe(inStripe(key, stripe))).toEqual({ key, stripe });
          for (const stored of [own, inStripe(key, stripe)]) {
            expect(stored.length).toBeLessThanOrEqual(512);
            expect(stored).not.toMatch(/[/\\#?%\p{Cc}]/u);
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it.each<readonly [parse: (key: string) => unknown, keys: string]>([
    [parseCameraKey, 'camera,camera|a|b,event|0815|a|b,hour|08'],
    [parseMinuteKey, 'minute|0815,minute|2400|00,minute|0860|00,minute|0815|15,minute|0815|60,hour|0815|00'],
    [parseEventKey, 'event|9959|a|b,event|815|a|b,event|0815|a,event|0815|a|b|c,camera|a,event|08:5|a|b'],
    [parseStripe, 'day 1,day 00,day 64,day 01 02,day x1,day sealed'],
  ])('is not read as one of another form: %o, %s', (parse, keys) => {
    for (const key of keys.split(',')) expect(() => parse(key), key).toThrow(DecodeError);
  });
});

describe('a range of keys', () => {
  it('of a minute, and of a camera in it, has its rows and no others', () => {
    fc.assert(
      fc.property(minutes, minutes, anyId, anyId, anyId, (asked, minute, askedId, cameraId, eventId) => {
        const key = eventKey(minute, cameraId, eventId);
        expect(has(eventsOfMinute(asked), key)).toBe(asked === minute);
        expect(has(eventsOfMinute(minute, askedId), key)).toBe(askedId === cameraId);
        const [hour, other] = [Math.floor(minute / 60), Math.floor(asked / 60)];
        expect(has(rowsOfHour('minute', other), minuteKey(minute, 42))).toBe(other === hour);
      }),
      { numRuns: 500 },
    );
  });

  it('of a counter has its row in all stripes, and nothing else is between them', () => {
    fc.assert(
      fc.property(counterKeys, counterKeys, stripes, (asked, key, stripe) => {
        expect(has(stripesOf(asked), inStripe(key, stripe))).toBe(asked === key);
        expect(has(stripesOf(asked), inStripe(asked, stripe))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('of a day has the partitions of all its shards and generations, and none of another day', () => {
    for (const [shard, generation] of [
      [0, 0],
      [63, 0],
      [7, 1],
      [0, 12],
    ] as const) {
      const partition = shardPartition(DATE, shard, generation);
      expect(parseShardPartition(DATE, partition)).toEqual({ shard, generation });
      expect(has(partitionsOf(DATE), partition)).toBe(true);
    }
    for (const other of ['2026-11-20_00', '2026-11-22.1_00', 'days'])
      expect(has(partitionsOf(DATE), other)).toBe(false);
    for (const wrong of ['2026-11-20_00', '2026-11-21', '2026-11-21.0_00', '2026-11-21_0']) {
      expect(() => parseShardPartition(DATE, wrong)).toThrow(DecodeError);
    }
  });

  it('of the day rows ends with the row that tells of a seal', () => {
    expect(has(stripesOf(DAY_KEY), SEALED_KEY)).toBe(true);
    expect(inStripe(DAY_KEY, MAX_STRIPES - 1) < SEALED_KEY).toBe(true);
  });
});
