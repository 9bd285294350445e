import assert from 'node:assert/strict';

import { randomFrom } from '../../../infra/cli/demo/random.ts';
import { rebuildDay, RebuildRefused, unsealDay } from '../../../src/analytics/audit/rebuild.ts';
import { DayClosed, DayHeld } from '../../../src/analytics/errors.ts';
import { CLOSED_DAY } from '../../../src/analytics/record/committer.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { exportDay } from '../../../src/analytics/retention/export-day.ts';
import { EMPTY_TALLY } from '../../../src/analytics/model/tally.ts';
import { FORMAT, tallyValues } from '../../../src/analytics/rows/properties.ts';
import type { TableConnection } from '../../../src/storage/connection.ts';
import { StorageTrouble } from '../../../src/storage/errors.ts';
import type { RowWrite } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { CountingProcess, DATE, frame, MINUTE, SHARD, SILENT, START, WHOLE_DAY } from '../../analytics/counting.ts';
import { DAY, type PlainMessage, type Question, rightAnswer } from '../../analytics/oracle.ts';
import { InterposedTable, type Turn } from '../../storage/interposed-table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { inVirtualTime, runIn } from '../virtual-time.ts';

// One thing happens while a small day is sealed, before one of the requests to storage. Most scenarios are played once for each request: the
// world meets such a moment by chance once in a thousand histories.

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
/** News of another event. Its writer makes another writer in the same stripe move. */
const NEWS = frame('ridge-8', 'f-3', EIGHT + 61n * MINUTE, { time: START + 999n * MINUTE, detections: { fog: 5 } });
const TOMORROW = frame('ridge-1', 'f-5', EIGHT + DAY);
const QUESTIONS: readonly Question[] = [
  WHOLE_DAY,
  { start: EIGHT, end: EIGHT + 60n * MINUTE - 1n },
  { start: EIGHT, end: EIGHT + MINUTE - 1n },
  { start: EIGHT + 1n, end: EIGHT + 61n * MINUTE },
  { ...WHOLE_DAY, cameraId: 'ridge-1' },
  { start: EIGHT + 1n, end: EIGHT + 61n * MINUTE, cameraId: 'ridge-1' },
];

/** The machine on which all processes and storage run: its clock can be set. */
const machine = { clockAheadMs: 0, isOver: false };
const laterBy = (ms: number): void => void (machine.clockAheadMs += ms);
const HOUR_MS = 3_600_000;

/** A rebuild or a closing of the day. */
type Doing = (connection: TableConnection, shards: number) => Promise<void>;

const rebuild: Doing = async (connection, shards) =>
  rebuildDay(new Table(connection, { format: FORMAT }), shards, DATE, {
    withoutUnreadable: false,
    say: () => undefined,
  });
/** Two runs: one seals the day, and the second run deletes its event rows. */
const close: Doing = async (connection, shards) => {
  for (const retentionDays of [1, 1]) {
    await closeDays({ table: new Table(connection, { format: FORMAT }), shards, retentionDays }, SILENT);
  }
};

const thrownBy = async (doing: Promise<unknown>): Promise<unknown> =>
  doing.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Whether a process takes messages: a day that is rebuilt takes none now, and a closed day none for good. */
const isTaken = async (process: CountingProcess, messages: readonly PlainMessage[]): Promise<boolean> => {
  try {
    return (await process.record(messages)).every((outcome) => outcome !== CLOSED_DAY);
  } catch (error) {
    if (error instanceof DayHeld) return false;
    throw error;
  }
};

/** A process whose transactions wait, one after the other, before they are sent. */
const withheld = async (table: MemoryTable, messages: readonly PlainMessage[], count = 1, shards = 1) => {
  const gates = Array.from(
    { length: count },
    () => [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const,
  );
  let sent = 0;
  const turn: Turn = async ({ kind }) => {
    const [arrived, released] = (kind === 'transact' && gates[sent]) || [];
    if (arrived === undefined) return;
    sent += 1;
    arrived.resolve();
    await released?.promise;
  };
  const process = new CountingProcess(new InterposedTable(turn, table), shards, { random: () => 0.6 });
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
/** A day in two stripes: a process that meets another process in its stripe takes another stripe. The clock is set back. */
const seeded = async (shards = 1): Promise<MemoryTable> => {
  machine.clockAheadMs = 0;
  const seed = seeds.get(shards) ?? new MemoryTable(() => Date.now());
  if (!seeds.has(shards)) {
    seeds.set(shards, seed);
    const process = new CountingProcess(seed, shards);
    await process.record([EDIT]);
    const other = await withheld(seed, MESSAGES.slice(1, 2), 1, shards);
    await process.record(MESSAGES.slice(0, 1));
    await other.send();
    await other.recording;
    await process.record(MESSAGES);
    assert(seed.partitions().some((name) => seed.rows(name).some(({ rowKey }) => rowKey === 'day|04')));
  }
  return seed.copy();
};

/** An answer has each event once, in the period that it says. */
const demandAnswer = async (process: CountingProcess, asked: Question, messages = MESSAGES): Promise<void> => {
  const [answered, answer] = await process.activity(asked);
  assert.deepEqual(answer, rightAnswer(messages, answered));
};

const demandRight = async (table: MemoryTable, messages: readonly PlainMessage[], shards = 1): Promise<void> => {
  const process = new CountingProcess(table, shards);
  for (const question of QUESTIONS) await demandAnswer(process, question, messages);
};

const sealsOf = (table: MemoryTable): readonly unknown[] => [
  ...new Set(
    table.rows(SHARD).flatMap(({ rowKey, properties: { sealed = '' } }) => (rowKey.startsWith('day|') ? [sealed] : [])),
  ),
];

/** Prepares; then interferes before a request of the rebuild or the closing, which waits; then gets its error and checks the day. */
type Course = (table: MemoryTable) => AsyncGenerator<void, void, unknown>;

/** Does something to the day once for each request, and interferes before that request. */
const atEachRequest = async (doing: Doing, course: Course, { shards = 1, isStopped = false } = {}): Promise<void> => {
  for (let [at, isReached] = [1, true]; isReached; at += 1) {
    const table = await seeded(shards);
    laterBy(2 * HOUR_MS);
    const steps = course(table);
    await steps.next();
    let requests = 0;
    let failure: unknown;
    const turn: Turn = async () => {
      requests += 1;
      if (requests === at) failure = await thrownBy(steps.next());
      // A process that dies sends nothing more, and nothing comes back to it.
      if (isStopped && requests >= at) throw new Error('it is over');
    };
    const error = await thrownBy(doing(new InterposedTable(turn, table), shards));
    isReached = requests >= at;
    if (!isReached) await steps.next();
    if (failure !== undefined) throw failure;
    await steps.next(error);
  }
};

/** Counters are changed and deleted. */
const damage = async (table: MemoryTable): Promise<void> => {
  const writes = table.rows(SHARD).flatMap(({ rowKey }): readonly RowWrite[] => {
    if (rowKey.startsWith('camera|')) return [{ kind: 'delete', rowKey }];
    if (!rowKey.startsWith('day|')) return [];
    return [{ kind: 'merge', rowKey, etag: '*', properties: tallyValues({ ...EMPTY_TALLY, events: 7 }, EMPTY_TALLY) }];
  });
  await table.transact(SHARD, writes);
};

/** A transaction that was computed before is sent at each request: it is counted or refused. Another transaction follows it. */
const lateTransaction = async (doing: Doing, shards: number, isNewStripe = false): Promise<void> => {
  await atEachRequest(
    doing,
    async function* (table) {
      const [first, second] = shards === 1 ? [UPDATE, ADDITION] : [ADDITION, UPDATE];
      const late = await withheld(table, [first], isNewStripe ? 2 : 1, shards);
      const taken = new Set<PlainMessage>();
      if (isNewStripe) {
        // It meets another process in its stripe.
        await new CountingProcess(table, shards).record([NEWS]);
        taken.add(NEWS);
        laterBy(2 * HOUR_MS);
        await late.send();
      }
      yield;
      await late.send();
      if (await late.recording) taken.add(first);
      if (await isTaken(late.process, [second])) taken.add(second);
      const error = yield;
      assert(error === undefined || error instanceof RebuildRefused, String(error));
      if (error !== undefined) await doing(table, shards);
      await demandRight(table, [...MESSAGES, ...taken], shards);
    },
    { shards },
  );
};

/** Which requests of a reader wait, by their number and the first key. */
const WAITS: readonly ((requests: number, key: string) => boolean)[] = [
  (requests) => requests > 1,
  (requests) => requests > 2,
  (requests) => requests > 3,
  (_, key) => key.startsWith('event|'),
];

/** Readers that had begun before a request continue at that request; others begin there, and continue after everything. */
const reading: Course = async function* (table) {
  const [first, last] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const begin = async (released: Promise<void>): Promise<void> => {
    const answering = WAITS.flatMap((waits) =>
      QUESTIONS.map(async (question) => {
        let requests = 0;
        const turn: Turn = async ({ rowKeys: [key = ''] }) => {
          requests += 1;
          if (waits(requests, key)) await released;
        };
        await demandAnswer(new CountingProcess(new InterposedTable(turn, table)), question);
      }),
    );
    for (const outcome of await Promise.allSettled(answering)) {
      if (outcome.status === 'rejected' && !(outcome.reason instanceof DayHeld)) throw outcome.reason;
    }
  };
  const begunBefore = begin(first.promise);
  yield;
  const begunNow = begin(last.promise);
  first.resolve();
  await begunBefore;
  assert.equal(yield, undefined);
  last.resolve();
  await begunNow;
};

/** An export that has found the day open before a request continues after everything: it has every event, or says that the day is closed. */
const exporting: Course = async function* (table) {
  const last = Promise.withResolvers<void>();
  const turn: Turn = async ({ rowKeys: [key = ''] }) => {
    if (key.startsWith('event|')) await last.promise;
  };
  yield;
  const own = new Table(new InterposedTable(turn, table), { format: FORMAT, deadlineMs: HOUR_MS });
  let events = 0;
  const countAll = async (): Promise<void> => {
    for await (const page of exportDay(own, 1, DATE)) events += page.events;
  };
  const exported = thrownBy(countAll());
  assert.equal(yield, undefined);
  last.resolve();
  const error = await exported;
  assert(error instanceof DayClosed || (error === undefined && events === MESSAGES.length), String(error));
};

const lost = (): never => {
  throw new StorageTrouble(0);
};

/** The answer to one request is lost, and the request is carried out or not: a rebuild continues, or has to be run again. */
const answerIsLost = async (doing: Doing): Promise<void> => {
  for (const isCarriedOut of [true, false]) {
    for (let [at, requests] = [1, 1]; requests >= at; at += 1) {
      const table = await seeded();
      laterBy(2 * HOUR_MS);
      requests = 0;
      const turn: Turn = async () => {
        requests += 1;
        return requests === at ? (isCarriedOut ? lost : lost()) : undefined;
      };
      const error = await thrownBy(doing(new InterposedTable(turn, table), 1));
      assert(error === undefined || error instanceof RebuildRefused || error instanceof StorageTrouble, String(error));
      await doing(table, 1);
      await demandRight(table, MESSAGES);
      assert.equal(await isTaken(new CountingProcess(table), [ADDITION]), doing === rebuild);
    }
  }
};

const SCENARIOS = {
  'a late transaction into its own stripe of a day that is rebuilt': async () => lateTransaction(rebuild, 1),
  'a late transaction into a new stripe of a day that is rebuilt': async () => lateTransaction(rebuild, 1, true),
  'a late transaction into a shard without rows': async () => lateTransaction(rebuild, 3),
  'a late transaction into its own stripe of a day that closes': async () => lateTransaction(close, 1),
  'a late transaction into a new stripe of a day that closes': async () => lateTransaction(close, 1, true),
  'readers that had begun before a rebuild go on': async () => atEachRequest(rebuild, reading),
  'readers that had begun before a closing go on': async () => atEachRequest(close, reading),
  'exports that had begun before a closing go on': async () => atEachRequest(close, exporting),
  'an answer to a rebuild is lost': async () => answerIsLost(rebuild),
  'an answer to a closing is lost': async () => answerIsLost(close),

  'a rebuild is killed, and run again': async () =>
    atEachRequest(
      rebuild,
      async function* (table) {
        const recorder = new CountingProcess(table);
        await recorder.record(MESSAGES);
        await damage(table);
        yield;
        yield;
        const isOpen = sealsOf(table).includes('');
        // Only the sealed day refuses: the senders keep its events, and send them again.
        assert.equal(await isTaken(recorder, [UPDATE]), isOpen);
        assert(await isTaken(recorder, [TOMORROW]));
        const answered = await thrownBy(recorder.answer(WHOLE_DAY));
        assert(isOpen || answered instanceof DayHeld);
        await rebuild(table, 1);
        assert(await isTaken(recorder, [UPDATE, ADDITION]));
        await demandRight(table, [...MESSAGES, UPDATE, ADDITION]);
      },
      { isStopped: true },
    ),

  'a rebuild is killed, and the day is opened as it is': async () =>
    atEachRequest(
      rebuild,
      async function* (table) {
        const reader = new CountingProcess(table);
        await reader.answer(WHOLE_DAY);
        yield;
        yield;
        await unsealDay(reader.table, 1, DATE);
        await rebuild(table, 1);
        assert.deepEqual(await reader.answer(WHOLE_DAY), rightAnswer(MESSAGES, WHOLE_DAY));
        assert(await isTaken(new CountingProcess(table), [ADDITION]));
        await demandRight(table, [...MESSAGES, ADDITION]);
      },
      { isStopped: true },
    ),

  'the day is opened as it is, and its rebuild goes on': async () =>
    atEachRequest(rebuild, async function* (table) {
      yield;
      await unsealDay(new CountingProcess(table).table, 1, DATE);
      assert.deepEqual(sealsOf(table), ['']);
      await new CountingProcess(table).record([UPDATE, ADDITION]);
      const error = yield;
      assert(error === undefined || error instanceof RebuildRefused, String(error));
      // A rebuild that is refused may leave half of the counters behind.
      if (error !== undefined) await rebuild(table, 1);
      await demandRight(table, [...MESSAGES, UPDATE, ADDITION]);
    }),

  'another rebuild begins, and takes over': async () =>
    atEachRequest(rebuild, async function* (table) {
      yield;
      await rebuild(table, 1);
      await new CountingProcess(table).record([UPDATE, ADDITION]);
      const error = yield;
      assert(error === undefined || error instanceof RebuildRefused, String(error));
      if (sealsOf(table).includes('rebuilding')) await rebuild(table, 1);
      await demandRight(table, [...MESSAGES, UPDATE, ADDITION]);
    }),

  'the timer does not close a day that is rebuilt': async () =>
    atEachRequest(rebuild, async function* (table) {
      yield;
      const wasRebuilding = sealsOf(table).includes('rebuilding');
      laterBy(2 * HOUR_MS);
      await close(table, 1);
      assert.equal(sealsOf(table).includes('closed'), !wasRebuilding);
      const error = yield;
      assert(error === undefined || (error instanceof RebuildRefused && !wasRebuilding), String(error));
      await demandRight(table, MESSAGES);
    }),

  'a closed day is not rebuilt': async () =>
    atEachRequest(close, async function* (table) {
      yield;
      const wasClosed = sealsOf(table).includes('closed');
      assert.equal((await thrownBy(rebuild(table, 1))) instanceof RebuildRefused, wasClosed);
      assert.equal(yield, undefined);
      await demandRight(table, MESSAGES);
    }),

  'a closing is killed, and goes on when the retention is as short again': async () =>
    atEachRequest(
      close,
      async function* (table) {
        const recorder = new CountingProcess(table);
        await recorder.record(MESSAGES);
        yield;
        yield;
        await demandRight(table, MESSAGES);
        const isClosed = sealsOf(table).includes('closed');
        const { table: own } = recorder;
        await closeDays({ table: own, shards: 1, retentionDays: 365 }, SILENT);
        const isOpen = await isTaken(recorder, [ADDITION]);
        assert.equal(isOpen, !isClosed);
        laterBy(2 * HOUR_MS);
        await close(table, 1);
        assert(!(await isTaken(recorder, [...MESSAGES, ADDITION])));
        assert(!table.rows(SHARD).some(({ rowKey }) => rowKey.startsWith('event|')));
        await demandRight(table, isOpen ? [...MESSAGES, ADDITION] : MESSAGES);
      },
      { isStopped: true },
    ),

  'a day that is written again is not closed by a seal that comes late': async () => {
    for (const messages of [[UPDATE], [UPDATE, ADDITION]]) {
      const table = await seeded();
      // In the stripe that `day|00` knows already.
      const restoring = await withheld(table, messages.slice(0, 1));
      await new CountingProcess(table).record([NEWS]);
      laterBy(2 * HOUR_MS);
      const turn: Turn = async ({ kind }) => {
        if (kind !== 'transact') return;
        await restoring.send();
        assert(await restoring.recording);
        assert(await isTaken(restoring.process, messages));
      };
      await close(new InterposedTable(turn, table), 1);
      assert.deepEqual(sealsOf(table), ['']);
      await demandRight(table, [...MESSAGES, NEWS, ...messages]);
    }
  },
} as const;

export type Scenario = keyof typeof SCENARIOS;
// oxlint-disable-next-line no-unsafe-type-assertion -- these are its keys
export const scenarios = Object.keys(SCENARIOS) as readonly Scenario[];

/** Plays a scenario. @throws {AssertionError} */
export const interfere = async (name: Scenario): Promise<void> =>
  inVirtualTime(Date.parse('2026-11-24T10:00:00Z'), randomFrom(name), true, async (time) => {
    const played = runIn(machine, async () => SCENARIOS[name]());
    assert(await time.passUntil(played, 86_400_000), 'it never ends');
    await played;
  });
