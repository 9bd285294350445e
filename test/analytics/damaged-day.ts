import { dayOf } from '../../src/analytics/model/day.ts';
import { instantFrom } from '../../src/analytics/model/instant.ts';
import { ANY_VERSION, copiedProperties } from '../../src/storage/row.ts';
import { MemoryTable } from '../storage/memory-table.ts';
import { CountingProcess } from './counting.ts';
import type { PlainMessage } from './oracle.ts';

// A small day in two shards whose rows are damaged one by one.

/** The first microsecond of the day, and the day. */
export const MIDNIGHT = BigInt(Date.parse('2026-03-14T00:00:00Z')) * 1_000n;
export const DAY = dayOf(instantFrom(MIDNIGHT));

/** A minute in microseconds. */
export const MINUTE = 60_000_000n;

/** With two shards ridge-0 is in shard 00. */
export const SHARD = `${DAY}_00`;

/** A frame a minute from 08:00 to 09:19, of eight cameras in turn. */
export const messages: readonly PlainMessage[] = Array.from({ length: 80 }, (_, at) => {
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

/** ridge-0 sends f-0 at 08:00, reviewed and annotated, and f-8 at 08:08. */
export const EVENT = 'event|0800|ridge-0|f-0';
export const CAMERA = 'camera|ridge-0';

const recordDay = async (): Promise<MemoryTable> => {
  const table = new MemoryTable();
  await new CountingProcess(table, 2).record(messages);
  return table;
};

let recorded: Promise<MemoryTable> | undefined;

/** A table in memory with the day, for one test. */
export const seeded = async (): Promise<MemoryTable> => (await (recorded ??= recordDay())).copy();

/** The properties and keys of a row. */
export type Row = Readonly<Record<string, unknown>>;
/** Changes a row; undefined: deletes it. */
export type Damage = (row: Row) => Row | undefined;

const textOf = (value: unknown): string => {
  if (typeof value !== 'string') throw new Error('there is no such text');
  return value;
};
const bytesOf = (value: unknown): Uint8Array => {
  if (!(value instanceof Uint8Array)) throw new Error('there are no such bytes');
  return value;
};

/** The row is gone. */
export const deleted: Damage = () => undefined;
/** A property has another value. */
export const set =
  (property: string, value: unknown): Damage =>
  (row) => ({ ...row, [property]: value });
/** A property is missing. */
export const without =
  (property: string): Damage =>
  (row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => name !== property));
/** A part of a text is another one. */
export const replaced =
  (property: string, from: string | RegExp, to: string): Damage =>
  (row) => ({ ...row, [property]: textOf(row[property]).replace(from, to) });
/** A bit of the first byte is flipped. */
export const flipped =
  (property: string): Damage =>
  (row) => ({ ...row, [property]: bytesOf(row[property]).map((byte, at) => (at === 0 ? byte ^ 2 : byte)) });
/** The last byte is missing. */
export const cut =
  (property: string): Damage =>
  (row) => ({ ...row, [property]: bytesOf(row[property]).slice(0, -1) });

/** Damages a stored row. */
export const damageRow = async (
  table: MemoryTable,
  partitionKey: string,
  rowKey: string,
  damage: Damage,
): Promise<void> => {
  const row = await table.get(partitionKey, rowKey, {});
  if (row === undefined) throw new Error(`there is no row ${rowKey}`);
  const properties = damage(copiedProperties(row));
  await table.transact(partitionKey, [
    properties === undefined
      ? { kind: 'delete', rowKey }
      : { kind: 'replace', rowKey, etag: ANY_VERSION, properties: copiedProperties({ ...row, properties }) },
  ]);
};

/** Damage of a counter row of the first shard: what is wrong with it, and counters that an audit names for it. */
export interface CounterDamage {
  readonly rowKey: string;
  readonly what: string;
  readonly damage: Damage;
  /** Of a minute row all of them; of other rows there may be more. */
  readonly counters: readonly string[];
}

const damaged = (rowKey: string, what: string, damage: Damage, ...counters: readonly string[]): CounterDamage => ({
  rowKey,
  what,
  damage,
  counters,
});

/** Every kind of damage to every kind of counter row. */
export const COUNTER_DAMAGES: readonly CounterDamage[] = [
  damaged('total', 'wrong day', replaced('day', /"events":\d+/, '"events":7'), 'total'),
  damaged('total', 'another category', replaced('day', '"smoke":', '"smog":'), 'total'),
  damaged('total', 'broken day', set('day', '{'), 'row total'),
  damaged('total', 'no day', without('day'), 'row total'),
  damaged('total', 'wrong n', set('n', 0), 'row total'),
  damaged('total', 'wrong active_cameras', set('active_cameras', 1), 'row total'),
  damaged('total', 'no row', deleted, 'row total'),
  damaged('cameras|0001', 'another camera', replaced('cameras', 'ridge-0', 'ridge-9'), 'total', 'minute 08:00'),
  damaged('cameras|0001', 'no row', deleted, 'row total'),
  damaged('stripes', 'no row', deleted, 'number of stripes'),
  damaged('stripes', 'not a number', set('stripes', 'one'), 'number of stripes'),
  damaged('hours', 'wrong t08', flipped('t08'), 'hour 08'),
  damaged('hours', 'cut t08', cut('t08'), 'hour 08'),
  damaged('hours', 'no t08', without('t08'), 'row hours'),
  damaged('hours', 'text in t08', set('t08', 'x'), 'row hours'),
  damaged('hours', 'wrong a08', set('a08', Uint8Array.of(0, 1)), 'hour 08'),
  damaged('hours', 'too many in a09', set('a09', Uint8Array.of(0, 255)), 'hour 09'),
  damaged('hours', 'hour 31', (row) => ({ ...row, t31: row['t08'], a31: row['a08'] }), 'row hours'),
  damaged('hours', 'no row', deleted, 'hour 08', 'hour 09', 'hour 08'),
  damaged('hour|08', 'wrong t00', flipped('t00'), 'minute 08:00'),
  damaged('hour|08', 'cut t00', cut('t00'), 'minute 08:00'),
  damaged('hour|08', 'no t00', without('t00'), 'row hour|08'),
  damaged('hour|08', 'wrong a00', set('a00', Uint8Array.of(0, 2)), 'minute 08:00'),
  damaged('hour|08', 'no row', deleted, 'minute 08:00', 'minute 08:00'),
  damaged(
    'minute|0800|00',
    'wrong s00',
    flipped('s00'),
    'sample 08:00:00.000000 of ridge-0',
    'sample 08:00:00.000002 of ridge-0',
  ),
  damaged('minute|0800|00', 'cut s00', cut('s00'), 'row minute|0800|00', 'sample 08:00:00.000000 of ridge-0'),
  damaged('minute|0800|00', 'no s00', without('s00'), 'sample 08:00:00.000000 of ridge-0'),
  damaged('minute|0800|00', 'text in s00', set('s00', 'x'), 'row minute|0800|00', 'sample 08:00:00.000000 of ridge-0'),
  damaged(
    'minute|0800|00',
    'samples in s01',
    (row) => ({ ...row, s01: row['s00'] }),
    'sample 08:00:01.000000 of ridge-0',
  ),
  damaged('minute|0800|00', 'no row', deleted, 'sample 08:00:00.000000 of ridge-0'),
  damaged(CAMERA, 'wrong day', replaced('day', /"reviewed":\d+/, '"reviewed":0'), 'camera ridge-0'),
  damaged(CAMERA, 'number in day', set('day', 1), 'row camera|ridge-0'),
  damaged(CAMERA, 'wrong h08', replaced('h08', /"annotated":\d+/, '"annotated":0'), 'camera ridge-0 hour 08'),
  damaged(CAMERA, 'wrong place', set('place', 9), 'row camera|ridge-0'),
  damaged(CAMERA, 'cut m08', cut('m08'), 'row camera|ridge-0'),
  damaged(CAMERA, 'empty m08', set('m08', new Uint8Array()), 'camera ridge-0 minute 08:00'),
  damaged(CAMERA, 'no m08', without('m08'), 'camera ridge-0 minute 08:08'),
  damaged(CAMERA, 'no row', deleted, 'camera ridge-0', 'camera ridge-0 hour 09', 'camera ridge-0 minute 08:00'),
];

/** What damages the manifest of the day. */
export const MANIFEST_DAMAGES: readonly (readonly [what: string, damage: Damage])[] = [
  ['too small', set('shards', 1)],
  ['too large', set('shards', 7)],
  ['damaged', set('shards', 'two')],
  ['gone', deleted],
];

/** Keys of rows that the service never writes. */
export const STRAY_KEYS: readonly string[] = [
  'hour|24',
  'minute|0860',
  'minute|9',
  'camera|a|b',
  'event|9959|ridge-0|f-0',
  'hour|08 99',
  'total 99',
];
