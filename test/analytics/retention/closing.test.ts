import { describe, expect, it, vi } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { formatInstant, instantFrom } from '../../../src/analytics/model/instant.ts';
import { CLOSED_DAY } from '../../../src/analytics/record/committer.ts';
import { closeDays, type ClosingDependencies } from '../../../src/analytics/retention/close-days.ts';
import { openDays } from '../../../src/analytics/rows/day-row.ts';
import { DAYS_PARTITION } from '../../../src/analytics/rows/keys.ts';
import { all, DATE, frame, HOUR, MemoryStorage, MINUTE, SECOND, SHARD, START, WHOLE_DAY } from '../counting.ts';
import { DAY, Oracle, type PlainMessage } from '../oracle.ts';

const EIGHT = START + 8n * HOUR;

const stored = async (...messages: readonly PlainMessage[]): Promise<MemoryStorage> => {
  const storage = new MemoryStorage();
  await storage.process().record(messages);
  return storage;
};
/** The day is announced to close long ago. */
const announce = async (storage: MemoryStorage) =>
  storage.change(DATE, { closes: '2001-01-01T00:00:00.000000Z' }, DAYS_PARTITION);

/** A run of the timer long after the day, or some microseconds after its start. @returns the lines that it logs */
const run = async (storage: MemoryStorage, options: Partial<ClosingDependencies> = {}, after = 30_000n * DAY) => {
  vi.spyOn(Date, 'now').mockReturnValue(Number((START + after) / 1_000n));
  const lines: (readonly [event: string, fields: object | undefined])[] = [];
  const log = (event: string, fields?: object): void => void lines.push([event, fields]);
  const { table, days } = storage.process();
  await closeDays({ table, days, retentionDays: 1, ...options }, { info: log, warn: log, error: log });
  return lines;
};

const eventKeys = (storage: MemoryStorage): readonly string[] =>
  storage.keys().filter((rowKey) => rowKey.startsWith('event|'));
const open = async (storage: MemoryStorage) => openDays(storage.process().table);

// The world of counting plays closings with concurrent requests and accidents.
describe('a closed day', () => {
  // With these large counts a second overflows at about fifty frames.
  const detections = Object.fromEntries(all(60).map((index) => [`c${index}`, 9_000 + index]));
  const crowded = EIGHT + 15n * MINUTE + 30n * SECOND;
  const periods = [
    WHOLE_DAY,
    { start: crowded - 1n, end: crowded + 3n * SECOND },
    { start: crowded + 12_500n, end: crowded + 25_000n },
    { start: EIGHT + 1n, end: crowded + 62_500n },
  ];

  it.each([0, 1])(
    'answers as before to the microsecond, keeps event rows of a second that overflowed in stripe %i of two alone, and refuses changes',
    async (stripe) => {
      const storage = new MemoryStorage();
      const [inSecond, inFirst] = [storage.process(), storage.process()];
      // The second process to record takes the first stripe over, so the other process moves to another stripe.
      const early = [2n, 3n].map((before) => frame('crowded', `early${before}`, crowded - before * SECOND));
      const few = [1n, 500_001n].map((into) => frame('ridge-1', `few${into}`, crowded + into));
      // In two seconds, with another second between them.
      const crowd = all(160).map((at) =>
        frame('crowded', `f${at}`, crowded + 12_500n * BigInt(at < 80 ? at : at + 80), { detections }),
      );
      const between = frame('crowded', 'between', crowded + SECOND + 1n);
      const edits = crowd.slice(3, 4).map((one) => Object.assign({}, one, { time: START + DAY, reviewed: true }));
      const [crowding, other] = stripe === 0 ? [inFirst, inSecond] : [inSecond, inFirst];
      await inSecond.record(early.slice(0, 1));
      await inFirst.record(early.slice(1));
      await crowding.record(crowd);
      await other.record([between, ...few, ...edits]);
      const seconds = ['', ' 01'].map(async (suffix) => inFirst.table.get(SHARD, `minute|0815|30${suffix}`));
      const samples = (await Promise.all(seconds)).map((row) => row?.properties['second_30']);
      expect(samples.map((own) => own instanceof Uint8Array && own.length > 1)).toEqual([stripe === 1, stripe === 0]);

      const oracle = new Oracle([...early, between, ...crowd, ...few, ...edits]);
      const demandRight = async (): Promise<void> => {
        for (const question of periods.flatMap((period) => [period, { ...period, cameraId: 'crowded' }])) {
          expect(await storage.process().answer(question)).toEqual(oracle.answer(question));
        }
      };
      await demandRight();
      await announce(storage);
      await run(storage);
      expect(await open(storage)).toEqual([]);
      expect(eventKeys(storage).toSorted()).toEqual(
        [...crowd, ...few].map(({ cameraId, eventId }) => `event|0815|${cameraId}|${eventId}`).toSorted(),
      );
      const late = [...early.slice(0, 1), frame('new', 'new', EIGHT)].map((one) =>
        Object.assign({}, one, { time: START + 2n * DAY, reviewed: true }),
      );
      expect(await storage.process().record(late)).toEqual([CLOSED_DAY, CLOSED_DAY]);
      await demandRight();
      expect(await run(storage), 'it costs the timer nothing more').toEqual([]);
    },
  );

  it('keeps an event of which it cannot be told whether its second has overflowed', async () => {
    const minutes = [0n, 1n, 2n, 60n].map((after) => EIGHT + after * MINUTE);
    const storage = await stored(...minutes.map((ts, at) => frame(`ridge-${at}`, 'f', ts)));
    for (const key of ['minute|0800|00', 'minute|0900|00']) await storage.change(key, { second_00: 'text' });
    await storage.change('event|0801|ridge-1|f', { ts_utc: 'text' });
    await announce(storage);
    await run(storage);
    expect(eventKeys(storage)).toEqual(['event|0800|ridge-0|f', 'event|0801|ridge-1|f', 'event|0900|ridge-3|f']);
  });
});

describe('closing a day', () => {
  it('is left for the next run if the time is over', async () => {
    const storage = await stored(frame('a', 'f'));
    await announce(storage);
    expect(await run(storage, { runMs: 0 })).toEqual([]);
    expect([eventKeys(storage).length, await open(storage)]).toEqual([1, [DATE]]);
    const lines = [...(await run(storage)), ...(await run(storage))];
    expect(lines.map(([event]) => event)).toEqual(['day closed']);
  });

  it('goes on in the next run if the time ends while it deletes', async () => {
    const storage = await stored(frame('a', 'f'));
    await announce(storage);
    const late = performance.now() + 21 * 60_000;
    const lines = await run(storage, { backUp: async () => void vi.spyOn(performance, 'now').mockReturnValue(late) });
    expect([lines.map(([event]) => event), await open(storage)]).toEqual([['day is being closed'], [DATE]]);
  });

  it('deletes event rows an hour after the day closed, and no earlier: the clocks of two instances may differ by half an hour', async () => {
    const storage = await stored(frame('a', 'f'));
    for (const [after, event, rows] of [
      [0n, 'day closes', 1],
      [2n * HOUR - 1_000n, 'day closes', 1],
      [2n * HOUR, 'day closed', 0],
    ] as const) {
      const lines = await run(storage, {}, 2n * DAY + after);
      expect([lines.map(([line]) => line), eventKeys(storage).length]).toEqual([[event], rows]);
    }
  });

  it.each([
    [-301_000, ['days not closed', { reason: 'clock is off' }]],
    [301_000, ['days not closed', { reason: 'clock is off' }]],
    [-299_000, ['day closes', expect.anything()]],
    [299_000, ['day closes', expect.anything()]],
  ])('of an instance whose clock is %i ms off says %j', async (offMs, line) => {
    const storage = await stored(frame('a', 'f'));
    storage.now = () => Number((START + 30_000n * DAY) / 1_000n) - offMs;
    expect(await run(storage)).toEqual([line]);
  });

  it('leaves a day that is not old enough, and a day that cannot be closed holds up no other one', async () => {
    const starts = all(3).map((after) => START + BigInt(after) * DAY);
    const storage = await stored(...starts.map((start) => frame('a', 'f', start)));
    await storage.change(DATE, { shards: 'three' }, DAYS_PARTITION);
    const now = 4n * DAY - 1_000n;
    const lines = await run(storage, {}, now);
    const days = starts.map((start) => dayOf(instantFrom(start)));
    expect(lines).toEqual([
      ['day not closed', { day: DATE, kind: 'DamagedRow', partition: DAYS_PARTITION, row: DATE }],
      ['day closes', { day: days[1], closes: formatInstant(instantFrom(START + now + HOUR)) }],
    ]);
    expect(await open(storage)).toEqual(days);
  });
});
