import { isDeepStrictEqual } from 'node:util';

import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { repairDay, stepsOf } from '../../../src/analytics/audit/repair.ts';
import { NotRepairable, RepairLease } from '../../../src/analytics/audit/repair-lease.ts';
import { setAside, WHOLE_KEY } from '../../../src/analytics/audit/set-aside.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { OPEN_DAYS_PARTITION } from '../../../src/analytics/rows/keys.ts';
import { encoded } from '../../../src/analytics/rows/tally-bytes.ts';
import { LaterFormat, StorageTrouble } from '../../../src/storage/errors.ts';
import { ANY_VERSION, copiedProperties, type NewProperties, type StoredRow } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { InterposedTable } from '../../storage/interposed-table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { all, CountingProcess, damagedRowOf, DATE, frame, MemoryStorage, SHARD, START } from '../counting.ts';
import { Oracle, type PlainMessage } from '../oracle.ts';

// A small day in two shards whose rows are damaged one by one. With two shards ridge-0 is in shard 00.

/** A minute in microseconds. */
const MINUTE = 60_000_000n;

/** A frame a minute from 08:00 to 09:19, of eight cameras in turn. */
const messages: readonly PlainMessage[] = all(80).map((at) =>
  frame(`ridge-${at % 8}`, `f-${at}`, START + (480n + BigInt(at)) * MINUTE, {
    detections: { smoke: at % 3, fire: 1 },
    ...(at % 4 === 0 && { reviewed: true, annotations: { smoke: 1 } }),
  }),
);

/** ridge-0 sends f-0 at 08:00, reviewed and annotated, and f-8 at 08:08. */
const EVENT = 'event|0800|ridge-0|f-0';
const CAMERA = 'camera|ridge-0';

/** Later events of the same frames. */
const MORE = messages.map((message) => ({ ...message, eventId: `more-${message.eventId}` }));

let recorded: Promise<MemoryTable> | undefined;

/** A table in memory with the day, for one test. */
const seeded = async (): Promise<MemoryTable> => {
  recorded ??= (async () => {
    const table = new MemoryTable();
    await new CountingProcess(table, 2).record(messages);
    return table;
  })();
  return (await recorded).copy();
};

/** Changes the properties of a row; undefined: deletes it. */
type Row = Readonly<Record<string, unknown>>;
type Damage = (row: Row) => Row | undefined;

const deleted: Damage = () => undefined;
const set =
  (property: string, value: unknown): Damage =>
  (row) => ({ ...row, [property]: value });
const without = (property: string): Damage => set(property, undefined);
const replaced =
  (property: string, from: string | RegExp, to: string): Damage =>
  (row) => ({ ...row, [property]: z.string().parse(row[property]).replace(from, to) });
const bytesOf = z.instanceof(Uint8Array);
/** A bit of the first byte is flipped. */
const flipped =
  (property: string): Damage =>
  (row) => ({ ...row, [property]: bytesOf.parse(row[property]).map((byte, at) => (at === 0 ? byte ^ 2 : byte)) });

/** Damages a stored row. */
const damageRow = async (table: MemoryTable, partitionKey: string, rowKey: string, damage: Damage): Promise<void> => {
  const row = await table.get(partitionKey, rowKey, {});
  if (row === undefined) throw new Error(`there is no row ${rowKey}`);
  const properties = damage(copiedProperties(row));
  await table.transact(partitionKey, [
    properties === undefined
      ? { kind: 'delete', rowKey }
      : { kind: 'replace', rowKey, etag: ANY_VERSION, properties: copiedProperties({ ...row, properties }) },
  ]);
};

const SAMPLES = 'minute|0800|00';
const SAMPLE = 'sample 08:00:00.000000 of ridge-0';

/** Two to the 50th events, none of them reviewed or annotated, without categories. */
const MOST_EVENTS = encoded((writer) => {
  writer.count(1);
  for (const count of [2 ** 50, 0, 0]) writer.signed(count);
});
/** A frame without detections in the first microsecond. */
const CAMERA_40000 = encoded((writer) => [0, 40_000, 0].forEach((count) => writer.count(count)));

/** Damage to each kind of counter row: what is wrong with it, and counters that an audit names for it, perhaps among others. */
const COUNTER_DAMAGES: readonly (readonly [
  rowKey: string,
  what: string,
  damage: Damage,
  counters: readonly string[],
])[] = [
  ['total', 'wrong day', replaced('day', /"events":\d+/, '"events":7'), ['total']],
  ['total', 'another category', replaced('day', '"smoke":', '"smog":'), ['total']],
  ['total', 'broken day', set('day', '{'), ['row total']],
  ['total', 'wrong n', set('n', 0), ['row total']],
  ['total', 'wrong active_cameras', set('active_cameras', 1), ['row total']],
  ['total', '65 stripes', set('stripes', 65), ['row total']],
  ['total', 'no stripe', set('stripes', 0), ['row total']],
  ['total', 'one and a half stripes', set('stripes', 1.5), ['row total']],
  ['total', 'an n of more than 31 bits', set('n', 2 ** 31), ['row total']],
  [
    'total',
    'an n at the end of its 31 bits, too few active_cameras',
    (row) => ({ ...row, n: 2 ** 31 - 1, active_cameras: 1 }),
    ['row total'],
  ],
  ['total', 'less than no active_cameras', set('active_cameras', -1), ['row total']],
  ['total', 'too many active_cameras', set('active_cameras', 32_001), ['row total']],
  ['total', 'more events than there can be', replaced('day', /"events":\d+/, '"events":10000000000001'), ['row total']],
  ['total', 'no row', deleted, ['row total']],
  ['cameras|0001', 'another camera', replaced('cameras', 'ridge-0', 'ridge-9'), ['total', 'minute 08:00']],
  ['cameras|0001', 'no row', deleted, ['row total']],
  ['stripes', '65 stripes', set('stripes', 65), ['number of stripes']],
  ['stripes', 'no stripe', set('stripes', 0), ['number of stripes']],
  ['stripes', 'one and a half stripes', set('stripes', 1.5), ['number of stripes']],
  ['stripes', 'no row', deleted, ['number of stripes']],
  ['hours', 'wrong t08', flipped('t08'), ['hour 08']],
  ['hours', 'wrong a08', set('a08', Uint8Array.of(0, 1)), ['hour 08']],
  ['hours', 'too many in a09', set('a09', Uint8Array.of(0, 255)), ['hour 09']],
  ['hours', 'more cameras than there can be in a09', set('a09', new Uint8Array(4_002)), ['row hours']],
  ['hours', 'hour 31', (row) => ({ ...row, t31: row['t08'], a31: row['a08'] }), ['row hours']],
  ['hours', 'no row', deleted, ['hour 08', 'hour 09']],
  ['hour|08', 'wrong t00', flipped('t00'), ['minute 08:00']],
  ['hour|08', 'wrong a00', set('a00', Uint8Array.of(0, 2)), ['minute 08:00']],
  ['hour|08', 'more events than there can be in t00', set('t00', MOST_EVENTS), ['row hour|08']],
  ['hour|08', 'no row', deleted, ['minute 08:00']],
  [SAMPLES, 'wrong s00', flipped('s00'), [SAMPLE, 'sample 08:00:00.000002 of ridge-0']],
  [SAMPLES, 'text in s00', set('s00', 'x'), ['row minute|0800|00', SAMPLE]],
  [SAMPLES, 'a camera beyond those that there can be in s00', set('s00', CAMERA_40000), ['row minute|0800|00', SAMPLE]],
  [SAMPLES, 'no s00', without('s00'), [SAMPLE]],
  [SAMPLES, 'samples in s01', (row) => ({ ...row, s01: row['s00'] }), ['sample 08:00:01.000000 of ridge-0']],
  [SAMPLES, 'no row', deleted, [SAMPLE]],
  [CAMERA, 'wrong day', replaced('day', /"reviewed":\d+/, '"reviewed":0'), ['camera ridge-0']],
  [CAMERA, 'wrong h08', replaced('h08', /"annotated":\d+/, '"annotated":0'), ['camera ridge-0 hour 08']],
  [CAMERA, 'wrong place', set('place', 9), ['row camera|ridge-0']],
  [CAMERA, 'a place below all', set('place', -1), ['row camera|ridge-0']],
  [CAMERA, 'a place between two', set('place', 0.5), ['row camera|ridge-0']],
  [CAMERA, 'no m08', without('m08'), ['camera ridge-0 minute 08:08']],
  [CAMERA, 'no row', deleted, ['camera ridge-0', 'camera ridge-0 hour 09', 'camera ridge-0 minute 08:00']],
];

/** The day, an hour with parts of minutes at its ends, whole minutes, and microseconds that only samples tell (f-8 of ridge-0). */
const PERIODS = [
  [0n, 1_440n * MINUTE - 1n],
  [480n * MINUTE - 1n, 540n * MINUTE + 1n],
  [485n * MINUTE, 488n * MINUTE],
  [480n * MINUTE, 480n * MINUTE + 5n],
  [488n * MINUTE, 488n * MINUTE + 5n],
] as const;

/** The answers, of all cameras and of one in each shard, that are not those of some messages. */
const wrongAnswers = async (table: MemoryTable, told: readonly PlainMessage[]): Promise<readonly unknown[]> => {
  const [oracle, process] = [new Oracle(told), new CountingProcess(table, 2)];
  const wrong: unknown[] = [];
  for (const [start, end] of PERIODS) {
    for (const cameraId of [undefined, 'ridge-0', 'ridge-3']) {
      const question = { start: START + start, end: START + end, ...(cameraId !== undefined && { cameraId }) };
      const [answer, right] = [await process.answer(question), oracle.answer(question)];
      if (!isDeepStrictEqual(answer, right)) wrong.push({ question, answer, right });
    }
  }
  return wrong;
};

const tableOf = (table: MemoryTable): Table => new Table(table, { format: FORMAT });

/** The counters that an audit names, which changes no row. */
const differing = async (table: MemoryTable): Promise<ReadonlySet<string>> => {
  const rowsOf = () => table.partitions().flatMap((partition) => table.rows(partition));
  const before = rowsOf();
  const { differences } = await auditDay(tableOf(table), DATE);
  expect(rowsOf()).toEqual(before);
  return new Set(differences.map(({ counter }) => counter));
};

/** Repairs the day. @returns what was said */
const repair = async (table: Table): Promise<string> => {
  const lines: string[] = [];
  const { differences } = await repairDay(table, await auditDay(table, DATE), {
    say: (line) => lines.push(line),
    pause: async () => undefined,
  });
  expect(differences).toEqual([]);
  return lines.join('\n');
};

/** As CloseDays does as its last step but one. */
const deleteEvents = async (memory: MemoryTable): Promise<void> => {
  for (const partition of [SHARD, `${DATE}_01`]) {
    const keys = memory.rows(partition).flatMap(({ rowKey }) => (rowKey.startsWith('event|') ? [rowKey] : []));
    await memory.transact(
      partition,
      keys.map((rowKey) => ({ kind: 'delete', rowKey })),
    );
  }
};

const QUIET = { say: () => undefined, pause: async () => undefined };

/** What an audit names for a damaged row: nothing that is in other rows, but for a `total`, which names what is in them. */
const COUNTERS_OF_ROW: Readonly<Record<string, RegExp>> = {
  hours: /^(hour 0[89]|row hours)$/,
  'hour|08': /^(minute 08:\d\d|row hour.08)$/,
  [SAMPLES]: /^(sample 08:00:0[01].00000[02] of ridge-0|row minute.0800.00)$/,
  [CAMERA]: /^(camera ridge-0( hour 0[89]| minute 0[89]:\d\d)?|row camera.ridge-0)$/,
};

/** The counters of the event f-0 of ridge-0, the first message. */
const COUNTERS_OF_EVENT: readonly string[] = [
  'total',
  'hour 08',
  'minute 08:00',
  SAMPLE,
  'camera ridge-0',
  'camera ridge-0 hour 08',
  'camera ridge-0 minute 08:00',
];

describe('the audit of a day', () => {
  it('finds nothing where nothing is wrong', async () => {
    const report = await auditDay(tableOf(await seeded()), DATE);
    expect(report).toMatchObject({ shards: 2, events: messages.length, closed: false, differences: [] });
    expect(report.byShard.map(({ shard }) => shard)).toEqual([0, 1]);
  });

  it.each(COUNTER_DAMAGES)('names %s with %s, and the repair puts it right', async (rowKey, _, damage, counters) => {
    const table = await seeded();
    await damageRow(table, SHARD, rowKey, damage);
    const named = await differing(table);
    expect(named.intersection(new Set(counters))).toEqual(new Set(counters));
    for (const counter of named) expect(counter).toMatch(COUNTERS_OF_ROW[rowKey] ?? /./);
    await repair(tableOf(table));
    expect(await wrongAnswers(table, messages)).toEqual([]);
    // The service goes on with what the repair left.
    expect(await new CountingProcess(table, 2).record(MORE)).toEqual(MORE.map(() => 'recorded'));
    expect(await differing(table)).toEqual(new Set());
  });

  it('names a minute with a camera that sent nothing in its hour, and not the hour', async () => {
    const table = new MemoryTable();
    await new CountingProcess(table, 1).record(messages.filter((_, at) => at === 0 || at === 61));
    await damageRow(table, SHARD, 'hour|08', set('a00', Uint8Array.of(0, 3)));
    expect(await differing(table)).toEqual(new Set(['minute 08:00']));
  });

  it('names an hour without a category of which nothing is counted; the repair adds it with 0', async () => {
    const table = await seeded();
    const [more] = messages.map((message) => ({ ...message, eventId: 'f-fog', detections: { fog: 0 } }));
    await new CountingProcess(table, 2).record(more ? [more] : []);
    await damageRow(table, SHARD, CAMERA, replaced('h08', ',"fog":[0,0,0]', ''));
    expect(await differing(table)).toEqual(new Set(['camera ridge-0 hour 08']));
    await repair(tableOf(table));
    expect((await table.get(SHARD, `${CAMERA} 01`, {}))?.properties['h08']).toContain('"fog":[0,0,0]');
  });

  it.each<readonly [what: string, damage: Damage, now: Partial<PlainMessage> | undefined]>([
    ['other detections', set('detections', '{"smoke":5}'), { detections: { smoke: 5 } }],
    ['another review', set('reviewed', false), { reviewed: false }],
    ['no annotations', without('annotations'), { annotations: {} }],
    ['no row', deleted, undefined],
  ])('names every counter of an event with %s, and the repair counts what is there', async (_, damage, now) => {
    const table = await seeded();
    await damageRow(table, SHARD, EVENT, damage);
    expect(await differing(table)).toEqual(new Set(COUNTERS_OF_EVENT));
    await repair(tableOf(table));
    const [first, ...others] = messages;
    expect(await wrongAnswers(table, first && now ? [{ ...first, ...now }, ...others] : others)).toEqual([]);
  });

  it.each<readonly [what: string, damage: Damage]>([
    ['broken detections', set('detections', '{"smoke":')],
    ['a ts_utc in another minute', set('ts_utc', '2026-11-21T08:01:00.000000Z')],
    ['a ts_utc on another day', set('ts_utc', '2026-11-22T08:00:00.000000Z')],
  ])('names an event with %s and its counters; the repair sets it aside and says what it held', async (_, damage) => {
    const table = await seeded();
    await damageRow(table, SHARD, EVENT, damage);
    const row = await table.get(SHARD, EVENT, {});
    expect(await differing(table)).toEqual(new Set([`row ${EVENT}`, ...COUNTERS_OF_EVENT]));
    expect(await repair(tableOf(table))).toContain(`set aside row ${EVENT} of shard 0, which held {"`);
    expect(await wrongAnswers(table, messages.slice(1))).toEqual([]);
    const copy = table.rows(SHARD).find(({ rowKey }) => /^damaged\|2\d{3}-.*\|event\|/.test(rowKey));
    expect(copy?.properties).toMatchObject(row ? copiedProperties(row) : {});
  });

  it.each<readonly [what: string, damage: Damage]>([
    ['too small', set('shards', 1)],
    ['too large', set('shards', 7)],
    ['damaged', set('shards', 'two')],
    ['gone', deleted],
  ])('names a number of shards that is %s; the repair finds the one that fits', async (_, damage) => {
    const table = await seeded();
    await damageRow(table, DATE, 'shards', damage);
    expect(await differing(table)).toContain('shards');
    await repair(tableOf(table));
    expect(await wrongAnswers(table, messages)).toEqual([]);
    expect(await new CountingProcess(table, 1).shards.find(DATE)).toBe(2);
  });

  it.each(['hour|24', 'minute|0860', 'camera|a|b', 'event|9959|ridge-0|f-0', 'hour|08 99', 'total 99'])(
    'names %s, a row that the service never writes; it is set aside',
    async (rowKey) => {
      const table = await seeded();
      const properties = { format: 1, day: '{}', ts_utc: '2026-11-21T08:00:00.000000Z' };
      await table.transact(SHARD, [{ kind: 'insert', rowKey, properties }]);
      expect(await differing(table)).toEqual(new Set([`row ${rowKey}`]));
      await repair(tableOf(table));
      expect(await wrongAnswers(table, messages)).toEqual([]);
    },
  );

  const copied: readonly (readonly [from: string, to: string, counter: string])[] = [
    ['hour|08', 'hour|23', 'minute 23:00'],
    ['minute|0800|00', 'minute|2301|00', 'sample 23:01:00.000000 of ridge-0'],
    // Of a stripe that the shard does not have: in the way of its first commit.
    ...['cameras|0001', 'hours', 'hour|08', 'minute|0800|00', CAMERA, 'total'].map(
      (rowKey) => [rowKey, `${rowKey} 01`, 'number of stripes'] as const,
    ),
  ];
  it.each(copied)('names what is in %s again, as %s; it is set aside', async (from, rowKey, counter) => {
    const table = await seeded();
    const row = await table.get(SHARD, from, {});
    await table.transact(SHARD, [{ kind: 'insert', rowKey, properties: row ? copiedProperties(row) : {} }]);
    expect(await differing(table)).toContain(counter);
    await repair(tableOf(table));
    expect(await wrongAnswers(table, messages)).toEqual([]);
    const instances = [new CountingProcess(table, 2), new CountingProcess(table, 2)];
    for (const [at, message] of MORE.entries()) await instances[at % 2]?.record([message]);
    expect(await wrongAnswers(table, [...messages, ...MORE])).toEqual([]);
  });

  it('names a camera that is in the wrong shard; the repair moves its events', async () => {
    const table = await seeded();
    const event = await table.get(SHARD, EVENT, {});
    await table.transact(`${DATE}_01`, [
      { kind: 'insert', rowKey: EVENT, properties: event ? copiedProperties(event) : {} },
    ]);
    await table.transact(SHARD, [{ kind: 'delete', rowKey: EVENT }]);
    expect(await differing(table)).toContain('shard of camera ridge-0');
    await repair(tableOf(table));
    expect(await wrongAnswers(table, messages)).toEqual([]);
  });

  it('throws a bug and does not report it as damage', async () => {
    const bug = {
      get: () => {
        throw new TypeError('a bug');
      },
    };
    class BuggyTable extends Table {
      override async *pages(...args: Parameters<Table['pages']>): AsyncGenerator<readonly StoredRow[]> {
        for await (const page of super.pages(...args)) {
          yield page.map((row) => Object.assign({}, row, { properties: new Proxy({}, bug) }));
        }
      }
    }
    const table = new BuggyTable(await seeded(), { format: FORMAT });
    await expect(auditDay(table, DATE)).rejects.toThrow(new TypeError('a bug'));
  });

  it('of rows of a later format does nothing', async () => {
    const table = await seeded();
    await damageRow(table, SHARD, CAMERA, set('format', 99));
    await expect(auditDay(tableOf(table), DATE)).rejects.toThrow(LaterFormat);
  });
});

const tally = (categories: string): string => `{"events":1,"reviewed":0,"annotated":0,"categories":${categories}}`;
const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);

/** What an audit names for a row that is not named by its key. */
const NAMED: Readonly<Record<string, string>> = {
  shards: 'shards',
  stripes: 'number of stripes',
  'cameras|0001': 'row total',
};

// An audit reads all of every row with the functions that recorders and readers use, and names each row that cannot be decoded.
it.each<readonly [rowKey: string, damages: readonly NewProperties[]]>([
  ['shards', [{ shards: '4' }, { shards: 0 }, { shards: 65 }, { shards: 2.5 }, { closes: 'soon' }]],
  ['stripes', [{ stripes: '2' }, { stripes: -1 }, { stripes: 65 }]],
  ['total', [{ active_cameras: 40 }, { active_cameras: '3' }, { stripes: '2' }, { n: 'one' }, { day: undefined }]],
  ['cameras|0001', [{ cameras_1: 5 }]],
  ['hours', [{ t08: 'AAA=' }, { a08: 5 }, { t08: undefined }, { a08: undefined }, { a08: bytes(2, 1) }]],
  // It ends too early, a count is too large, and so is an index.
  ['hours', [{ t08: bytes(1) }, { t08: bytes(...Array(9).fill(0xff)) }, { t08: bytes(2, 0xff, 0xff, 0xff, 1, 0) }]],
  // Text, the end of a sample is missing, one is there twice, none is in its second, and one is after its second.
  [SAMPLES, [{ s00: 'AAA=' }, { s00: bytes(5, 2) }, { s00: bytes(5, 2, 0, 0, 2, 0) }, { s01: bytes(1) }]],
  [SAMPLES, [{ s00: bytes(0xbf, 0x84, 0x3d, 2, 0, 2, 2, 0) }]],
  [CAMERA, [{ place: '12' }, { n: undefined }, { m08: 'AAA=' }, { m08: bytes(0) }, { m08: bytes(60, 0) }]],
  // Minutes out of order, and a category that the day lacks.
  [CAMERA, [{ m08: bytes(2, 0, 1, 0) }, { day: tally('{}') }, { h08: '{' }, { day: undefined }]],
  [CAMERA, ['[]', '{', tally('[]'), '{"events":1,"reviewed":0,"annotated":0}'].map((day) => ({ day }))],
  [CAMERA, ['{"fire":1}', '{"fire":[1,2]}', '{"fire":[1,2,0.5]}'].map((own) => ({ day: tally(own) }))],
  [CAMERA, ['"1"', '1.5'].map((events) => ({ day: tally('{}').replace('1', events) }))],
  [EVENT, [{ ts_utc: undefined }, { ts_utc: 'yesterday' }, { reviewed_time: undefined }, { reviewed: 'yes' }]],
  [EVENT, ['5', '{', '{"fire":"1"}', 5].map((detections) => ({ detections }))],
  [EVENT, ['{"fire":1.5}', '{"fire":-3}', '{"fire":10001}', '{"no name!":1}'].map((detections) => ({ detections }))],
  [EVENT, [{ detections_time: 'now' }, { annotations: 5 }, { annotations_time: undefined }]],
])('a damaged row is named, and nothing in it is guessed: %s %j', async (rowKey, damages) => {
  for (const damage of damages) {
    const table = await seeded();
    await damageRow(table, rowKey === 'shards' ? DATE : SHARD, rowKey, (row) => ({ ...row, ...damage }));
    expect(await differing(table), JSON.stringify(damage)).toContain(NAMED[rowKey] ?? `row ${rowKey}`);
  }
});

// An audit names a number of shards that does not fit as well.
it.each([0, 65, 2.5, '4'])('a day of %j shards is damage to those who look for them', async (shards) => {
  const table = await seeded();
  await damageRow(table, DATE, 'shards', set('shards', shards));
  expect(await damagedRowOf(new CountingProcess(table).shards.find(DATE))).toEqual([DATE, 'shards']);
});

describe('a repair', () => {
  it('of samples in a stripe in which their camera has no row leaves every question with its answer', async () => {
    const table = await seeded();
    await damageRow(table, SHARD, 'hour|08', deleted);
    await damageRow(table, SHARD, CAMERA, set('day', '{'));
    await damageRow(table, SHARD, 'minute|0800|00', set('s00', 'x'));
    await damageRow(table, SHARD, 'total', replaced('day', /"events":\d+/, '"events":7'));
    await repair(tableOf(table));
    expect(await wrongAnswers(table, messages)).toEqual([]);
  });

  it('adds nothing twice: what another repair has added since its audit is not added again', async () => {
    const table = await seeded();
    const [lines, say] = [new Array<string>(), (line: string) => lines.push(line)];
    for (const count of ['"events":7', '"events":8']) {
      await damageRow(table, SHARD, 'total', replaced('day', /"events":\d+/, count));
      const audited = await auditDay(tableOf(table), DATE);
      for (let times = 1; times <= 2; times += 1) await repairDay(tableOf(table), audited, { say });
    }
    const [added, again] = ['put 1 counter of shard 0 right', 'storage or another writer came between: reading again'];
    expect(lines).toEqual([added, again, added, again]);
    expect(await wrongAnswers(table, messages)).toEqual([]);
  });

  it('stays right when an instance goes on that remembers the total as it was before the damage', async () => {
    const table = await seeded();
    const running = new CountingProcess(table, 2);
    await running.record(MORE.slice(0, 8));
    await damageRow(table, SHARD, 'total', replaced('day', /"events":\d+/, '"events":7'));
    await repair(tableOf(table));
    await running.record(MORE);
    expect(await differing(table)).toEqual(new Set());
    expect(await wrongAnswers(table, [...messages, ...MORE])).toEqual([]);
  });

  it('goes on while others write between each of many tries to set a row aside', async () => {
    const storage = new InterposedTable();
    const writer = new CountingProcess(storage, 1);
    await writer.record(messages);
    await damageRow(storage, SHARD, CAMERA, set('day', '{'));
    const others = MORE.slice(0, 60).filter(({ cameraId }) => cameraId !== 'ridge-0');
    storage.turn = async ({ kind, rowKeys }) => {
      if (kind !== 'transact' || !rowKeys.some((rowKey) => rowKey.startsWith('damaged|'))) return;
      const next = others.pop();
      if (next !== undefined) await writer.record([next]);
    };
    await repair(tableOf(storage));
    expect(others).toEqual([]);
    expect(await differing(storage)).toEqual(new Set());
  });

  it('says before what it will do', async () => {
    const table = await seeded();
    await damageRow(table, SHARD, EVENT, set('detections', '{'));
    await damageRow(table, SHARD, CAMERA, set('day', 1));
    await damageRow(table, `${DATE}_01`, 'cameras|0001', deleted);
    const steps = stepsOf(await auditDay(tableOf(table), DATE));
    expect(steps).toContain(`shard 00: set aside row ${EVENT}: what it contributed leaves the counters`);
    expect(steps).toContain(`shard 00: set aside row ${CAMERA}, and count anew what it held`);
    expect(steps).toContain('shard 00: add to hour 08 what the event rows have more or less');
    expect(steps).toContain(
      'shard 01: set aside row total and all others of its stripe, and count anew what they held',
    );
  });

  it('sets a row aside again that was written again, and an event row only as it was found', async () => {
    const table = await seeded();
    const moved: string[] = [];
    const aside = async (rowKey: string, etag?: string): Promise<void> =>
      setAside(
        {
          table: tableOf(table),
          partition: SHARD,
          lease: new RepairLease(tableOf(table), { day: DATE, isUnlisted: false }),
        },
        new Map([[rowKey, etag]]),
        (rows) => moved.push(...rows.map((row) => row.rowKey)),
      );
    for (let times = 1; times <= 2; times += 1) {
      await table.transact(SHARD, [{ kind: 'insert', rowKey: 'camera|x', properties: {} }]);
      await aside('camera|x');
    }
    const found = await table.get(SHARD, EVENT, {});
    await damageRow(table, SHARD, EVENT, set('reviewed', false));
    await aside(EVENT, found?.etag);
    expect(moved).toEqual(['camera|x', 'camera|x']);
  });

  const CLOSED = set('closes', '2001-01-01T00:00:00.000000Z');

  it.each<readonly [what: string, manifest: Damage, index: Damage]>([
    ['closed', CLOSED, (row) => row],
    ['closed, and not said by a damaged manifest', set('shards', 'two'), deleted],
    ['closed, and not said by the manifest', (row) => row, deleted],
    ['closed, and of fewer shards by its manifest', set('shards', 1), deleted],
    ['closed, and has lost its manifest', deleted, deleted],
  ])('refuses counters of a day that is %s, also after its audit; only its manifest is put right', async (...rows) => {
    const [, manifest, index] = rows;
    const memory = await seeded();
    const table = tableOf(memory);
    await damageRow(memory, SHARD, 'total', replaced('day', /"events":\d+/, '"events":7'));
    const audited = await auditDay(table, DATE);
    await damageRow(memory, DATE, 'shards', manifest);
    await damageRow(memory, OPEN_DAYS_PARTITION, DATE, index);
    await deleteEvents(memory);
    const before = memory.rows(SHARD);
    await expect(repairDay(table, audited, QUIET)).rejects.toThrow(NotRepairable);
    const closed = await auditDay(table, DATE);
    expect(closed.closed).toBe(true);
    expect(closed.differences.map(({ counter }) => counter)).toContain('total');
    await expect(repairDay(table, closed, QUIET)).rejects.toThrow(NotRepairable);
    expect(memory.rows(SHARD)).toEqual(before);
    const manifestAfter = memory.rows(DATE).find(({ rowKey }) => rowKey === 'shards')?.properties;
    expect(manifestAfter).toMatchObject({ shards: 2, closes: expect.stringMatching(/^20/) });
    const late = await new CountingProcess(memory, 1).record(messages.slice(0, 1));
    expect(late).toEqual([{ code: 'day_closed', refused: 'the day of data.ts_utc is closed: its counts are final' }]);
  });

  it('brings a manifest back that was lost after the closing was announced, with its moment, and nobody opens the day again', async () => {
    const memory = await seeded();
    const table = tableOf(memory);
    const { closes } = await new CountingProcess(memory, 2).shards.close(DATE);
    await damageRow(memory, DATE, 'shards', deleted);
    const process = new CountingProcess(memory, 1);
    await expect(process.record(messages)).rejects.toThrow('it is missing, and the day has rows');
    await repair(table);
    expect(await process.shards.claim(DATE)).toMatchObject({ shards: 2, closes });
  });

  it('refuses a day whose closing is announced, also after its audit, and changes nothing', async () => {
    const memory = await seeded();
    const table = tableOf(memory);
    await damageRow(memory, SHARD, 'total', set('day', '{'));
    const audited = await auditDay(table, DATE);
    await new CountingProcess(memory, 2).shards.close(DATE);
    const before = memory.rows(SHARD);
    for (const report of [audited, await auditDay(table, DATE)]) {
      await expect(repairDay(table, report, QUIET)).rejects.toThrow('closing');
    }
    expect(memory.rows(SHARD)).toEqual(before);
  });

  it('keeps the day from being closed until it has finished, also if it is stopped at any request', async () => {
    let [stopped, isFinished] = [0, false];
    const wrong: string[] = [];
    const damaged = new MemoryTable();
    await new CountingProcess(damaged, 2).record(messages.slice(0, 8));
    await damageRow(damaged, SHARD, 'total', set('day', '{'));
    const audited = await auditDay(tableOf(damaged), DATE);
    while (!isFinished) {
      stopped += 1;
      const memory = damaged.copyTo(new InterposedTable());
      let left = stopped;
      memory.turn = async () => {
        left -= 1;
        if (left < 0) throw new Error('stopped');
      };
      isFinished = await repairDay(tableOf(memory), audited, QUIET).then(
        () => true,
        () => false,
      );
      memory.turn = async () => undefined;
      const { shards } = new CountingProcess(memory, 2);
      const isClosed = await shards.close(DATE).then(
        () => true,
        () => false,
      );
      const hasBegun = memory.rows(SHARD).some(({ rowKey }) => rowKey.startsWith('damaged|'));
      if (isClosed && hasBegun) wrong.push(`closed after it was stopped at request ${stopped}`);
      if (!isFinished && !isClosed) await repair(tableOf(memory));
      const [open] = memory.rows(OPEN_DAYS_PARTITION);
      if (open?.properties['is_repairing'] === true) wrong.push(`no end after it was stopped at request ${stopped}`);
    }
    expect(wrong).toEqual([]);
    expect(stopped, 'requests of a repair').toBeGreaterThan(20);
  });

  it.each([30_000, 30_001])('goes on when %i ms of the 90 s of its lease have passed, or sends nothing', async (ms) => {
    const storage = new MemoryStorage();
    let now = Date.now();
    storage.now = () => now;
    await storage.process().record(messages.slice(0, 1));
    const lease = new RepairLease(tableOf(storage.connection), { day: DATE, isUnlisted: false });
    const transact = storage.connection.transact.bind(storage.connection);
    vi.spyOn(storage.connection, 'transact').mockImplementation(async (...args) => {
      now += ms;
      return transact(...args);
    });
    const renewed = await lease.renew().then(
      () => true,
      (error: unknown) => !(error instanceof StorageTrouble),
    );
    expect(renewed).toBe(ms === 30_000);
  });

  it('makes a day open again that has lost its row of open days, if its event rows account for its samples', async () => {
    const memory = await seeded();
    await damageRow(memory, OPEN_DAYS_PARTITION, DATE, deleted);
    expect(await differing(memory)).toEqual(new Set(['index of open days']));
    await repair(tableOf(memory));
    expect(memory.rows(OPEN_DAYS_PARTITION).map(({ rowKey }) => rowKey)).toEqual([DATE]);
    expect(await wrongAnswers(memory, messages)).toEqual([]);
  });

  it('finds a day that lost its manifest and all its event rows', async () => {
    const memory = await seeded();
    await damageRow(memory, DATE, 'shards', deleted);
    await deleteEvents(memory);
    expect(await differing(memory)).toContain('shards');
    await expect(new CountingProcess(memory, 1).record(messages)).rejects.toThrow('the day has rows');
  });

  it('keeps all of a row that it sets aside, also if its key is too long for the new one', async () => {
    const table = await seeded();
    const properties = { format: FORMAT, text: 'x', bytes: Uint8Array.of(1, 2) };
    // The third is nearly a key that is kept whole, and the fourth just is.
    const keys = [
      `minute|0860|${'x'.repeat(500)}`,
      `camera|${'🔥'.repeat(250)}`,
      `camera|${'x'.repeat(394)}`,
      `camera|${'y'.repeat(393)}`,
    ];
    for (const rowKey of keys) await table.transact(SHARD, [{ kind: 'insert', rowKey, properties }]);
    await repair(tableOf(table));
    const whole = table.rows(SHARD).flatMap(({ rowKey, properties: { timestamp, [WHOLE_KEY]: wholeKey, ...own } }) => {
      if (!rowKey.startsWith('damaged|')) return [];
      expect([rowKey.isWellFormed(), own, timestamp]).toEqual([true, properties, expect.any(String)]);
      return [typeof wholeKey === 'string' ? wholeKey : rowKey.split('|').slice(2).join('|')];
    });
    expect(whole.sort()).toEqual([...keys].sort());
  });
});
