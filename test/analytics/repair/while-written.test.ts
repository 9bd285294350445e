import { describe, expect, it } from 'vitest';

import { auditDay } from '../../../src/analytics/audit/audit.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import type { CountingProcess, CountingStorage } from '../counting.ts';
import type { PlainMessage } from '../oracle.ts';
import { CAMERA, damageRow, DAY, deleted, messages, seeded, SHARD } from '../damaged-day.ts';
import { repaired, wrongAnswers } from './repaired-day.ts';

/** What instances recorded until they were told to stop. */
interface Trickle {
  readonly stop: () => Promise<readonly PlainMessage[]>;
}

/** After so many messages another instance starts, which makes one of the others move to another stripe. */
const MESSAGES_AN_INSTANCE = 4;

/**
 * Until it is told to stop, sends 20 messages a second: edits of events and frames of new cameras in turn, from two instances in
 * turn, one of which is replaced now and then. So cameras and stripes appear all the time.
 */
const trickleInto = (storage: CountingStorage): Trickle => {
  const stop = new AbortController();
  const told: PlainMessage[] = [];
  let instances: readonly CountingProcess[] = [storage.process(2), storage.process(2)];
  const work = async (): Promise<void> => {
    for (let at = 0; !stop.signal.aborted; at += 1) {
      if (at % MESSAGES_AN_INSTANCE === 0) instances = [...instances.slice(1), storage.process(2)];
      const event = messages[(at >> 1) % messages.length];
      if (event === undefined) throw new Error('no messages');
      const { reviewed: _, annotations: __, detections: ___, ...identity } = event;
      const message: PlainMessage =
        at % 2 === 0
          ? { ...identity, time: event.time + 10n + BigInt(at), annotations: { fire: at % 5 }, reviewed: at % 4 === 0 }
          : { ...identity, cameraId: `new-${at}`, eventId: `new-${at}`, detections: { smoke: 1, fog: at % 3 } };
      const recording = instances[at % instances.length]?.record([message]);
      await Promise.all([recording, new Promise((resolve) => void setTimeout(resolve, 50))]);
      told.push(message);
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

/** How many stripes and active cameras the shards of the day have, added up. */
const sizesOf = async (storage: CountingStorage): Promise<{ readonly stripes: number; readonly cameras: number }> => {
  let [stripes, cameras] = [0, 0];
  for await (const { rowKey = '', active_cameras: active } of storage.client().listEntities()) {
    if (!/^total( |$)/.test(rowKey)) continue;
    stripes += 1;
    cameras += Number(active);
  }
  return { stripes, cameras };
};

describe('a day that is written to 20 times a second, also by new instances and for new cameras', () => {
  it('gets a verdict, and no counter is reported that is right', async () => {
    const storage = await seeded();
    const trickle = trickleInto(storage);
    const { table } = storage.process(2);
    let grown = 0;
    for (let audits = 0; audits < 3; audits += 1) {
      const before = await sizesOf(storage);
      expect((await auditDay(table, new DayShards(table, 1), DAY)).differences).toEqual([]);
      const after = await sizesOf(storage);
      if (after.stripes > before.stripes && after.cameras > before.cameras) grown += 1;
    }
    expect((await trickle.stop()).length).toBeGreaterThan(10);
    expect(grown, 'stripes and cameras appear during an audit').toBeGreaterThan(0);
  }, 120_000);

  it('has its damage named, and is repaired: nothing is lost and nothing counted twice', async () => {
    const storage = await seeded();
    const trickle = trickleInto(storage);
    await damageRow(storage, SHARD, 'minute|0800|00', deleted);
    await damageRow(storage, SHARD, CAMERA, deleted);
    await damageRow(storage, `${DAY}_01`, 'hours', (row) => ({ ...row, t09: row['t08'] }));
    const before = await sizesOf(storage);
    await repaired(storage.process(2).table);
    const after = await sizesOf(storage);
    const told = await trickle.stop();
    expect(after.stripes).toBeGreaterThan(before.stripes);
    expect(after.cameras).toBeGreaterThan(before.cameras);
    expect(await storage.process(2).differences(DAY)).toEqual([]);
    expect(await wrongAnswers(storage.process(2), [...messages, ...told])).toEqual([]);
  }, 120_000);
});
