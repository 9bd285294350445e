import { setImmediate } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { RecorderUnavailable } from '../../../src/analytics/errors.ts';
import { RequestRefused, StorageTrouble } from '../../../src/storage/errors.ts';
import type { RowWrite } from '../../../src/storage/row.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { CountingProcess, daysOf } from '../counting.ts';
import { DAY, Oracle, type PlainMessage } from '../oracle.ts';

const START = 20_778n * DAY;
const WHOLE_DAY = { start: START, end: START + DAY - 1n };

/** Storage fails every transaction that has an event of one of these names. */
class FailingTable extends MemoryTable {
  failing: readonly string[] = [];
  error: Error = new StorageTrouble(0);

  override async transact(partitionKey: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    if (writes.some(({ rowKey }) => this.failing.some((eventId) => rowKey.includes(eventId)))) throw this.error;
    return super.transact(partitionKey, writes);
  }
}

const frame = (eventId: string, at: number): PlainMessage => {
  const ts = START + BigInt(at) * 7_000_000n;
  return { eventId, cameraId: `ridge-${at % 12}`, ts, time: ts, detections: { smoke: 1 } };
};

/** Frames with bad ones in their middle, which arrive together. */
const withPoison = (poison: readonly string[]): readonly PlainMessage[] =>
  [...names(0, 150), ...poison, ...names(150, 300)].map(frame);

const names = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, index) => `f-${from + index}`);

const failingWith = (error: Error, failing: readonly string[]) => {
  const table = Object.assign(new FailingTable(), { failing, error });
  // How long a recorder waits between its tries is no matter here, only how often it tries.
  return { table, process: new CountingProcess(table, 1, { pause: async () => setImmediate() }) };
};

const expectCounted = async (process: CountingProcess, messages: readonly PlainMessage[]): Promise<void> => {
  const oracle = new Oracle();
  for (const message of messages) oracle.tell(message);
  expect(await process.answer(WHOLE_DAY)).toEqual(oracle.answer(WHOLE_DAY));
  for (const day of daysOf(messages)) expect(await process.differences(day)).toEqual([]);
};

describe('a message that storage always refuses', () => {
  it('is told so, and all others are recorded; it can be sent again', async () => {
    const poison = ['poison-1', 'poison-2'];
    const { table, process } = failingWith(new RequestRefused(400), poison);
    const messages = withPoison(poison);

    const outcomes = await process.record(messages);

    const refused = messages.filter((_, at) => typeof outcomes[at] === 'object').map(({ eventId }) => eventId);
    expect(refused).toEqual(poison);
    await expectCounted(
      process,
      messages.filter(({ eventId }) => !poison.includes(eventId)),
    );
    table.failing = [];
    await process.record(messages);
    await expectCounted(process, messages);
  });
});

describe('a message that storage fails each time', () => {
  it('fails alone, and those beside it and behind it are recorded', async () => {
    const { process } = failingWith(new StorageTrouble(0), ['poison-1']);
    const messages = withPoison(['poison-1']);

    const settled = await Promise.allSettled(messages.map(async (message) => process.record([message])));

    const failed = messages.filter((_, at) => settled[at]?.status === 'rejected').map(({ eventId }) => eventId);
    expect(failed).toEqual(['poison-1']);
    const good = messages.filter(({ eventId }) => eventId !== 'poison-1');
    await expectCounted(process, good);

    const alone = process.record(messages.filter(({ eventId }) => eventId === 'poison-1'));
    const behind = names(300, 320).map(frame);
    const recorded = process.record(behind);
    await expect(alone).rejects.toThrow(RecorderUnavailable);
    expect(new Set(await recorded)).toEqual(new Set(['recorded']));
    await expectCounted(process, [...good, ...behind]);
  });
});
