import { describe, expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { RecorderUnavailable } from '../../../src/analytics/errors.ts';
import { CountingStorage } from '../counting.ts';
import { toEventMessage } from '../event-message.ts';
import { DAY, Oracle, type PlainMessage } from '../oracle.ts';

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
  it('adds to an hour of a camera that it did not read together with those of others', async () => {
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

describe('a recorder with too many messages waiting', () => {
  it('refuses a request that would exceed its limit, and records the next one', async () => {
    const process = new CountingStorage().process();
    const message = toEventMessage(frame('a', '1', START));
    await expect(process.recorder.record(Array.from({ length: 50_001 }, () => message))).rejects.toThrow(
      RecorderUnavailable,
    );
    expect(await process.recorder.record([message])).toEqual(['recorded']);
  });
});

describe('a recorder that has to finish', () => {
  it('is settled when all its messages are stored, also the latest ones', async () => {
    const storage = new CountingStorage();
    const process = storage.process();
    let answered = false;
    const recording = process.record([frame('a', '1', START), frame('b', '2', START)]).then(() => {
      answered = true;
    });
    expect(answered).toBe(false);

    await process.recorder.settled();

    expect(await storage.process().answer(wholeDay)).toMatchObject({ total_events: 2 });
    await recording;
    await process.recorder.settled();
  });
});
