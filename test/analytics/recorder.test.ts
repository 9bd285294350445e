import { describe, expect, it } from 'vitest';

import { dayOf } from '../../src/analytics/day.ts';
import { instantFrom } from '../../src/analytics/instant.ts';
import { CountingStorage } from './counting.ts';
import { DAY, Oracle, type PlainMessage } from './oracle.ts';

const START = 20_778n * DAY;
const HOUR = 3_600_000_000n;
const wholeDay = { start: START, end: START + DAY - 1n };

const frame = (cameraId: string, eventId: string, ts: bigint): PlainMessage => ({
  cameraId,
  eventId,
  ts,
  time: ts + 1n,
  detections: { smoke: 1 },
});

describe('a process that starts in the middle of the day', () => {
  it('adds to an hour of a camera that it did not read in the same breath as others', async () => {
    const storage = new CountingStorage();
    const cameras = ['a', 'b', 'c', 'd'];
    const oracle = new Oracle();
    const send = async (process: ReturnType<CountingStorage['process']>, messages: readonly PlainMessage[]) => {
      for (const message of messages) oracle.tell(message);
      await process.record(messages);
    };
    await send(
      storage.process(),
      cameras.map((camera) => frame(camera, 'early', START + 5n * HOUR)),
    );

    const restarted = storage.process();
    await send(restarted, [frame('b', 'first', START + 5n * HOUR + 60_000_000n)]);
    await send(restarted, [
      ...['a', 'c', 'd'].map((camera) => frame(camera, 'late', START + 6n * HOUR)),
      frame('b', 'late', START + 5n * HOUR + 120_000_000n),
    ]);

    expect(await restarted.differences(dayOf(instantFrom(START)))).toEqual([]);
    expect(await restarted.answer({ ...wholeDay, cameraId: 'b' })).toEqual(
      oracle.answer({ ...wholeDay, cameraId: 'b' }),
    );
  });
});
