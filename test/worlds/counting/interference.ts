import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { randomFrom } from '../../../infra/cli/demo/random.ts';
import { RewriteAbandoned, rewriteDay, RewriteRefused } from '../../../src/analytics/audit/rewrite.ts';
import { DayHeld } from '../../../src/analytics/errors.ts';
import { CLOSED_DAY } from '../../../src/analytics/record/committer.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { DAYS_PARTITION, SEALED_KEY, shardPartition } from '../../../src/analytics/rows/keys.ts';
import type { TableConnection } from '../../../src/storage/connection.ts';
import { DamagedRow, StorageTrouble } from '../../../src/storage/errors.ts';
import { Table } from '../../../src/storage/table.ts';
import { CountingProcess, DATE, frame, MINUTE, SHARD, SILENT, START, WHOLE_DAY } from '../../analytics/counting.ts';
import { Oracle, type PlainMessage } from '../../analytics/oracle.ts';
import { InterposedTable, type Turn } from '../../storage/interposed-table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { inVirtualTime, runIn } from '../virtual-time.ts';

// One thing happens during a rewrite of a small day, before one of its requests to storage. Most scenarios are played once for each request:
// the world meets such a moment by chance once in a thousand histories.

const EIGHT = START + 480n * MINUTE;
const MESSAGES: readonly PlainMessage[] = [
  frame('ridge-1', 'f-1', EIGHT, { time: START + 1n, reviewed: true, annotations: { smoke: 1, fire: 2 } }),
  frame('ridge-1', 'f-2', EIGHT + 10_500_000n),
  frame('ridge-8', 'f-3', EIGHT + 61n * MINUTE, { detections: { fire: 3 }, reviewed: true }),
];
/** Old news of an event: it is counted until newer news comes. */
const EDIT = frame('ridge-1', 'f-1', EIGHT, { time: START, detections: { fog: 7 } });
/** News of an event that is stored, and a new event of another camera. */
const UPDATE = frame('ridge-1', 'f-2', EIGHT + 10_500_000n, { time: START + 999n * MINUTE, detections: { fog: 2 } });
const ADDITION = frame('ridge-3', 'f-4', EIGHT);
const MORE: readonly PlainMessage[] = [UPDATE, ADDITION];
/** News of another event. Its writer makes another writer in the same stripe move. */
const NEWS = frame('ridge-8', 'f-3', EIGHT + 61n * MINUTE, { time: START + 999n * MINUTE, detections: { fog: 5 } });
const QUESTIONS = [
  WHOLE_DAY,
  { start: EIGHT, end: EIGHT + 60n * MINUTE - 1n },
  { start: EIGHT, end: EIGHT + MINUTE - 1n },
  { start: EIGHT + 1n, end: EIGHT + 61n * MINUTE },
  { ...WHOLE_DAY, cameraId: 'ridge-1' },
  { start: EIGHT + 1n, end: EIGHT + 61n * MINUTE, cameraId: 'ridge-1' },
];

/** The machine on which all processes run: its clock can be set. */
const machine = { clockAheadMs: 0, isOver: false };
const threeMinutesLater = (): void => void (machine.clockAheadMs += 186_000);

const rewrite = async (connection: TableConnection, shards?: number) =>
  rewriteDay(new Table(connection, { format: FORMAT }), DATE, { shards, say: () => undefined });
const thrownBy = async (doing: Promise<unknown>): Promise<unknown> =>
  doing.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Whether a process takes messages; a day that is held, or whose row is lost, takes none now. */
const isTaken = async (process: CountingProcess, messages: readonly PlainMessage[]): Promise<boolean> => {
  const error = await thrownBy(process.record(messages));
  if (error === undefined || error instanceof DayHeld || error instanceof DamagedRow) return error === undefined;
  throw error;
};

const change = async (table: MemoryTable, rowKey: string, properties = {}, partition = DAYS_PARTITION) =>
  table.transact(partition, [{ kind: 'merge', rowKey, etag: '*', properties }]);

/** A process whose transactions wait, one after the other, before they are sent. */
const withheld = async (table: MemoryTable, messages: readonly PlainMessage[], count = 1) => {
  const gates = Array.from(
    { length: count },
    () => [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const,
  );
  let sent = 0;
  const process = new CountingProcess(
    new InterposedTable(async ({ kind }) => {
      const [arrived, released] = (kind === 'transact' && gates[sent]) || [];
      if (arrived === undefined) return;
      sent += 1;
      arrived.resolve();
      await released?.promise;
    }, table),
  );
  const recording = isTaken(process, messages);
  await gates[0]?.[0].promise;
  /** Sends the next transaction, and waits until another transaction is withheld or the process has recorded. */
  const send = async (): Promise<void> => {
    gates[sent - 1]?.[1].resolve();
    await Promise.race([recording, ...gates.slice(sent, sent + 1).map(([arrived]) => arrived.promise)]);
  };
  return { process, recording, send };
};

const seeds = new Map<number, MemoryTable>();
/** A day in two stripes: a process that meets another process in its stripe makes a new stripe. */
const seeded = async (shards = 1): Promise<MemoryTable> => {
  const seed = seeds.get(shards) ?? new MemoryTable(() => Date.now());
  if (!seeds.has(shards)) {
    seeds.set(shards, seed);
    const process = new CountingProcess(seed, shards);
    await process.record([EDIT]);
    const other = await withheld(seed, MESSAGES.slice(1, 2));
    await process.record(MESSAGES.slice(0, 1));
    await other.send();
    await other.recording;
    await process.record(MESSAGES);
    assert(seed.partitions().some((name) => seed.rows(name).some(({ rowKey }) => rowKey === 'day 01')));
  }
  return seed.copy();
};

/** Every question gets each event once. */
const demandRight = async (table: MemoryTable, messages: readonly PlainMessage[]): Promise<void> => {
  const oracle = new Oracle(messages);
  const process = new CountingProcess(table);
  for (const question of QUESTIONS) assert.deepEqual(await process.answer(question), oracle.answer(question));
  const cameras = await process.reader.cameras(DATE, 1);
  for (const cameraId of new Set(messages.map((message) => message.cameraId))) {
    const activity = cameras.find((one) => one.cameraId === cameraId);
    assert.equal(activity?.tally.events, oracle.answer({ ...WHOLE_DAY, cameraId }).total_events);
  }
};

/** The day is closed to the end: its closing was announced long ago. */
const closed = async (memory: MemoryTable) => {
  await change(memory, DATE, { closes: '2001-01-01T00:00:00.000000Z' });
  const { table, days } = new CountingProcess(memory);
  await closeDays({ table, days, retentionDays: 1 }, SILENT);
  return days.stored(DATE);
};

/** Only the tombstones of other generations are left. */
const demandClean = (table: MemoryTable, generation: number): void => {
  const prefix = shardPartition(DATE, 0, generation).slice(0, -2);
  const others = table.partitions().filter((name) => name !== DAYS_PARTITION && !name.startsWith(prefix));
  const left = others.flatMap((name) => table.rows(name)).filter(({ rowKey }) => rowKey !== SEALED_KEY);
  assert.deepEqual(left, []);
};

/** An answer does not arrive. */
const lost = (): never => {
  throw new StorageTrouble(0);
};

/** Prepares; then interferes before a request of the rewrite, which waits; then gets the error of the rewrite and checks the day. */
type Course = (table: MemoryTable, hooks: Hooks) => AsyncGenerator<void, void, unknown>;
interface Hooks {
  beforeSwitch?: () => Promise<void>;
}

/** Rewrites a day once for each of its requests, or for each so manieth, and interferes before that request. */
const atEachRequest = async (course: Course, { shards = 1, stride = 1 } = {}): Promise<void> => {
  for (let [at, isReached] = [1, true]; isReached; at += stride) {
    machine.clockAheadMs = 0;
    const table = await seeded(shards);
    const hooks: Hooks = {};
    const steps = course(table, hooks);
    await steps.next();
    let requests = 0;
    let failure: unknown;
    const turn: Turn = async ({ kind, partition }) => {
      requests += 1;
      // A rewrite treats some errors as trouble with storage.
      if (requests === at) failure = await thrownBy(steps.next());
      const isSealed = table.rows(SHARD).some(({ properties }) => properties['attempt'] === 1);
      if (kind === 'transact' && partition === DAYS_PARTITION && isSealed) await hooks.beforeSwitch?.();
    };
    const error = await thrownBy(rewrite(new InterposedTable(turn, table)));
    // An abandoned rewrite sends fewer requests: their number does not say where to stop.
    isReached = requests >= at;
    if (!isReached) await steps.next();
    if (failure !== undefined) throw failure;
    await steps.next(error);
  }
};

const isHeld = (table: MemoryTable): boolean =>
  table.rows(DAYS_PARTITION).some(({ properties }) => properties['hold_owner'] !== undefined);

/** A transaction that was computed before is sent at each request: it is counted or refused. */
const lateTransaction = async (shards: number, isNewStripe = false, isLost = false): Promise<void> => {
  const [first, second] = shards === 3 ? [ADDITION, UPDATE] : [UPDATE, ADDITION];
  await atEachRequest(
    async function* (table, hooks) {
      const taken = new Map<PlainMessage, boolean>();
      const late = await withheld(table, [first], isNewStripe ? 2 : 1);
      if (isNewStripe) {
        // It meets another process in its stripe, and no stripe is idle.
        await change(table, 'day 01', {}, SHARD);
        await new CountingProcess(table).record([NEWS]);
        taken.set(NEWS, true);
        await late.send();
      }
      if (isLost) await table.transact(DAYS_PARTITION, [{ kind: 'delete', rowKey: DATE }]);
      // While its first transaction is under way it sends no other one.
      hooks.beforeSwitch = async () => {
        if (taken.has(first)) taken.set(second, await isTaken(late.process, [second]));
      };
      yield;
      await late.send();
      taken.set(first, await late.recording);
      assert.equal(yield, undefined);
      await demandRight(table, [...MESSAGES, ...[NEWS, ...MORE].filter((message) => taken.get(message) === true)]);
    },
    // Of a day whose row is lost all 64 shards are sealed.
    { shards, stride: isLost ? 29 : 1 },
  );
};

/** Readers that had begun before a request continue at that request. */
const begunBefore: Course = async function* (table) {
  const released = Promise.withResolvers<void>();
  const answering = [1, 2].flatMap((begins) =>
    QUESTIONS.map(async (question) => {
      let requests = 0;
      const turn: Turn = async () => {
        requests += 1;
        if (requests > begins) await released.promise;
      };
      return [question, await new CountingProcess(new InterposedTable(turn, table)).answer(question)] as const;
    }),
  );
  yield;
  released.resolve();
  for (const [question, answer] of await Promise.all(answering)) {
    assert.deepEqual(answer, new Oracle(MESSAGES).answer(question));
  }
  assert.equal(yield, undefined);
};

const SCENARIOS = {
  'a late transaction into its own stripe': async () => lateTransaction(1),
  'a late transaction into a new stripe': async () => lateTransaction(1, true),
  'a late transaction into a shard without rows': async () => lateTransaction(3),
  'a late transaction into a day whose row is lost': async () => lateTransaction(3, false, true),

  'readers that had begun before go on': async () => {
    for (const shards of [1, 2]) await atEachRequest(begunBefore, { shards });
  },

  'an answer is lost': async () => {
    for (const isCarriedOut of [true, false]) {
      for (let [at, requests] = [1, 1]; requests >= at; at += 1) {
        const table = await seeded();
        requests = 0;
        const turn: Turn = async () => {
          requests += 1;
          return requests === at ? (isCarriedOut ? lost : lost()) : undefined;
        };
        const { generation, hold } = await rewrite(new InterposedTable(turn, table));
        assert.deepEqual([generation, hold], [1, undefined]);
        await demandRight(table, MESSAGES);
        demandClean(table, 1);
      }
    }
  },

  'it stops, and the day takes events after three minutes': async () =>
    atEachRequest(async function* (table) {
      const [reader, recorder] = [new CountingProcess(table), new CountingProcess(table)];
      await reader.answer(WHOLE_DAY);
      await recorder.record(MESSAGES);
      yield;
      // Before the seal and after the switch the day takes events at once.
      const isTakenNow = await isTaken(new CountingProcess(table), [ADDITION]);
      const messages = isTakenNow ? [...MESSAGES, ADDITION] : [...MESSAGES];
      assert.deepEqual(await reader.answer(WHOLE_DAY), new Oracle(messages).answer(WHOLE_DAY));
      await demandRight(table, messages);
      threeMinutesLater();
      for (const message of [UPDATE, NEWS]) {
        assert(await isTaken(recorder, [message]));
        messages.push(message);
      }
      await demandRight(table, messages);
      const error = yield;
      assert(error === undefined || error instanceof RewriteAbandoned);
      await demandRight(table, messages);
    }),

  'another rewrite begins, and takes over after three minutes': async () =>
    atEachRequest(async function* (table) {
      yield;
      const isAtWork = isHeld(table);
      const other = isAtWork ? table : await seeded();
      machine.clockAheadMs += 170_000;
      assert.equal((await thrownBy(rewrite(other))) instanceof RewriteRefused, isAtWork);
      threeMinutesLater();
      const { generation } = await rewrite(table, 2);
      demandClean(table, generation);
      await new CountingProcess(table).record(MORE);
      const error = yield;
      assert(error === undefined || error instanceof RewriteAbandoned);
      await demandRight(table, [...MESSAGES, ...MORE]);
    }),

  'it is slow, and renews its hold': async () => {
    const table = await seeded(16);
    const turn: Turn = async () => {
      await sleep(4_500);
      const until = table.rows(DAYS_PARTITION)[0]?.properties['hold_until'];
      assert(typeof until !== 'string' || new Date(until) > new Date());
    };
    const begun = Date.now();
    await rewrite(new InterposedTable(turn, table));
    assert(Date.now() - begun > 300_000, 'it takes much longer than a hold');
    await demandRight(table, MESSAGES);
  },

  'the day closes, but not while it is held': async () => {
    for (const isExpired of [false, true]) {
      await atEachRequest(async function* (table) {
        yield;
        if (isExpired) threeMinutesLater();
        const isAtWork = !isExpired && isHeld(table);
        const { days } = new CountingProcess(table);
        const row: unknown = await days.close(DATE).catch((error: unknown) => error);
        assert.equal(row instanceof DayHeld, isAtWork);
        const error = yield;
        if (isAtWork || (row instanceof Object && 'generation' in row && row.generation === 1))
          assert.equal(error, undefined);
        else assert(error instanceof RewriteRefused || error instanceof RewriteAbandoned);
        assert.equal((await days.stored(DATE))?.closes === undefined, isAtWork);
        await demandRight(table, MESSAGES);
      });
    }
  },

  'it stops, and the closed day keeps nothing of it': async () =>
    atEachRequest(async function* (table) {
      yield;
      const row = await closed(table);
      assert.equal(row?.isDeleted, true);
      demandClean(table, row.generation);
      yield;
    }),

  'the row of the day is lost, and rewritten': async () => {
    for (const shards of [1, 3]) {
      const table = await seeded(shards);
      await table.transact(DAYS_PARTITION, [{ kind: 'delete', rowKey: DATE }]);
      assert(!(await isTaken(new CountingProcess(table), MORE)));
      await assert.rejects(new CountingProcess(table).answer(WHOLE_DAY), DamagedRow);
      await assert.rejects(new CountingProcess(table).days.close(DATE), DamagedRow);
      await rewrite(table);
      await demandRight(table, MESSAGES);
      await change(table, DATE, { shards: 'x' });
      await rewrite(table, 2);
      await demandRight(table, MESSAGES);
    }
  },

  'the row of a closed day is lost, and comes back': async () => {
    for (const shards of [1, 3]) {
      const table = await seeded(shards);
      await closed(table);
      await table.transact(DAYS_PARTITION, [{ kind: 'delete', rowKey: DATE }]);
      const row = await rewrite(table);
      assert.deepEqual([row.generation, row.closes !== undefined], [0, true]);
      assert.deepEqual(await new CountingProcess(table).record(MORE), [CLOSED_DAY, CLOSED_DAY]);
      await assert.rejects(rewrite(table), RewriteRefused);
      await demandRight(table, MESSAGES);
    }
  },
} as const;

export type Scenario = keyof typeof SCENARIOS;
// oxlint-disable-next-line no-unsafe-type-assertion -- these are its keys
export const scenarios = Object.keys(SCENARIOS) as readonly Scenario[];

/** Plays a scenario. @throws {AssertionError} */
export const interfere = async (name: Scenario): Promise<void> =>
  inVirtualTime(Date.parse('2026-11-24T10:00:00Z'), randomFrom(name), true, async (time) => {
    machine.clockAheadMs = 0;
    const played = runIn(machine, async () => SCENARIOS[name]());
    assert(await time.passUntil(played, 86_400_000), 'it never ends');
    await played;
  });
