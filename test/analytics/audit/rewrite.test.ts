import { afterEach, describe, expect, it, vi } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import {
  RewriteAbandoned,
  rewriteDay,
  type RewriteOptions,
  RewriteRefused,
} from '../../../src/analytics/audit/rewrite.ts';
import { DayHeld } from '../../../src/analytics/errors.ts';
import { closeDays } from '../../../src/analytics/retention/close-days.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { DAYS_PARTITION, SEALED_KEY, shardPartition } from '../../../src/analytics/rows/keys.ts';
import type { TableConnection } from '../../../src/storage/connection.ts';
import { DamagedRow, StorageTrouble } from '../../../src/storage/errors.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { CountingProcess, DATE, frame, SILENT, START, WHOLE_DAY } from '../counting.ts';
import { Oracle, type PlainMessage } from '../oracle.ts';

const MINUTE = 60_000_000n;
const MESSAGES: readonly PlainMessage[] = [
  frame('ridge-1', 'f-1', START + 480n * MINUTE, {
    time: START + 1n,
    reviewed: true,
    annotations: { smoke: 1, fire: 2 },
  }),
  frame('ridge-1', 'f-2', START + 480n * MINUTE + 10_500_000n),
  frame('ridge-8', 'f-3', START + 541n * MINUTE, { detections: { fire: 3 }, reviewed: true }),
];
/** Old news of an event: it is counted until the newer ones come. */
const EDIT = frame('ridge-1', 'f-1', START + 480n * MINUTE, { time: START, detections: { fog: 7 } });
/** News of an event that is stored, and a new one of a camera that is not. */
const MORE: readonly PlainMessage[] = [
  frame('ridge-1', 'f-2', START + 480n * MINUTE + 10_500_000n, { time: START + 999n * MINUTE, detections: { fog: 2 } }),
  frame('ridge-3', 'f-4', START + 480n * MINUTE),
];
/** News of another event, which makes a process that works in the same stripe move. */
const NEWS = frame('ridge-8', 'f-3', START + 541n * MINUTE, { time: START + 999n * MINUTE, detections: { fog: 5 } });
const QUESTIONS = [
  WHOLE_DAY,
  { start: START + 480n * MINUTE, end: START + 540n * MINUTE - 1n },
  { start: START + 480n * MINUTE, end: START + 481n * MINUTE - 1n },
  { start: START + 480n * MINUTE + 1n, end: START + 541n * MINUTE },
  { ...WHOLE_DAY, cameraId: 'ridge-1' },
  { start: START + 480n * MINUTE + 1n, end: START + 541n * MINUTE, cameraId: 'ridge-1' },
];

type Step = (method: string, args: readonly unknown[]) => Promise<void>;

/** The table as one process reaches it. Something is awaited before each request, and perhaps after it. */
const reachedBy = (table: MemoryTable, before: Step, after: Step = async () => undefined): TableConnection => {
  const inSteps =
    <Args extends readonly unknown[], Answer>(method: string, carryOut: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      await before(method, args);
      const answer = await carryOut(...args);
      await after(method, args);
      return answer;
    };
  return {
    create: async () => table.create(),
    now: () => Date.now(),
    get: inSteps('get', async (...args: Parameters<MemoryTable['get']>) => table.get(...args)),
    page: inSteps('page', async (...args: Parameters<MemoryTable['page']>) => table.page(...args)),
    transact: inSteps('transact', async (...args: Parameters<MemoryTable['transact']>) => table.transact(...args)),
    firstPartition: inSteps('firstPartition', async (...args: Parameters<MemoryTable['firstPartition']>) =>
      table.firstPartition(...args),
    ),
  };
};

const rewrite = async (connection: TableConnection, options: Partial<RewriteOptions> = {}) =>
  rewriteDay(new Table(connection, { format: FORMAT }), DATE, { say: () => undefined, ...options });

/** Whether a process takes messages; a day that is held, or whose row is lost, takes none now. */
const isTaken = async (process: CountingProcess, messages: readonly PlainMessage[]): Promise<boolean> => {
  try {
    await process.record(messages);
    return true;
  } catch (error) {
    if (!(error instanceof DayHeld || error instanceof DamagedRow)) throw error;
    return false;
  }
};

/** A gate that processes wait at until it is opened. */
const gate = () => {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return { opened: promise, open: () => resolve(undefined) };
};

/** A process whose transactions wait for one gate after the other before they are sent. */
const withheld = async (table: MemoryTable, messages: readonly PlainMessage[], count = 1) => {
  const arrived = Array.from({ length: count }, gate);
  const released = Array.from({ length: count }, gate);
  let sent = 0;
  const step: Step = async (method) => {
    if (method !== 'transact' || sent === count) return;
    sent += 1;
    arrived[sent - 1]?.open();
    await released[sent - 1]?.opened;
  };
  const process = new CountingProcess(reachedBy(table, step));
  const recording = isTaken(process, messages);
  await arrived[0]?.opened;
  return {
    process,
    recording,
    /** Sends the next transaction, and waits until another one is withheld or all is done. */
    send: async (): Promise<void> => {
      released[sent - 1]?.open();
      await Promise.race([recording, ...arrived.slice(sent, sent + 1).map(({ opened }) => opened)]);
    },
  };
};

/** A day in two stripes: a process that meets another one in its stripe makes a new one. */
const twoStripes = async (shards: number): Promise<MemoryTable> => {
  const table = new MemoryTable();
  const process = new CountingProcess(table, shards);
  await process.record([EDIT]);
  const other = await withheld(table, MESSAGES.slice(1, 2));
  await process.record(MESSAGES.slice(0, 1));
  await other.send();
  await other.recording;
  await process.record(MESSAGES);
  expect(table.partitions().flatMap((name) => table.rows(name).map(({ rowKey }) => rowKey))).toContain('day 01');
  return table;
};

const SEEDED = [undefined, await twoStripes(1), await twoStripes(2), await twoStripes(3)] as const;
const seeded = (shards: 1 | 2 | 3 = 1): MemoryTable => SEEDED[shards].copy();

/** Everything is counted once, whoever asks, and all that is left of other generations says that they do not count. */
const demandRight = async (table: MemoryTable, messages: readonly PlainMessage[]): Promise<void> => {
  const oracle = new Oracle(messages);
  const process = new CountingProcess(table);
  for (const question of QUESTIONS) expect(await process.answer(question)).toEqual(oracle.answer(question));
  const cameras = await process.reader.cameras(DATE, 1);
  expect(Object.fromEntries(cameras.map(({ cameraId, tally }) => [cameraId, tally.events]))).toEqual(
    Object.fromEntries(
      messages.map(({ cameraId }) => [cameraId, oracle.answer({ ...WHOLE_DAY, cameraId }).total_events]),
    ),
  );
};

const demandNoDifferences = async (table: MemoryTable): Promise<void> =>
  expect(await auditDay(new CountingProcess(table).table, DATE)).toMatchObject({
    differences: [],
    unreadable: [],
    unsettled: [],
  });

const demandClean = (table: MemoryTable, generation: number): void => {
  const prefix = shardPartition(DATE, 0, generation).slice(0, -2);
  const others = table.partitions().filter((name) => name !== DAYS_PARTITION && !name.startsWith(prefix));
  expect(others.flatMap((name) => table.rows(name)).filter(({ rowKey }) => rowKey !== SEALED_KEY)).toEqual([]);
};

/** What another process does while a day is rewritten: before one of its requests, and perhaps before the switch. */
interface Interference {
  readonly now: () => Promise<void>;
  readonly beforeSwitch?: () => Promise<void>;
}

/** Rewrites a day once for each of its requests, or each so manieth, and has something done before that request. */
const atEachRequest = async (
  prepare: (table: MemoryTable) => Promise<Interference>,
  check: (table: MemoryTable, error: unknown) => Promise<void>,
  shards: 1 | 2 | 3 = 1,
  stride = 1,
): Promise<void> => {
  for (let at = 1; ; at += stride) {
    const table = seeded(shards);
    const { now, beforeSwitch = async () => undefined } = await prepare(table);
    let requests = 0;
    let isReached = false;
    const step: Step = async (method, [partition]) => {
      requests += 1;
      if (requests === at) {
        isReached = true;
        await now();
      }
      const isSealed = table.rows(shardPartition(DATE, 0)).some(({ properties }) => properties['attempt'] === 1);
      if (method === 'transact' && partition === DAYS_PARTITION && isSealed) await beforeSwitch();
    };
    const error: unknown = await rewrite(reachedBy(table, step)).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    // An abandoned rewrite sends fewer requests: their number does not say where to stop.
    if (!isReached) await now();
    await check(table, error);
    vi.useRealTimers();
    if (!isReached) break;
  }
};

/** Rewrites the day in a process that dies before a request. @returns false if the rewrite sends fewer requests */
const isKilled = async (table: MemoryTable, at: number): Promise<boolean> => {
  let requests = 0;
  const died = gate();
  const step: Step = async () => {
    requests += 1;
    if (requests < at) return;
    died.open();
    await new Promise(() => undefined);
  };
  await Promise.race([rewrite(reachedBy(table, step)), died.opened]);
  return requests >= at;
};

const minutesLater = (minutes: number): void => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + minutes * 60_000 });
};

const isGeneration1 = (row: unknown): boolean =>
  typeof row === 'object' && row !== null && 'generation' in row && row.generation === 1;

afterEach(() => void vi.useRealTimers());

describe('whatever happens at whatever request of a rewrite', () => {
  it('what a new process or an old one takes is counted, and what it refuses may be sent again', async () => {
    let taken = new Map<PlainMessage, boolean>();
    await atEachRequest(
      async (table) => {
        taken = new Map();
        const old = new CountingProcess(table);
        await old.record(MESSAGES);
        const now = async () => {
          for (const [index, process] of [old, new CountingProcess(table)].entries()) {
            for (const message of MORE.slice(index, index + 1)) taken.set(message, await isTaken(process, [message]));
          }
        };
        return { now };
      },
      async (table, error) => {
        expect(error).toBeUndefined();
        await demandRight(table, [...MESSAGES, ...MORE.filter((message) => taken.get(message) === true)]);
        demandClean(table, 1);
        await new CountingProcess(table).record(MORE);
        await demandRight(table, [...MESSAGES, ...MORE]);
      },
    );
  });

  it.each<readonly [string, { shards: 1 | 3; isNewStripe?: true; isLost?: true }]>([
    ['into its own stripe', { shards: 1 }],
    ['into a new stripe', { shards: 1, isNewStripe: true }],
    ['into a shard without rows', { shards: 3 }],
    ['into a shard without rows, of a day whose row is lost', { shards: 3, isLost: true }],
  ])(
    'of a transaction %s that was computed before: it is counted or refused',
    async (_, { shards, isNewStripe, isLost }) => {
      const taken = new Map<PlainMessage, boolean>();
      const [first = NEWS, second = NEWS] = shards === 1 ? MORE : MORE.toReversed();
      await atEachRequest(
        async (table) => {
          taken.clear();
          const late = await withheld(table, [first], isNewStripe ? 2 : 1);
          if (isNewStripe) {
            // It meets another process in its stripe, and no stripe is idle.
            await table.transact(shardPartition(DATE, 0), [
              { kind: 'merge', rowKey: 'day 01', etag: '*', properties: {} },
            ]);
            await new CountingProcess(table).record([NEWS]);
            taken.set(NEWS, true);
            await late.send();
          }
          if (isLost) await table.transact(DAYS_PARTITION, [{ kind: 'delete', rowKey: DATE }]);
          const record = async (message: PlainMessage, isRecorded: Promise<boolean>) =>
            void taken.set(message, await isRecorded);
          return {
            now: async () => {
              await late.send();
              await record(first, late.recording);
            },
            // While its first transaction is under way it sends no other one.
            beforeSwitch: async () => {
              if (taken.has(first)) await record(second, isTaken(late.process, [second]));
            },
          };
        },
        async (table, error) => {
          expect(error).toBeUndefined();
          await demandRight(table, [...MESSAGES, ...[NEWS, ...MORE].filter((message) => taken.get(message) === true)]);
        },
        shards,
        // Of such a day all 64 shards are sealed.
        isLost === true ? 29 : 1,
      );
    },
  );

  it.each([1, 2] as const)(
    'a reader that had begun before answers right, with %i shards',
    async (shards) => {
      for (const question of QUESTIONS) {
        for (const begins of [1, 2]) {
          let answering: Promise<unknown> = Promise.resolve();
          await atEachRequest(
            async (table) => {
              const released = gate();
              let requests = 0;
              const reader = new CountingProcess(
                reachedBy(table, async () => {
                  requests += 1;
                  if (requests > begins) await released.opened;
                }),
              );
              answering = reader.answer(question);
              const now = async () => {
                released.open();
                expect(await answering).toEqual(new Oracle(MESSAGES).answer(question));
              };
              return { now };
            },
            async (_, error) => expect(error).toBeUndefined(),
            shards,
          );
        }
      }
    },
    120_000,
  );

  it('an answer that is lost changes nothing', async () => {
    for (const isCarriedOut of [true, false]) {
      for (let at = 1, requests = at; requests >= at; at += 1) {
        const table = seeded();
        requests = 0;
        const before: Step = async () => {
          requests += 1;
          if (requests === at && !isCarriedOut) throw new StorageTrouble(0);
        };
        const after: Step = async () => {
          if (requests === at && isCarriedOut) throw new StorageTrouble(0);
        };
        expect(await rewrite(reachedBy(table, before, after))).toMatchObject({ generation: 1, hold: undefined });
        await demandRight(table, MESSAGES);
        demandClean(table, 1);
      }
    }
  });

  it('killed, it harms nothing: answers stay right, the day takes events after three minutes, and another rewrite ends the work', async () => {
    for (let at = 1; ; at += 1) {
      const table = seeded();
      const reader = new CountingProcess(table);
      await reader.answer(WHOLE_DAY);
      if (!(await isKilled(table, at))) break;
      await demandRight(table, MESSAGES);
      // Before the seal and after the switch the day takes events at once, and a reader that remembers the day has them too.
      const isTakenNow = await isTaken(new CountingProcess(table), MORE);
      expect(await reader.answer(WHOLE_DAY)).toEqual(
        new Oracle(isTakenNow ? [...MESSAGES, ...MORE] : MESSAGES).answer(WHOLE_DAY),
      );
      minutesLater(3.1);
      expect(await isTaken(new CountingProcess(table), MORE)).toBe(true);
      await demandRight(table, [...MESSAGES, ...MORE]);
      const { generation } = await rewrite(table);
      await demandRight(table, [...MESSAGES, ...MORE]);
      demandClean(table, generation);
      if (at % 10 === 0) await demandNoDifferences(table);
      vi.useRealTimers();
    }
  });

  it('another rewrite is refused while it is at work, and takes over once its hold has expired', async () => {
    await atEachRequest(
      async (table) => ({
        now: async () => {
          const isHeld = table.rows(DAYS_PARTITION).some(({ properties }) => properties['hold_owner'] !== undefined);
          const other = await rewrite(isHeld ? table : seeded()).catch((error: unknown) => error);
          expect(other instanceof RewriteRefused).toBe(isHeld);
          minutesLater(3.1);
          await rewrite(table, { shards: 2 });
          await new CountingProcess(table).record(MORE);
        },
      }),
      async (table, error) => {
        expect(error === undefined || error instanceof RewriteAbandoned).toBe(true);
        await demandRight(table, [...MESSAGES, ...MORE]);
      },
    );
  });

  it('its hold has expired, and the day takes events again: then it is abandoned', async () => {
    let isRecorded = false;
    await atEachRequest(
      async (table) => {
        isRecorded = false;
        const old = new CountingProcess(table);
        await old.record(MESSAGES);
        const now = async () => {
          minutesLater(3.1);
          isRecorded = (await isTaken(old, MORE.slice(0, 1))) && (await isTaken(old, MORE.slice(1)));
        };
        return { now };
      },
      async (table, error) => {
        expect(error === undefined || error instanceof RewriteAbandoned).toBe(true);
        expect(isRecorded).toBe(true);
        await demandRight(table, [...MESSAGES, ...MORE]);
      },
    );
  });

  it('the day closes only before it is announced, or when it is over', async () => {
    let closes: unknown;
    await atEachRequest(
      async (table) => ({
        now: async () => {
          const isHeld = table.rows(DAYS_PARTITION).some(({ properties }) => properties['hold_owner'] !== undefined);
          closes = await new CountingProcess(table).days.close(DATE).catch((error: unknown) => error);
          expect(closes instanceof DayHeld).toBe(isHeld);
        },
      }),
      async (table, error) => {
        const isRefused = error instanceof RewriteRefused && error.message.includes('closing is announced');
        const isOver = error === undefined && (closes instanceof DayHeld || isGeneration1(closes));
        expect(isRefused || isOver).toBe(true);
        await demandRight(table, MESSAGES);
      },
    );
  });

  it('its hold has expired, and the day closes: then it is refused or abandoned', async () => {
    let closes: unknown;
    await atEachRequest(
      async (table) => ({
        now: async () => {
          minutesLater(3.1);
          closes = await new CountingProcess(table).days.close(DATE);
        },
      }),
      async (table, error) => {
        const isStopped = error instanceof RewriteAbandoned || error instanceof RewriteRefused;
        expect(isGeneration1(closes) ? error === undefined : isStopped).toBe(true);
        expect(await new CountingProcess(table).days.stored(DATE)).toMatchObject({ closes: expect.anything() });
        await demandRight(table, MESSAGES);
      },
    );
  });

  it('killed, it leaves nothing behind once the day is closed', async () => {
    for (let at = 1; ; at += 1) {
      const table = seeded();
      if (!(await isKilled(table, at))) break;
      // Its closing was announced long ago.
      await table.transact(DAYS_PARTITION, [
        { kind: 'merge', rowKey: DATE, etag: '*', properties: { closes: '2001-01-01T00:00:00.000000Z' } },
      ]);
      const { table: reached, days } = new CountingProcess(table);
      await closeDays({ table: reached, days, retentionDays: 1 }, SILENT);
      const row = await days.stored(DATE);
      expect(row).toMatchObject({ isDeleted: true });
      demandClean(table, row?.generation ?? 0);
    }
  });
});
