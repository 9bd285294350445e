import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { AzureTable } from '../../../src/storage/azure-table.ts';
import { describe, expect, it } from 'vitest';

import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { CamerasReader } from '../../../src/analytics/read/cameras.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { CountingStorage } from '../counting.ts';
import { damage, damagedRowOf } from '../damage.ts';
import { DAY, type PlainMessage } from '../oracle.ts';
import { WatchedTable } from '../watched-table.ts';

const START = 20_778n * DAY;
const DATE = dayOf(instantFrom(START));

const messages = Array.from({ length: 40 }, (_, index): PlainMessage => {
  const ts = START + BigInt(index) * 1_800_000_000n;
  return { cameraId: `ridge-${index % 7}`, eventId: `f-${index}`, ts, time: ts, detections: { smoke: 1 } };
});

/** Keeps the names of the properties that were read. */
class NamingTable extends WatchedTable {
  readonly names = new Set<string>();

  override async page(...args: Parameters<WatchedTable['page']>): ReturnType<WatchedTable['page']> {
    const page = await super.page(...args);
    for (const { properties } of page.rows) for (const name of Object.keys(properties)) this.names.add(name);
    return page;
  }
}

describe('the cameras of a day', () => {
  it.each([1, 3])('are read with one query for each of %i shards, without their hours and minutes', async (shards) => {
    const storage = new CountingStorage();
    await storage.process(shards).record(messages);
    const table = new NamingTable(new AzureTable(() => storage.client()), { format: FORMAT });
    const cameras = await new CamerasReader(table, new DayShards(table, 1)).ofDays(DATE, 1);

    expect(cameras.map(({ cameraId, tally }) => `${cameraId}: ${tally.events}`).toSorted()).toEqual(
      ['6', '6', '6', '6', '6', '5', '5'].map((events, index) => `ridge-${index}: ${events}`),
    );
    expect([table.queries, table.rows]).toEqual([shards, 1]);
    expect([...table.names].filter((name) => /^[hm]\d\d/.test(name))).toEqual([]);
    expect([...table.names]).toEqual(expect.arrayContaining(['day', 'place']));
  });

  it('are not answered where the row of one is damaged', async () => {
    const storage = new CountingStorage();
    await storage.process().record(messages);
    await damage(storage, `${DATE}_00`, 'camera|ridge-3', { day: 5 });

    expect(await damagedRowOf(storage.process().cameras.ofDays(DATE, 1))).toEqual([`${DATE}_00`, 'camera|ridge-3']);
  });
});
