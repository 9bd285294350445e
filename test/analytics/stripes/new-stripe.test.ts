import { describe, expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { Reader } from '../../../src/analytics/read/reader.ts';
import type { Outcome } from '../../../src/analytics/record/batch.ts';
import { Recorder } from '../../../src/analytics/record/recorder.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { FENCE_KEY, shardPartition, TOTAL_KEY } from '../../../src/analytics/rows/keys.ts';
import { COMMIT_NUMBER, inStripe, MAX_STRIPES } from '../../../src/analytics/rows/stripes.ts';
import { emptyTotalProperties } from '../../../src/analytics/rows/total-row.ts';
import { DamagedRow, StorageTrouble, WriteConflict } from '../../../src/storage/errors.ts';
import type { RowWrite } from '../../../src/storage/row.ts';
import { plainAnswer } from '../counting.ts';
import { toEventMessage } from '../event-message.ts';
import { DAY, Oracle, type PlainMessage } from '../oracle.ts';
import { MemoryStorage, MemoryTable } from './memory-storage.ts';

// A writer that moves to a new stripe reads only the fence, and takes it that the stripe has no rows. What may come between that and
// its first commit, or happen to the commit, is played here one by one.

const START = 20_778n * DAY;
const SECOND = 1_000_000n;
const EIGHT = START + 8n * 3_600n * SECOND;
const DATE = dayOf(instantFrom(START));
const PARTITION = shardPartition(DATE, 0);
const WHOLE_DAY = { start: instantFrom(START), end: instantFrom(START + DAY - 1n) };
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

const frame = (event: number, time = 1n): PlainMessage => ({
  cameraId: `c${event % 3}`,
  eventId: `f${event}`,
  ts: EIGHT + BigInt(event % 130) * SECOND,
  time: START + time,
  detections: { smoke: Number(time) },
});

const annotated = (event: number, time: bigint): PlainMessage => {
  const { detections: _, ...identity } = frame(event, time);
  return { ...identity, reviewed: true, annotations: { fire: Number(time) } };
};

/** Sends a transaction to the storage at once. */
type Apply = () => readonly string[];

/** What happens in place of the first commit of a new stripe. */
type Meddling = (apply: Apply, table: MeddlingTable) => readonly string[] | Promise<readonly string[]>;

/** A table where something happens to the commits that open stripes. */
class MeddlingTable extends MemoryTable {
  readonly #storage: MemoryStorage;
  /** One for each commit that opens a stripe, in order. */
  meddlings: Meddling[] = [];
  /** Called before the next transaction. */
  late: (() => void) | undefined;
  transactions = 0;

  constructor(storage: MemoryStorage) {
    super(storage, async () => undefined);
    this.#storage = storage;
  }

  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    this.transactions += 1;
    if (this.transactions > 500) throw new Error('there is no end to the transactions');
    this.late?.();
    this.late = undefined;
    const opens = writes.some(({ rowKey }) => rowKey === FENCE_KEY) && writes[0]?.rowKey.startsWith('total ') === true;
    const meddling = opens ? this.meddlings.shift() : undefined;
    if (meddling === undefined) return super.transact(partition, writes);
    return meddling(() => this.#storage.transact(partition, writes, 1), this);
  }
}

/** An instance, and a table of its own. */
const instanceOf = (storage: MemoryStorage) => {
  const table = new MeddlingTable(storage);
  const recorder = new Recorder(table, new DayShards(table, 1), SILENT, { pause: async () => undefined });
  const record = async (messages: readonly PlainMessage[]): Promise<readonly Outcome[]> =>
    recorder.record(messages.map(toEventMessage));
  return { table, record };
};

/** Two instances in the first stripe, of which the first one moves to a new one with its next commit. */
const met = async () => {
  const storage = new MemoryStorage();
  const oracle = new Oracle();
  const [moving, staying] = [instanceOf(storage), instanceOf(storage)];
  const tell = (messages: readonly PlainMessage[]): readonly PlainMessage[] => {
    for (const one of messages) oracle.tell(one);
    return messages;
  };
  await moving.record(tell(numbers(0, 10).map((event) => frame(event))));
  await staying.record(tell(numbers(10, 20).map((event) => frame(event))));
  return { storage, oracle, moving, staying, tell };
};

const numbers = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);

/** Edits of events of both instances, and new frames: several transactions, the next prepared while one is written. */
const MANY: readonly PlainMessage[] = [
  ...numbers(0, 20).map((event) => annotated(event, 5n)),
  ...numbers(20, 220).map((event) => frame(event)),
];
/** One transaction. */
const FEW: readonly PlainMessage[] = [annotated(3, 5n), annotated(13, 5n), frame(30), frame(31)];

/** Of an open day and of a closed one. */
const expectAnswers = async (storage: MemoryStorage, oracle: Oracle): Promise<void> => {
  const table = new MemoryTable(storage, async () => undefined);
  const shards = new DayShards(table, 1);
  const { tally, activeCameras } = await new Reader(table, shards).activity(WHOLE_DAY);
  expect(plainAnswer(tally, activeCameras)).toEqual(oracle.answer(WHOLE_DAY));
  expect((await auditDay(table, DATE)).differences).toEqual([]);
};

const expectRight = async (storage: MemoryStorage, oracle: Oracle): Promise<void> => {
  await expectAnswers(storage, oracle);
  const totals = storage.rows(PARTITION).filter(({ rowKey }) => /^total( |$)/.test(rowKey));
  expect(storage.get(PARTITION, FENCE_KEY)?.properties['stripes'], 'every stripe is counted').toBe(totals.length);
};

/** The answer of a commit does not arrive. */
const lost = (): never => {
  throw new StorageTrouble(0);
};

const MEDDLINGS: Readonly<Record<string, (other: ReturnType<typeof instanceOf>, storage: MemoryStorage) => Meddling>> =
  {
    'it is applied and its answer is lost': () => (apply) => {
      apply();
      return lost();
    },
    'it is not applied and nobody answers': () => () => lost(),
    'it is applied late, when the writer has read that it was not': () => (apply, table) => {
      table.late = () => void apply();
      return lost();
    },
    'it arrives late, after the next one': () => (apply, table) => {
      table.late = () => {
        // The next transaction is under way when this one arrives.
        table.late = () => expect(apply).toThrow(WriteConflict);
      };
      return lost();
    },
    'another writer opens the stripe': (_, storage) => async (apply) => {
      await opensStripe(storage);
      return apply();
    },
    'another writer changes an event of it': (other) => async (apply) => {
      await other.record([annotated(3, 2n), annotated(13, 3n)]);
      return apply();
    },
    'another writer changes an event of it, and another one opens the stripe': (other, storage) => async (apply) => {
      await other.record([annotated(13, 3n)]);
      await opensStripe(storage);
      return apply();
    },
    'its answer is lost, and another writer has taken the stripe meanwhile': (_, storage) => async (apply) => {
      apply();
      const third = instanceOf(storage);
      await third.record([frame(300)]);
      return lost();
    },
  };

/** Two more instances meet, and one of them opens a stripe with the correction of an event. */
const opensStripe = async (storage: MemoryStorage): Promise<void> => {
  const [one, two] = [instanceOf(storage), instanceOf(storage)];
  await one.record([annotated(15, 1n)]);
  await two.record([annotated(15, 2n)]);
  await one.record([annotated(15, 4n)]);
};
/** What others record in the cases above. */
const OTHERS: readonly PlainMessage[] = [annotated(15, 4n)];

describe('the first commit of a writer in a new stripe', () => {
  const cases = Object.entries(MEDDLINGS).flatMap(([name, meddling]) =>
    [FEW, MANY].map((messages) => ({ name, meddling, messages, count: messages.length })),
  );

  it.each(cases)('of $count messages counts each once, where $name', async ({ name, meddling, messages }) => {
    const { storage, oracle, moving, staying, tell } = await met();
    moving.table.meddlings = [meddling(staying, storage)];
    const outcomes = await moving.record(tell(messages));
    expect(outcomes).toEqual(messages.map(() => 'recorded'));
    expect(moving.table.meddlings).toEqual([]);
    if (name.includes('opens the stripe')) tell(OTHERS);
    if (name.includes('has taken')) tell([frame(300)]);
    await expectRight(storage, oracle);
    // Both go on, and so does a new one.
    const more = numbers(400, 410).map((event) => frame(event));
    for (const [index, one] of more.entries())
      await [moving, staying, instanceOf(storage)][index % 3]?.record(tell([one]));
    await expectRight(storage, oracle);
  });
});

describe('a row of a stripe that the shard does not have', () => {
  it('is damage: nothing is counted where no reader would find it', async () => {
    const { storage, oracle, moving, staying, tell } = await met();
    const properties = { ...emptyTotalProperties(), [COMMIT_NUMBER]: 1 };
    storage.transact(PARTITION, [{ kind: 'insert', rowKey: inStripe(TOTAL_KEY, 1), properties }], 1);
    await expect(moving.record([frame(30)])).rejects.toThrow(DamagedRow);
    await staying.record(tell([frame(31)]));
    const { tally } = await new Reader(staying.table, new DayShards(staying.table, 1)).activity(WHOLE_DAY);
    expect(tally.events).toBe(oracle.events);
    const { differences } = await auditDay(staying.table, DATE);
    expect(differences.map(({ counter }) => counter)).toContain('number of stripes');
  });
});

describe('more instances than a shard has stripes', () => {
  it('share them, and every event is counted once', async () => {
    const storage = new MemoryStorage();
    const oracle = new Oracle();
    const instances = Array.from({ length: MAX_STRIPES + 6 }, () => instanceOf(storage));
    // Each finds another one in the first stripe with its second request.
    for (const round of [0, 1]) {
      for (const [index, { record }] of instances.entries()) {
        const one = frame(1_000 * round + index);
        oracle.tell(one);
        await record([one]);
      }
    }
    expect(storage.get(PARTITION, FENCE_KEY)?.properties['stripes']).toBe(MAX_STRIPES);
    await Promise.all(
      instances.map(async ({ record }, index) => {
        const edit = annotated(index, BigInt(index + 2));
        const both = [edit, frame(2_000 + index), annotated(0, 1_000n + BigInt(index))];
        for (const one of both) oracle.tell(one);
        expect(await record(both)).not.toContainEqual(expect.objectContaining({ refused: expect.anything() }));
      }),
    );
    await expectRight(storage, oracle);
  });
});
