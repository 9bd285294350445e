import { describe, expect, it } from 'vitest';

import { dayOf } from '../../src/analytics/model/day.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import { CountingStorage } from './counting.ts';
import { DAY, Oracle, type PlainMessage } from './oracle.ts';

const START = 20_779n * DAY;

const ODD = [
  '\u2028x\u2029',
  '/'.repeat(128),
  '%'.repeat(128),
  'it\'s "quoted" & <tagged>',
  'a|b',
  '／＃｜',
  ' ',
  '🔥🌲',
  '\u00a0\ufeff',
  '--batch_x',
];

describe('ids with characters that have a meaning for storage or for a proxy', () => {
  it('are counted and answered unchanged: line and paragraph separators, slashes, quotes, blanks', async () => {
    const storage = new CountingStorage();
    const process = storage.process();
    const oracle = new Oracle();
    const messages = Array.from({ length: 200 }, (_, index): PlainMessage => {
      const id = ODD[index % ODD.length] ?? '';
      const ts = START + BigInt(index) * 60_000_001n;
      // Only a short id has room for the number of the event.
      const eventId = id.length < 100 ? `${id}${index}` : `${id.slice(0, 120)}${index}`;
      return { cameraId: id, eventId, ts, time: ts, detections: { smoke: 1 } };
    });
    for (const message of messages) oracle.tell(message);
    for (let at = 0; at < messages.length; at += 50) await process.record(messages.slice(at, at + 50));

    const period = { start: START, end: START + DAY - 1n };
    expect(await process.answer(period)).toEqual(oracle.answer(period));
    for (const cameraId of ODD) {
      expect(await process.answer({ ...period, cameraId })).toEqual(oracle.answer({ ...period, cameraId }));
    }
    expect(await storage.process().answer(period)).toEqual(oracle.answer(period));
    expect(await process.differences(dayOf(instantFrom(START)))).toEqual([]);
  });
});
