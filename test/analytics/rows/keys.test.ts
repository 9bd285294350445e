import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { DecodeError } from '../../../src/storage/errors.ts';
import type { KeyRange } from '../../../src/storage/row.ts';
import {
  ALL_CAMERAS,
  ALL_EVENTS,
  ALL_HOURS,
  cameraKey,
  camerasKey,
  dayPartition,
  eventKey,
  eventsOfMinute,
  hasKnownOrder,
  hourKey,
  HOURS_KEY,
  minuteKey,
  minutesOfHour,
  parseCameraKey,
  parseEventKey,
  parseHourKey,
  parseMinuteKey,
  rangeOver,
  shardPartition,
  SHARDS_KEY,
  TOTAL_KEY,
} from '../../../src/analytics/rows/keys.ts';
import { ids } from '../arbitraries.ts';

const minutes = fc.integer({ min: 0, max: 1_439 });
const seconds = fc.integer({ min: 0, max: 59 });

/** What Table Storage refuses in a key, and the percent sign, which proxies and SDKs decode. */
const FORBIDDEN = /[/\\#?%\p{Cc}]/u;

const has = ({ from, before }: KeyRange, key: string): boolean => from <= key && key < before;

const WORST_IDS = [
  ...['/', '\\', '#', '?', '%', '|', '\uFF0F', '\uFF3C', '\uFF03', '\uFF1F', '\uFF05', '\uFF5C', "'", ' ', '"'].map(
    (character) => character.repeat(128),
  ),
  '🔥'.repeat(64),
  '/\uFF0F|\uFF5C%\uFF05',
  '..',
  '%2F',
  'a|b',
  'a}b',
  '~',
];
const anyId = fc.oneof(ids, fc.constantFrom(...WORST_IDS));

describe('the key of a camera or an event', () => {
  it('names the camera and the event that it was built from', () => {
    fc.assert(
      fc.property(minutes, anyId, anyId, (minute, cameraId, eventId) => {
        expect(parseCameraKey(cameraKey(cameraId))).toBe(cameraId);
        expect(parseEventKey(eventKey(minute, cameraId, eventId))).toEqual({ minute, cameraId, eventId });
      }),
      { numRuns: 1_000 },
    );
  });

  it('has at most 512 characters and none that Table Storage refuses', () => {
    fc.assert(
      fc.property(minutes, anyId, anyId, (minute, cameraId, eventId) => {
        for (const key of [cameraKey(cameraId), eventKey(minute, cameraId, eventId)]) {
          expect(key.length).toBeLessThanOrEqual(512);
          expect(key).not.toMatch(FORBIDDEN);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('is readable where the id is', () => {
    expect(cameraKey('ridge-04')).toBe('camera|ridge-04');
    expect(eventKey(495, 'ridge-04', 'f-1029')).toBe('event|0815|ridge-04|f-1029');
    expect(cameraKey('north/ridge|4')).toBe('camera|north／ridge｜4');
  });

  it.each<[row: string, parse: (key: string) => unknown, keys: readonly string[]]>([
    ['camera', parseCameraKey, ['camera', 'camera|a|b', 'event|0815|a|b', 'hour|08']],
    ['hour', parseHourKey, ['hour|8', 'hour|24', 'hour|08|x', 'minute|08']],
    [
      'minute',
      parseMinuteKey,
      ['minute|0815', 'minute|2400|00', 'minute|0860|00', 'minute|0815|15', 'minute|0815|60', 'hour|0815|00'],
    ],
    [
      'event',
      parseEventKey,
      ['event|9959|a|b', 'event|815|a|b', 'event|0815|a', 'event|0815|a|b|c', 'camera|a', 'event|08:5|a|b'],
    ],
  ])('of a %s row is not taken from a key of another form', (_row, parse, keys) => {
    for (const key of ['total', '', ...keys]) expect(() => parse(key), key).toThrow(DecodeError);
  });

  it('names each hour and each minute of a day', () => {
    const day = Array.from({ length: 1_440 }, (_, minute) => minute);
    for (const second of [0, 29, 30, 59]) {
      const named = day.map((minute) => parseMinuteKey(minuteKey(minute, second)));
      expect(named).toEqual(day.map((minute) => ({ minute, second: second < 30 ? 0 : 30 })));
    }
    expect(day.slice(0, 24).map((hour) => parseHourKey(hourKey(hour)))).toEqual(day.slice(0, 24));
    expect([minuteKey(495, 42), hourKey(8)]).toEqual(['minute|0815|30', 'hour|08']);
  });
});

describe('a range of keys', () => {
  const everyKey = fc.oneof(
    fc.constantFrom(SHARDS_KEY, TOTAL_KEY, HOURS_KEY),
    fc.integer({ min: 1, max: 9_999 }).map(camerasKey),
    fc.integer({ min: 0, max: 23 }).map(hourKey),
    fc.tuple(minutes, seconds).map(([minute, second]) => minuteKey(minute, second)),
    ids.map(cameraKey),
    fc.tuple(minutes, ids, ids).map(([minute, cameraId, eventId]) => eventKey(minute, cameraId, eventId)),
  );

  it.each<[string, KeyRange, string]>([
    ['camera rows', ALL_CAMERAS, 'camera|'],
    ['hour rows', ALL_HOURS, 'hour|'],
    ['event rows', ALL_EVENTS, 'event|'],
  ])('has all %s and no others', (_rows, range, prefix) => {
    fc.assert(
      fc.property(everyKey, (key) => {
        expect(has(range, key)).toBe(key.startsWith(prefix));
      }),
    );
  });

  it('of an hour has its minute rows; those of all hours have whatever looks like one, each once', () => {
    const hours = Array.from({ length: 24 }, (_, hour) => hour);
    const odd = fc.constantFrom('minute|', 'minute|0', 'minute|0860', 'minute|2400', 'minute|9999', 'minute|x');
    fc.assert(
      fc.property(fc.oneof(everyKey, odd), (key) => {
        const found = hours.filter((hour) => has(minutesOfHour(hour), key));
        expect(found).toHaveLength(key.startsWith('minute|') ? 1 : 0);
      }),
    );
    for (const minute of [0, 59, 60, 495, 1_439]) {
      expect(has(minutesOfHour(Math.floor(minute / 60)), minuteKey(minute, 59))).toBe(true);
    }
  });

  it('of a minute has the events of that minute and no others', () => {
    // Few minutes, so that both cases are common.
    const few = fc.integer({ min: 598, max: 601 });
    fc.assert(
      fc.property(few, few, ids, ids, (asked, minute, cameraId, eventId) => {
        expect(has(eventsOfMinute(asked), eventKey(minute, cameraId, eventId))).toBe(asked === minute);
      }),
    );
  });

  it('of a minute and a camera has its events and not those of a camera that is called much alike', () => {
    const alike = fc.constantFrom('a', 'ab', 'a|', 'a|b', 'a}', 'a/', 'A', 'a ', 'a\uFF5C');
    fc.assert(
      fc.property(minutes, fc.oneof(alike, ids), fc.oneof(alike, ids), ids, (minute, asked, cameraId, eventId) => {
        expect(has(eventsOfMinute(minute, asked), eventKey(minute, cameraId, eventId))).toBe(asked === cameraId);
      }),
      { numRuns: 500 },
    );
  });
});

const codePoints = (text: string): readonly number[] => Array.from(text, (character) => character.codePointAt(0) ?? 0);

const isBefore = (left: string, right: string): boolean => {
  const [one, other] = [codePoints(left), codePoints(right)];
  const at = one.findIndex((point, index) => point !== other[index]);
  return at === -1 ? one.length < other.length : (one[at] ?? 0) < (other[at] ?? -1);
};

describe('the range over some keys', () => {
  const ordinary = fc.tuple(minutes, ids.filter(hasKnownOrder), ids.filter(hasKnownOrder));
  it('has each of them, whatever order storage has for characters above U+FFFF, and no character that a filter may not have', () => {
    fc.assert(
      fc.property(fc.array(ordinary, { minLength: 1, maxLength: 6 }), (given) => {
        const keys = given.map(([minute, cameraId, eventId]) => eventKey(minute, cameraId, eventId));
        const range = rangeOver(keys);
        for (const key of keys) {
          expect(has(range, key)).toBe(true);
          expect(isBefore(key, range.from) || !isBefore(key, range.before)).toBe(false);
        }
        expect(range.from + range.before).not.toMatch(/\p{Cc}/u);
      }),
    );
  });

  it('is not used for a key with such a character', () => {
    expect([cameraKey('ridge 🔥'), cameraKey('ridge\uFFFD')].map(hasKnownOrder)).toEqual([false, true]);
  });
});

describe('a partition', () => {
  it('is named for the day and the shard', () => {
    const day = dayOf(instantFrom(1_795_248_000_000_000n));
    expect([dayPartition(day), shardPartition(day, 0), shardPartition(day, 63)]).toEqual([
      '2026-11-21',
      '2026-11-21_00',
      '2026-11-21_63',
    ]);
  });
});
