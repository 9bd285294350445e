import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import pLimit from 'p-limit';
import { describe, expect, it, vi } from 'vitest';

import { randomFrom } from '../../../infra/cli/demo/random.ts';
import { CLOSED_DAY, ShardCommitter } from '../../../src/analytics/record/committer.ts';
import type { RecorderOptions } from '../../../src/analytics/record/recorder.ts';
import { type RememberedRows, RowMemory, ShardWriter } from '../../../src/analytics/record/shard-writer.ts';
import { DamagedRow, RequestRefused, StorageTrouble } from '../../../src/storage/errors.ts';
import type { TableRequest, Turn } from '../../storage/interposed-table.ts';
import { all, frame, MemoryStorage, MINUTE, SECOND, SHARD, START, toEventMessage, WHOLE_DAY } from '../counting.ts';
import { DAY, type PlainMessage, rightAnswer } from '../oracle.ts';

/** A process on a table in memory, and the lines that it logs. Between tries it does not wait. */
const processOn = (turn: Turn = async () => undefined, options: RecorderOptions = {}) => {
  const storage = new MemoryStorage();
  const table = storage.connection;
  table.turn = turn;
  const lines: unknown[] = [];
  const note = (event: string, fields?: object): void => void lines.push([event, fields]);
  const log = { info: note, warn: note, error: note };
  return { storage, table, lines, process: storage.process(1, { ...options, log, pause: async () => undefined }) };
};

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Whether a request writes to a shard. */
const isCommit = ({ kind }: TableRequest): boolean => kind === 'transact';
const statusesOf = async (recording: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(recording)).map(({ status }) => status);

it('a steady stream of new frames takes no reads, and as few transactions as it fits in; a change takes one read', async () => {
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
  expect(requests).toEqual(all(240).map(() => 'transact'));
  requests = [];
  await process.record(frames.slice(240));
  expect(requests).toEqual(all(4).map(() => 'transact'));
  requests = [];
  await process.record([{ cameraId: 'a', eventId: 'f-0', ts: at + SECOND / 2n, time: at + SECOND, reviewed: true }]);
  expect(requests, 'a change of an older event').toEqual(['get', 'transact']);
});

describe('the messages that wait to be recorded', () => {
  it('are at most 50,000 from the moment they are taken', async () => {
    const opened = Promise.withResolvers<void>();
    const { process, lines } = processOn(async () => opened.promise);
    const taken = statusesOf(
      [15_000, 17_500, 17_500].map(async (count, day) =>
        process.record(all(count).map(() => frame('a', 'same', START + BigInt(day) * DAY))),
      ),
    );
    await expect(process.record([frame('a', 'other')])).rejects.toThrow(StorageTrouble);
    expect(lines).toEqual([['too many messages wait to be recorded', { waiting: 50_000 }]]);
    opened.resolve();
    expect(await taken).toEqual(all(3).map(() => 'fulfilled'));
    expect(await process.record([frame('a', 'other')]), 'they wait no more').toEqual(['recorded']);
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
    expect((await process.answer(WHOLE_DAY)).counts.get('events')).toBe(20_000);
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
    expect(lines[0]).toEqual(['events not recorded', { kind: 'StorageTrouble', reason: 'unknown' }]);
  });

  it('of one shard wait for one another, also after more shards than a process keeps idle committers for', async () => {
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
    expect(storage.keys().filter((key) => key.startsWith('day|'))).toEqual(['day|00']);
  });
});

/** As many frames as fit into a number of transactions. */
const framesFor = (transactions: number, eventId = 'f'): readonly PlainMessage[] =>
  all(48 * transactions).map((index) => frame(`ridge-${index}`, eventId));

describe('a shard for which messages wait all the time', () => {
  it.each([
    [17, ['day|00']],
    [18, ['day|00', 'day|04']],
  ])('is written in a second stripe after 16 of %i transactions', async (transactions, stripes) => {
    const { storage, process } = processOn(undefined, { random: () => 0.5 });
    const messages = framesFor(transactions);
    await process.record(messages);
    expect(storage.keys().filter((key) => key.startsWith('day|'))).toEqual(stripes);
    expect(await process.answer(WHOLE_DAY)).toEqual(rightAnswer(messages, WHOLE_DAY));
  });

  it('goes on with one writer after its second writer met another instance', async () => {
    const { storage, process } = processOn(undefined, { random: randomFrom('second writer') });
    const written = async (eventId: string): Promise<readonly string[]> => {
      const before = new Map(storage.memory.rows(SHARD).map(({ rowKey, etag }) => [rowKey, etag]));
      await process.record(framesFor(8, eventId));
      const rows = storage.memory.rows(SHARD).filter(({ rowKey, etag }) => before.get(rowKey) !== etag);
      return rows.map(({ rowKey }) => rowKey).filter((key) => key.startsWith('day|'));
    };
    await process.record(framesFor(24));
    const stripes = await written('g');
    expect(stripes).toHaveLength(2);
    for (const rowKey of stripes) await storage.change(rowKey, { changed: 'by another instance' });
    await written('h');
    expect(await written('i')).toHaveLength(1);
  });

  it('takes the messages about one event in their order', async () => {
    const { table, process } = processOn(undefined, { random: () => 0.5 });
    await process.record(framesFor(24));
    let isFirst = true;
    table.turn = async () => {
      const turns = isFirst ? 50 : 0;
      isFirst = false;
      for (let turn = 0; turn < turns; turn += 1) await setImmediate();
    };
    const values = all(5).map((smoke) => frame('ridge-1', 'g', START, { detections: { smoke } }));
    const outcomes: ReturnType<typeof process.record>[] = [];
    for (const message of values) {
      outcomes.push(process.record([message]));
      // Until a writer has taken it.
      await setImmediate();
      await setImmediate();
    }
    expect((await Promise.all(outcomes)).flat()).toEqual(['recorded', ...all(4).map(() => 'superseded')]);
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
    expect(commits, 'the event is read before it is written again').toBe(1);
  });

  it('fails if its day has closed meanwhile: nothing tells whether it was counted', async () => {
    const { storage, table, process } = processOn();
    await process.record([frame('a', 'early')]);
    table.turn = async (request) => {
      if (!isCommit(request)) return undefined;
      table.turn = async () => undefined;
      return () => {
        void storage.change('day|00', { sealed: 'closed' });
        return lost();
      };
    };
    await expect(process.record([frame('a', 'late')])).rejects.toThrow(StorageTrouble);
    expect(storage.keys()).toContain('event|0000|a|late');
    expect(await process.record([frame('a', 'later')])).toEqual([CLOSED_DAY]);
  });
});

it('the counter rows that a process remembers, of all shards together, are bounded: those of the least recently used shards are freed', async () => {
  const { process } = processOn();
  const memory = new RowMemory(500_000);
  const remembered: WeakRef<RememberedRows>[] = [];
  const committers = all(60).map((index) => {
    const partition = `2026-11-21.${index}`;
    const shard = { table: process.table, partition, memory, configuredCategories: new Set<string>(), random: () => 0 };
    return new ShardCommitter(() => new ShardWriter(shard), pLimit(1));
  });
  for (const committer of committers) {
    await Promise.all(framesFor(1).map(async (message) => committer.submit(toEventMessage(message))));
    remembered.push(...[...memory.writers.values()].slice(0, 1).map((rows) => new WeakRef(rows)));
  }
  await setImmediate();
  collectGarbage();
  const bytes = remembered.reduce((sum, rows) => sum + (rows.deref()?.bytes ?? 0), 0);
  expect(bytes).toBeGreaterThan(250_000);
  expect(bytes).toBeLessThan(500_000);
  expect(
    committers.every(({ isIdle }) => isIdle),
    'the committers are kept',
  ).toBe(true);
});

it('a writer whose rows find no room in memory reads them for each commit, and counts right', async () => {
  const reads: string[] = [];
  const { process } = processOn(async ({ kind, rowKeys }) => {
    if (kind === 'get') reads.push(...rowKeys);
  });
  const memory = new RowMemory(500);
  const { table } = process;
  const shard = { table, partition: SHARD, memory, configuredCategories: new Set<string>(), random: () => 0 };
  const committer = new ShardCommitter(() => new ShardWriter(shard), pLimit(1));
  const messages = all(3).map((index) => frame('ridge-1', `f-${index}`));
  for (const message of messages) {
    reads.splice(0);
    expect(await committer.submit(toEventMessage(message))).toBe('recorded');
  }
  expect(reads).toEqual(expect.arrayContaining(['day|00', 'hour|00|00', 'camera|ridge-1|00']));
  expect(await process.answer(WHOLE_DAY)).toEqual(rightAnswer(messages, WHOLE_DAY));
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
  expect(await process.answer(WHOLE_DAY)).toEqual(rightAnswer(messages, WHOLE_DAY));
});

it('a bug is thrown as itself, neither as damage nor as trouble with storage, and other messages are recorded', async () => {
  const { process } = processOn(async (request) => {
    if (isCommit(request) && request.rowKeys.includes('camera|ridge-1|00')) throw new TypeError('a bug');
  });
  const [bug, other] = ['ridge-1', 'ridge-2'].map((cameraId) => process.record([frame(cameraId, 'f')]));
  await expect(bug).rejects.toThrow(TypeError);
  expect(await other).toEqual(['recorded']);
});

it.each([
  [60_000, []],
  [-60_000, []],
  [61_000, [['clock is off', { ahead_seconds: 61 }]]],
  [-1_500_000, [['clock is off', { ahead_seconds: -1_500 }]]],
])('a process whose clock is %i ms ahead of storage says so once an hour', async (aheadMs, expected) => {
  const { storage, lines, process } = processOn();
  const at = Date.now();
  storage.now = () => at - aheadMs;
  vi.spyOn(Date, 'now').mockReturnValue(at);
  for (const eventId of ['f', 'g']) await process.record([frame('a', eventId)]);
  expect(lines).toEqual(expected);
});

/** Two processes that met in stripe 0: the first process moved to stripe 5. */
const inTwoStripes = async () => {
  const storage = new MemoryStorage();
  const at = Date.now();
  storage.now = () => at;
  const moved = storage.process(1, { random: () => 5 / 8 });
  // It meets the change of stripe 0 by the first process, and takes stripe 0 again.
  const stayed = storage.process(1, { random: () => 0 });
  for (const [index, process] of [moved, stayed, moved].entries()) {
    await process.record([frame('ridge-1', `f${index}`)]);
  }
  return { storage, moved, stayed };
};

describe('stripes', () => {
  it('begin with 0; a writer that met another writer moves, and stays there, also on the next day', async () => {
    const { storage, moved, stayed } = await inTwoStripes();
    for (const process of [moved, moved, stayed]) await process.record([frame('ridge-1', 'next', START + DAY)]);
    const next = storage.keys('2026-11-22.00').filter((key) => key.startsWith('day|'));
    expect(next).toEqual(expect.arrayContaining(['day|00', 'day|05']));
  });

  it.each([
    [9_999, ['day|00', 'day|05', 'day|32']],
    [10_000, ['day|00', 'day|05']],
  ])('are in use until %i ms after the last write: a writer that moves passes them over', async (agoMs, expected) => {
    const { storage, stayed } = await inTwoStripes();
    const randoms = [5 / 8, 0.5].values();
    const third = storage.process(1, { random: () => randoms.next().value ?? 0 });
    for (const [index, process] of [third, stayed].entries()) await process.record([frame('ridge-1', `g${index}`)]);
    const later = storage.now() + agoMs;
    storage.now = () => later;
    await third.record([frame('ridge-1', 'h')]);
    expect(storage.keys().filter((key) => key.startsWith('day|'))).toEqual(expected);
  });

  it('take an event that another instance changes: it is read again in place, and no writer moves', async () => {
    const { storage, moved, stayed } = await inTwoStripes();
    const before = storage.keys();
    await moved.record([frame('ridge-1', 'shared')]);
    const edit = { ...frame('ridge-1', 'shared'), time: START + 1n, detections: { fire: 1 } };
    expect(await stayed.record([edit])).toEqual(['recorded']);
    expect(storage.keys().filter((key) => !before.includes(key))).toEqual(['event|0000|ridge-1|shared']);
    const { counts } = await storage.process().answer(WHOLE_DAY);
    expect([counts.get('detected smoke'), counts.get('detected fire')]).toEqual([3, 1]);
  });

  it('have limits of their own: a camera that is full in one stripe finds room in another', async () => {
    const { moved, stayed } = await inTwoStripes();
    const detections = Object.fromEntries(all(63).map((index) => [`c${index}`, 1]));
    await moved.record([frame('ridge-1', 'f4', START, { detections })]);
    const more = [frame('ridge-1', 'f5', START, { detections: { more: 1 } })];
    const refused = { code: 'too_many', refused: expect.stringContaining('64 categories') };
    expect(await moved.record(more)).toEqual([refused]);
    expect(await stayed.record(more)).toEqual(['recorded']);
  });

  it('never get a first row made up: nothing is counted where no reader would find it', async () => {
    const { storage, stayed } = await inTwoStripes();
    for (const rowKey of ['day|05', 'day|00']) await storage.change(rowKey, 'deleted');
    for (const process of [storage.process(), stayed]) {
      await expect(process.record([frame('ridge-1', 'f3')])).rejects.toThrow(DamagedRow);
    }
  });
});
