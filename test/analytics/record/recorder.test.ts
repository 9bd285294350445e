import { describe, expect, it, vi } from 'vitest';

import { RecorderUnavailable } from '../../../src/analytics/errors.ts';
import { CLOSED_DAY } from '../../../src/analytics/record/committer.ts';
import { chooseStripe, RowMemory } from '../../../src/analytics/record/shard-writer.ts';
import { DAY_KEY, SEALED_KEY } from '../../../src/analytics/rows/keys.ts';
import { DamagedRow, RequestRefused, StorageTrouble } from '../../../src/storage/errors.ts';
import { InterposedTable, type TableRequest, type Turn } from '../../storage/interposed-table.ts';
import {
  all,
  CountingProcess,
  DATE,
  frame,
  MemoryStorage,
  MINUTE,
  SECOND,
  SHARD,
  START,
  WHOLE_DAY,
} from '../counting.ts';
import { DAY, type PlainMessage } from '../oracle.ts';

/** A process on a table in memory, and the lines that it logs. Between tries it does not wait. */
const processOn = (turn: Turn = async () => undefined, storage = new MemoryStorage()) => {
  const table = new InterposedTable(turn, storage.connection);
  const lines: unknown[] = [];
  const note = (event: string, fields?: object): void => void lines.push([event, fields]);
  const log = { info: note, warn: note, error: note };
  return { storage, table, lines, process: new CountingProcess(table, 1, { log, pause: async () => undefined }) };
};

/** Whether a request writes to a shard. */
const isCommit = ({ kind, partition }: TableRequest): boolean => kind === 'transact' && partition.includes('_');
const statusesOf = async (recording: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(recording)).map(({ status }) => status);

it('a steady stream of new frames takes one read a minute, and as few transactions as it fits in', async () => {
  let requests: string[] = [];
  const { process } = processOn(async ({ kind }) => void requests.push(kind));
  const at = START + 59n * MINUTE;
  const cameras = ['a', 'b', 'c'];
  await process.record(cameras.map((cameraId) => frame(cameraId, 'first', at)));
  const frames = all(540).map((index) =>
    frame(cameras[index % cameras.length] ?? '', `f-${index}`, at + (BigInt(index + 1) * SECOND) / 2n),
  );
  requests = [];
  for (const one of frames.slice(0, 240)) await process.record([one]);
  // A process looks for the second half of each minute once.
  expect(requests.toSorted()).toEqual([...all(2).map(() => 'get'), ...all(240).map(() => 'transact')]);
  requests = [];
  await process.record(frames.slice(240));
  expect(requests.toSorted()).toEqual([...all(2).map(() => 'get'), ...all(4).map(() => 'transact')]);
});

describe('the messages that wait to be recorded', () => {
  it("are at most 50,000 from the moment they are taken, also while the day's first event claims it", async () => {
    const opened = Promise.withResolvers<void>();
    const { process, lines } = processOn(async () => opened.promise);
    const taken = statusesOf(
      [15_000, 17_500, 17_500].map(async (count, day) =>
        process.record(all(count).map(() => frame('a', 'same', START + BigInt(day) * DAY))),
      ),
    );
    await expect(process.record([frame('a', 'other')])).rejects.toThrow(RecorderUnavailable);
    expect(lines).toEqual([['too many messages wait to be recorded', { waiting: 50_000 }]]);
    opened.resolve();
    expect(await taken).toEqual(all(3).map(() => 'fulfilled'));
  });

  it('are at most 20,000 of one shard, and hold up no other shard', async () => {
    const opened = Promise.withResolvers<void>();
    const { process } = processOn(async (request) => {
      if (isCommit(request) && request.partition === SHARD) await opened.promise;
    });
    const tooMany = statusesOf([process.record(all(20_200).map((index) => frame('a', `f-${index}`)))]);
    expect(await process.record([frame('a', 'f', START + DAY)])).toEqual(['recorded']);
    opened.resolve();
    expect(await tooMany).toEqual(['rejected']);
    expect(await process.answer(WHOLE_DAY)).toMatchObject({ total_events: 20_000 });
  });

  it('are answered after 7 tries of an outage, and at once if they wait behind', async () => {
    let transactions = 0;
    const { process, lines } = processOn(async (request) => {
      if (!isCommit(request)) return;
      transactions += 1;
      throw new StorageTrouble(0);
    });
    const recording = all(1_000).map(async (index) => process.record([frame('a', `f-${index}`)]));
    expect(new Set(await statusesOf(recording))).toEqual(new Set(['rejected']));
    expect(transactions).toBe(7);
    expect(lines[0]).toEqual(['events not recorded', { kind: 'StorageTrouble' }]);
  });

  it('of one shard have one writer, also after more shards than a process keeps idle committers for', async () => {
    const opened = Promise.withResolvers<void>();
    const { storage, process } = processOn(async (request) => {
      if (isCommit(request) && request.partition === SHARD) await opened.promise;
    });
    const first = process.record([frame('a', 'f')]);
    await process.record(all(1_000).map((day) => frame('a', 'f', START - BigInt(day + 1) * DAY)));
    const second = process.record([frame('a', 'g')]);
    // Another writer of the shard would send its transaction in this time.
    await process.record([frame('a', 'g', START + DAY)]);
    opened.resolve();
    expect((await Promise.all([first, second])).flat()).toEqual(['recorded', 'recorded']);
    expect(storage.keys()).not.toContain('day 01');
  });
});

/** The answer to a request does not arrive. */
const lost = (): never => {
  throw new StorageTrouble(0);
};

describe('a message whose transaction was never answered', () => {
  it('was recorded, and is said to be', async () => {
    let commits = 0;
    const { process } = processOn(async (request) => (isCommit(request) && (commits += 1) === 1 ? lost : undefined));
    expect(await process.record([frame('a', 'f')])).toEqual(['recorded']);
  });

  it('fails if its day has closed meanwhile: nothing tells whether it was counted', async () => {
    const clock = vi.spyOn(Date, 'now');
    const { storage, table, process } = processOn();
    await process.record([frame('a', 'early')]);
    const { closes = 0n } = (await process.days.close(DATE)) ?? {};
    table.turn = async (request) => {
      if (!isCommit(request)) return undefined;
      clock.mockReturnValue(Number(closes / 1_000n));
      return lost;
    };
    await expect(process.record([frame('a', 'late')])).rejects.toThrow(RecorderUnavailable);
    expect(storage.keys()).toContain('event|0000|a|late');
    expect(await process.record([frame('a', 'later')])).toEqual([CLOSED_DAY]);
  });
});

it('the counter rows that a process remembers, of all shards together, take 48 MiB: the least recently used ones go', () => {
  const { rows } = new RowMemory();
  const value = new Map([[0, new Uint8Array(524_288)]]);
  for (const index of all(200)) rows.set(`minute|${index}`, { kind: 'minute', value, etag: '' });
  expect([rows.size, rows.has('minute|199')]).toEqual([95, true]);
});

it('a message that storage always refuses is told so, and all others are recorded; it can be sent again', async () => {
  const poison = ['poison-1', 'poison-2'];
  const { table, process } = processOn(async (request) => {
    const isPoisoned = request.rowKeys.some((key) => poison.some((eventId) => key.endsWith(`|${eventId}`)));
    if (isCommit(request) && isPoisoned) throw new RequestRefused(400);
  });
  const eventIds = all(300).map((index) => `f-${index}`);
  const messages = eventIds.toSpliced(150, 0, ...poison).map((eventId, at) => frame(`ridge-${at % 12}`, eventId));
  const outcomes = await process.record(messages);
  expect(messages.filter((_, at) => typeof outcomes[at] === 'object').map(({ eventId }) => eventId)).toEqual(poison);
  table.turn = async () => undefined;
  await process.record(messages);
  const { is, should } = await process.answered(messages);
  expect(is).toEqual(should);
});

it('a bug is thrown as itself, neither as damage nor as trouble with storage, and other messages are recorded', async () => {
  const { process } = processOn(async (request) => {
    if (isCommit(request) && request.rowKeys.includes('camera|ridge-1')) throw new TypeError('a bug');
  });
  const [bug, other] = ['ridge-1', 'ridge-2'].map((cameraId) => process.record([frame(cameraId, 'f')]));
  await expect(bug).rejects.toThrow(TypeError);
  expect(await other).toEqual(['recorded']);
});

/** Two processes that met in the first stripe: one of them moved. */
const inTwoStripes = async () => {
  const storage = new MemoryStorage();
  const [moved, stayed] = [storage.process(), storage.process()];
  for (const [index, process] of [moved, stayed, moved].entries()) {
    await process.record([frame('ridge-1', `f${index}`)]);
  }
  return { storage, moved, stayed };
};

describe('stripes', () => {
  it.each<readonly [string, readonly (number | undefined)[], number, number]>([
    ['a new one, if all are written', [100_000, 99_000], 0, 2],
    ['an idle one', [100_000, 80_000, 99_000], 0, 1],
    ['one of the idle ones, by chance', [100_000, 80_000, 70_000], 0.9, 2],
    ['an idle one before one that lost its row', [100_000, undefined, 70_000], 0, 2],
    ['one that lost its row before a new one', [100_000, undefined, 99_000], 0, 1],
    ['never its own', [10_000, 100_000], 0, 2],
    ['another one, if there can be no more', all(64), 0, 1],
  ])('the stripe of a writer that met another one is %s', (_, written, random, expected) => {
    expect(chooseStripe(written, 0, random)).toBe(expected);
  });

  it('together give a camera no 65th category', async () => {
    const { storage, moved } = await inTwoStripes();
    const detections = Object.fromEntries(all(63).map((index) => [`c${index}`, 1]));
    await moved.record([frame('ridge-1', 'f4', START, { detections })]);
    const more = frame('ridge-1', 'f5', START, { detections: { more: 1 } });
    const outcomes = await storage.process().record([more, frame('ridge-1', 'f6')]);
    expect(outcomes).toEqual([{ code: 'too_many', refused: expect.stringContaining('64 categories') }, 'recorded']);
  });

  it('never get their first one made up: nothing is counted where no reader would find it', async () => {
    const { storage, stayed } = await inTwoStripes();
    for (const lostKey of [DAY_KEY, 'day 01']) {
      await storage.change(lostKey, 'deleted');
      for (const process of [storage.process(), stayed]) {
        await expect(process.record([frame('ridge-1', 'f3')])).rejects.toThrow(DamagedRow);
        await expect(process.answer(WHOLE_DAY)).rejects.toThrow(DamagedRow);
      }
    }
  });

  it('are shared by more than 64 instances, and every event is counted once', async () => {
    const { storage, process: reader } = processOn();
    const told: PlainMessage[] = [];
    const instances = all(70).map(() => processOn(undefined, storage).process);
    const record = async (index: number, ...eventIds: readonly string[]): Promise<void> => {
      const messages = eventIds.map((eventId) => frame('ridge-1', eventId, START, { time: START + BigInt(index) }));
      told.push(...messages);
      await instances[index]?.record(messages);
    };
    // Each finds another instance in the first stripe with its second request.
    for (const round of ['a', 'b']) for (const index of instances.keys()) await record(index, `${round}${index}`);
    for (const key of [DAY_KEY, SEALED_KEY]) {
      expect((await reader.table.get(SHARD, key))?.properties['stripes']).toBe(64);
    }
    await Promise.all(Array.from(instances.keys(), async (index) => record(index, `c${index}`, `a${index}`, 'shared')));
    const { is, should } = await reader.answered(told);
    expect(is).toEqual(should);
  });
});
