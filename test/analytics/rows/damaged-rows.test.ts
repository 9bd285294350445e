import { beforeAll, expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { ANY_VERSION, copiedProperties, type NewProperties } from '../../../src/storage/row.ts';
import { Table } from '../../../src/storage/table.ts';
import { MemoryTable } from '../../storage/memory-table.ts';
import { all, CountingProcess, DATE, frame, SHARD, START } from '../counting.ts';

const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);
const tally = (categoriesText: string): string =>
  `{"events":1,"reviewed":0,"annotated":0,"categories":${categoriesText}}`;

const EVENT = 'event|0800|ridge-0|f';
const CAMERA = 'camera|ridge-0';
const [SAMPLES, EIGHT] = ['minute|0800|00', START + 8n * 3_600_000_000n];

const sound = new MemoryTable();
beforeAll(async () =>
  new CountingProcess(sound).record(
    all(3).map((index) => frame(`ridge-${index}`, 'f', EIGHT, { reviewed: true, annotations: { smoke: 1 } })),
  ),
);

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
  ['total', [{ active_cameras: 4 }, { active_cameras: '3' }, { stripes: '2' }, { n: 'one' }, { day: '{' }]],
  ['total', [{ day: undefined }]],
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
  const partition = rowKey === 'shards' ? DATE : SHARD;
  const row = await sound.get(partition, rowKey, { exact: true });
  for (const damage of damages) {
    const table = sound.copy();
    const properties = { ...(row && copiedProperties(row)), ...damage };
    await table.transact(partition, [{ kind: 'replace', rowKey, etag: ANY_VERSION, properties }]);
    const { differences } = await auditDay(new Table(table, { format: FORMAT }), DATE);
    expect(
      differences.map(({ counter }) => counter),
      JSON.stringify(damage),
    ).toContain(NAMED[rowKey] ?? `row ${rowKey}`);
  }
});
