import { isDeepStrictEqual } from 'node:util';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { ClosedDay, examineDay } from '../../../src/analytics/repair/examine-day.ts';
import { repairDay } from '../../../src/analytics/repair/repair.ts';
import { stepText } from '../../../src/analytics/repair/step-text.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { LaterFormat } from '../../../src/analytics/rows/format.ts';
import { StorageTrouble } from '../../../src/analytics/rows/storage-errors.ts';
import type { TypedRow } from '../../../src/analytics/rows/sdk-rows.ts';
import { CounterTable } from '../../../src/analytics/rows/table.ts';
import type { RowWrite } from '../../../src/analytics/rows/row.ts';
import { CountingStorage, type CountingProcess } from '../counting.ts';
import { Oracle, type PlainMessage, type Question } from '../oracle.ts';

const MIDNIGHT = BigInt(Date.parse('2026-03-14T00:00:00Z')) * 1_000n;
const DAY = dayOf(instantFrom(MIDNIGHT));
const MINUTE = 60_000_000n;

/** With two shards ridge-0 is in shard 00. */
const SHARD = `${DAY}_00`;

const messages: readonly PlainMessage[] = Array.from({ length: 80 }, (_, at) => {
  const ts = MIDNIGHT + (480n + BigInt(at)) * MINUTE;
  return {
    eventId: `f-${at}`,
    cameraId: `ridge-${at % 8}`,
    ts,
    time: ts + 1n,
    detections: { smoke: at % 3, fire: 1 },
    ...(at % 4 === 0 && { reviewed: true, annotations: { smoke: 1 } }),
  };
});

const QUESTIONS: readonly Question[] = [
  { start: MIDNIGHT, end: MIDNIGHT + 1_440n * MINUTE - 1n },
  { start: MIDNIGHT, end: MIDNIGHT + 1_440n * MINUTE - 1n, cameraId: 'ridge-0' },
  // Whole hours and minutes, and a part of a minute, in which f-8 of ridge-0 is.
  { start: MIDNIGHT + 485n * MINUTE, end: MIDNIGHT + 488n * MINUTE },
  { start: MIDNIGHT + 420n * MINUTE, end: MIDNIGHT + 541n * MINUTE + 5n },
];

const oracleOf = (told: readonly PlainMessage[]): Oracle => {
  const oracle = new Oracle();
  for (const message of told) oracle.tell(message);
  return oracle;
};

/** The answers of a process that are not the oracle's. */
const wrongAnswers = async (process: CountingProcess, told: readonly PlainMessage[]): Promise<readonly unknown[]> => {
  const oracle = oracleOf(told);
  const wrong: unknown[] = [];
  for (const question of QUESTIONS) {
    const [answer, right] = [await process.answer(question), oracle.answer(question)];
    if (!isDeepStrictEqual(answer, right)) wrong.push({ question, answer, right });
  }
  return wrong;
};

type Row = Readonly<Record<string, unknown>>;
/** Changes a row; undefined: deletes it. */
type Damage = (row: Row) => Row | undefined;

const deleted: Damage = () => undefined;
const set =
  (property: string, value: unknown): Damage =>
  (row) => ({ ...row, [property]: value });
const without =
  (property: string): Damage =>
  (row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => name !== property));
const replaced =
  (property: string, from: string | RegExp, to: string): Damage =>
  (row) => ({ ...row, [property]: String(row[property]).replace(from, to) });
const bytesOf = (value: unknown): Uint8Array => {
  if (!(value instanceof Uint8Array)) throw new Error('there are no such bytes');
  return value;
};
const flipped =
  (property: string): Damage =>
  (row) => ({ ...row, [property]: bytesOf(row[property]).map((byte, at) => (at === 0 ? byte ^ 2 : byte)) });
const cut =
  (property: string): Damage =>
  (row) => ({ ...row, [property]: bytesOf(row[property]).slice(0, -1) });

const EVENT = 'event|0800|ridge-0|f-0';
const CAMERA = 'camera|ridge-0';

const damageRow = async (
  storage: CountingStorage,
  partitionKey: string,
  rowKey: string,
  damage: Damage,
): Promise<void> => {
  const client = storage.client();
  const { etag: _, timestamp: __, ...row } = await client.getEntity(partitionKey, rowKey);
  const damaged = damage(row);
  if (damaged === undefined) await client.deleteEntity(partitionKey, rowKey);
  else await client.updateEntity({ ...damaged, partitionKey, rowKey }, 'Replace', { etag: '*' });
};

/** Repairs the day; returns what was said. */
const repaired = async (table: CounterTable): Promise<readonly string[]> => {
  const lines: string[] = [];
  const examined = await examineDay(table, DAY);
  const report = await repairDay(table, DAY, examined, { say: (line) => lines.push(line) });
  expect(report.differences).toEqual([]);
  return lines;
};

const seeded = async (): Promise<CountingStorage> => {
  const storage = new CountingStorage();
  await storage.process(2).record(messages);
  return storage;
};

/** Damage of counter rows: the row, what is damaged, and how. */
const COUNTERS: readonly (readonly [rowKey: string, what: string, damage: Damage])[] = [
  ['total', 'wrong day', replaced('day', /"events":\d+/, '"events":7')],
  ['total', 'another category', replaced('day', '"smoke":', '"smog":')],
  ['total', 'broken day', set('day', '{')],
  ['total', 'no day', without('day')],
  ['total', 'wrong n', set('n', 0)],
  ['total', 'wrong active_cameras', set('active_cameras', 1)],
  ['total', 'no row', deleted],
  ['cameras|0001', 'another camera', replaced('cameras', 'ridge-0', 'ridge-9')],
  ['cameras|0001', 'no row', deleted],
  ['stripes', 'no row', deleted],
  ['stripes', 'not a number', set('stripes', 'one')],
  ['hours', 'wrong t08', flipped('t08')],
  ['hours', 'cut t08', cut('t08')],
  ['hours', 'no t08', without('t08')],
  ['hours', 'text in t08', set('t08', 'x')],
  ['hours', 'wrong a08', set('a08', Uint8Array.of(0, 1))],
  ['hours', 'too many in a08', set('a09', Uint8Array.of(0, 255))],
  ['hours', 'hour 31', (row) => ({ ...row, t31: row['t08'], a31: row['a08'] })],
  ['hours', 'no row', deleted],
  ['hour|08', 'wrong t00', flipped('t00')],
  ['hour|08', 'cut t00', cut('t00')],
  ['hour|08', 'no t00', without('t00')],
  ['hour|08', 'wrong a00', set('a00', Uint8Array.of(0, 2))],
  ['hour|08', 'no row', deleted],
  ['minute|0800|00', 'wrong s00', flipped('s00')],
  ['minute|0800|00', 'cut s00', cut('s00')],
  ['minute|0800|00', 'no s00', without('s00')],
  ['minute|0800|00', 'text in s00', set('s00', 'x')],
  ['minute|0800|00', 'samples in s01', (row) => ({ ...row, s01: row['s00'] })],
  ['minute|0800|00', 'no row', deleted],
  [CAMERA, 'wrong day', replaced('day', /"reviewed":\d+/, '"reviewed":0')],
  [CAMERA, 'number in day', set('day', 1)],
  [CAMERA, 'wrong h08', replaced('h08', /"annotated":\d+/, '"annotated":0')],
  [CAMERA, 'wrong place', set('place', 9)],
  [CAMERA, 'cut m08', cut('m08')],
  [CAMERA, 'empty m08', set('m08', new Uint8Array())],
  [CAMERA, 'no row', deleted],
];

describe('a repair', () => {
  it.each(COUNTERS)('of %s with %s gives the answers of the event rows', async (rowKey, _, damage) => {
    const storage = await seeded();
    await damageRow(storage, SHARD, rowKey, damage);
    const { table } = storage.process(2);
    const { report } = await examineDay(table, DAY);
    expect(report.differences.length).toBeGreaterThan(0);
    await repaired(table);
    expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
    // The service goes on with what the repair left.
    const more = messages.map((message) => ({
      ...message,
      eventId: `more-${message.eventId}`,
      time: message.time + 1n,
    }));
    expect(await storage.process(2).record(more)).toEqual(more.map(() => 'recorded'));
    expect(await storage.process(2).differences(DAY)).toEqual([]);
  });

  it.each<readonly [string, Damage]>([
    ['broken detections', set('detections', '{"smoke":')],
    ['a wrong time', set('detections_time', 'soon')],
    ['a ts_utc in another minute', set('ts_utc', '2026-03-14T08:01:00.000000Z')],
  ])('of an event with %s sets its row aside as it is, and says what it held', async (_, damage) => {
    const storage = await seeded();
    await damageRow(storage, SHARD, EVENT, damage);
    const { etag: _e, timestamp: _t, 'odata.metadata': _m, ...before } = await storage.client().getEntity(SHARD, EVENT);
    const lines = await repaired(storage.process(2).table);
    expect(lines.join('\n')).toContain(`set aside row ${EVENT} of shard 0, which held {"`);
    expect(
      await wrongAnswers(
        storage.process(2),
        messages.filter(({ eventId }) => eventId !== 'f-0'),
      ),
    ).toEqual([]);
    const kept: unknown[] = [];
    for await (const { etag: _f, timestamp: _g, ...row } of storage.client().listEntities()) {
      if (String(row.rowKey).startsWith('damaged|') && String(row.rowKey).endsWith(EVENT)) kept.push(row);
    }
    expect(kept).toEqual([{ ...before, rowKey: expect.stringMatching(/^damaged\|2\d{3}-.*\|event\|/) }]);
  });

  it('of an event row that somebody deleted takes its contribution back', async () => {
    const storage = await seeded();
    await storage.client().deleteEntity(SHARD, EVENT);
    await repaired(storage.process(2).table);
    expect(
      await wrongAnswers(
        storage.process(2),
        messages.filter(({ eventId }) => eventId !== 'f-0'),
      ),
    ).toEqual([]);
  });

  it.each<readonly [string, Damage]>([
    ['too small', set('shards', 1)],
    ['too large', set('shards', 7)],
    ['damaged', set('shards', 'two')],
    ['gone', deleted],
  ])('of a number of shards that is %s finds the number that fits the cameras', async (_, damage) => {
    const storage = await seeded();
    await damageRow(storage, DAY, 'shards', damage);
    await repaired(storage.process(2).table);
    expect(await wrongAnswers(storage.process(), messages)).toEqual([]);
    expect(await new DayShards(storage.process().table, 1).find(DAY)).toBe(2);
  });

  it('of a camera that is in the wrong shard moves its events', async () => {
    const storage = await seeded();
    const client = storage.client();
    const { etag: _, timestamp: __, ...event } = await client.getEntity(SHARD, EVENT);
    await client.deleteEntity(SHARD, EVENT);
    await client.createEntity({ ...event, partitionKey: `${DAY}_01`, rowKey: EVENT });
    await repaired(storage.process(2).table);
    expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
  });

  it.each(['hour|24', 'minute|0860', 'minute|9', 'camera|a|b', 'event|9959|ridge-0|f-0', 'hour|08 99'])(
    'sets %s aside, a row that the service never writes',
    async (rowKey) => {
      const storage = await seeded();
      await storage.client().createEntity({ partitionKey: SHARD, rowKey, format: 1, x: 1.5, y: 7n });
      await repaired(storage.process(2).table);
      expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
    },
  );

  it('of rows of a later format does nothing', async () => {
    const storage = await seeded();
    await damageRow(storage, SHARD, CAMERA, set('format', 2));
    await expect(examineDay(storage.process(2).table, DAY)).rejects.toThrow(LaterFormat);
  });

  it.each([
    [DAY, 'shards'],
    [SHARD, 'total'],
    [SHARD, 'stripes'],
  ])('refuses a closed day, whichever of its rows says so: %s %s', async (partitionKey, rowKey) => {
    const storage = await seeded();
    await damageRow(storage, partitionKey, rowKey, set('closed', true));
    await expect(examineDay(storage.process(2).table, DAY)).rejects.toThrow(ClosedDay);
  });

  it('says before what it will do', async () => {
    const storage = await seeded();
    await damageRow(storage, SHARD, EVENT, set('detections', '{'));
    await damageRow(storage, SHARD, CAMERA, set('day', 1));
    const { report } = await examineDay(storage.process(2).table, DAY);
    const steps = report.differences.map(stepText);
    expect(steps).toContain(`set aside row ${EVENT}: what it contributed leaves the counters`);
    expect(steps).toContain(`set aside row ${CAMERA}, and count anew what it held`);
    expect(steps).toContain('add to hour 08 what the event rows have more or less');
  });
});

/** A table whose process ends after so many transactions, or whose answers are lost from then on. */
class EndingTable extends CounterTable {
  left: number;
  constructor(storage: CountingStorage, transactions: number) {
    super(() => storage.client());
    this.left = transactions;
  }
  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await super.transact(partition, writes);
    this.#count();
    return etags;
  }
  override async move(
    partition: string,
    rows: readonly TypedRow[],
    movedTo: (row: TypedRow) => TypedRow,
    writes: readonly RowWrite[],
  ): Promise<void> {
    await super.move(partition, rows, movedTo, writes);
    this.#count();
  }
  #count(): void {
    this.left -= 1;
    if (this.left === 0) throw new Error('the process ends');
  }
}

/** A table that loses the answer to some of its transactions: they were applied. */
class ForgetfulTable extends CounterTable {
  #transactions = 0;
  override async transact(partition: string, writes: readonly RowWrite[]): Promise<readonly string[]> {
    const etags = await super.transact(partition, writes);
    this.#transactions += 1;
    if (this.#transactions <= 2) throw new StorageTrouble(0);
    return etags;
  }
}

describe('a repair whose answers are lost', () => {
  it('adds no difference twice', async () => {
    const storage = await seeded();
    await damageRow(storage, SHARD, 'total', replaced('day', /"events":\d+/, '"events":7'));
    const lines = await repaired(new ForgetfulTable(() => storage.client()));
    expect(lines).toEqual(['storage or another writer came between: reading again']);
    expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
  });

  it('and two repairs at the same time add it once', async () => {
    const storage = await seeded();
    await damageRow(storage, SHARD, 'total', replaced('day', /"events":\d+/, '"events":7'));
    const [one, other] = await Promise.all([1, 2].map(async () => examineDay(storage.process(2).table, DAY)));
    if (one === undefined || other === undefined) throw new Error('there are two');
    const lines: string[] = [];
    const say = (line: string): void => void lines.push(line);
    for (const examined of [one, other]) await repairDay(storage.process(2).table, DAY, examined, { say });
    expect(lines).toEqual(['put 1 counter of shard 0 right', 'storage or another writer came between: reading again']);
    expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
  });
});

describe('whatever is damaged', () => {
  it('is put right', async () => {
    const kinds = COUNTERS.length;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat(kinds - 1), { minLength: 2, maxLength: 6 }),
        fc.constantFrom(SHARD, `${DAY}_01`),
        async (chosen, partition) => {
          const storage = await seeded();
          for (const at of chosen) {
            const [rowKey, , damage] = COUNTERS[at] ?? ['', '', deleted];
            // A row may be gone already, or lack the property.
            await damageRow(storage, partition, rowKey, damage).catch(() => undefined);
          }
          await repaired(storage.process(2).table);
          expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
          expect(await storage.process(2).record(messages)).toEqual(messages.map(() => 'unchanged'));
        },
      ),
      { numRuns: 8, endOnFailure: true },
    );
  }, 240_000);
});

describe('a repair that is stopped after any transaction', () => {
  it('goes on when it is started again', async () => {
    const storage = await seeded();
    const damages = async (): Promise<void> => {
      await damageRow(storage, SHARD, 'hours', set('t08', 'x'));
      await damageRow(storage, SHARD, CAMERA, replaced('day', /"reviewed":\d+/, '"reviewed":0'));
      await damageRow(storage, `${DAY}_01`, 'total', set('day', '{'));
    };
    await damages();
    let stops = 0;
    for (;;) {
      const table = new EndingTable(storage, 1);
      const ended = await repaired(table).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (ended === undefined) break;
      if (!(ended instanceof Error) || ended.message !== 'the process ends') throw ended;
      stops += 1;
    }
    expect(stops).toBeGreaterThan(3);
    expect(await wrongAnswers(storage.process(2), messages)).toEqual([]);
  }, 120_000);
});

/** Edits events until told to stop; returns every message that was recorded. */
const editing = (process: CountingProcess): { stop: () => Promise<readonly PlainMessage[]> } => {
  const stop = new AbortController();
  const told: PlainMessage[] = [];
  const work = async (): Promise<void> => {
    for (let at = 0; !stop.signal.aborted; at += 1) {
      const event = messages[at % messages.length];
      if (event === undefined) throw new Error('no messages');
      const { reviewed: _, annotations: __, detections: ___, ...identity } = event;
      const edit = {
        ...identity,
        time: event.time + 10n + BigInt(at),
        annotations: { fire: at % 5 },
        reviewed: at % 2 === 0,
      };
      await Promise.all([process.record([edit]), new Promise((resolve) => void setTimeout(resolve, 50))]);
      told.push(edit);
    }
  };
  const working = work();
  return {
    stop: async () => {
      stop.abort();
      await working;
      return told;
    },
  };
};

describe('a day that is edited 20 times a second', () => {
  it('gets a verdict, and no counter is reported that is right', async () => {
    const storage = await seeded();
    const writer = editing(storage.process(2));
    const { table } = storage.process(2);
    for (let audits = 0; audits < 5; audits += 1) {
      expect((await auditDay(table, new DayShards(table, 1), DAY)).differences).toEqual([]);
    }
    expect((await writer.stop()).length).toBeGreaterThan(10);
  }, 120_000);

  it('has its damage named, and is repaired: nothing is lost and nothing counted twice', async () => {
    const storage = await seeded();
    const writer = editing(storage.process(2));
    await damageRow(storage, SHARD, 'minute|0800|00', deleted);
    await damageRow(storage, SHARD, CAMERA, deleted);
    await damageRow(storage, `${DAY}_01`, 'hours', (row) => ({ ...row, t09: row['t08'] }));
    await repaired(storage.process(2).table);
    const edits = await writer.stop();
    expect(await storage.process(2).differences(DAY)).toEqual([]);
    expect(await wrongAnswers(storage.process(2), [...messages, ...edits])).toEqual([]);
  }, 120_000);
});
