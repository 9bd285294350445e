import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { auditDay, AuditUnsettled, type AuditReport } from '../../../src/analytics/audit/audit.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import { Recorder } from '../../../src/analytics/record/recorder.ts';
import { DayShards } from '../../../src/analytics/rows/day-shards.ts';
import { shardPartition, TOTAL_KEY } from '../../../src/analytics/rows/keys.ts';
import { toEventMessage } from '../counting.ts';
import { DAY, type PlainMessage } from '../oracle.ts';
import { MemoryStorage, MemoryTable } from '../stripes/memory-storage.ts';
import { oneAtATime } from '../stripes/one-at-a-time.ts';

const START = 20_778n * DAY;
const EIGHT = START + 480n * 60_000_000n;
const DATE = dayOf(instantFrom(START));
const PARTITION = shardPartition(DATE, 0);
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Few events in two minutes and another hour, of cameras of which most are new. */
const message: fc.Arbitrary<PlainMessage> = fc
  .record({
    camera: fc.nat(7),
    after: fc.constantFrom(0n, 40n, 60n, 7_200n),
    time: fc.integer({ min: 1, max: 5 }),
  })
  .map(({ camera, after, time }): PlainMessage => {
    const event = { cameraId: `ridge-${camera}`, eventId: 'f', ts: EIGHT + after * 1_000_000n };
    const detections = { smoke: time, [`c${time}`]: 1 };
    const review = time % 2 === 0 ? { reviewed: true, annotations: { fire: time } } : {};
    return Object.assign(event, { time: START + BigInt(time), detections }, review);
  });

/** How many stripes and camera rows there are. */
const sizesOf = (storage: MemoryStorage): { readonly stripes: number; readonly cameras: number } => {
  const keys = storage.rows(PARTITION).map(({ rowKey }) => rowKey);
  return {
    stripes: keys.filter((key) => key === TOTAL_KEY || key.startsWith(`${TOTAL_KEY} `)).length,
    cameras: keys.filter((key) => key.startsWith('camera|')).length,
  };
};

describe('an audit that is interleaved at every request with instances that record', () => {
  it('reports no counter that is right, also where cameras and stripes appear meanwhile', async () => {
    let [newStripes, newCameras] = [0, 0];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(message, { minLength: 2, maxLength: 6 }), { minLength: 2, maxLength: 4 }),
        fc.scheduler(),
        async (writers, scheduler) => {
          const storage = new MemoryStorage();
          let running = false;
          const turn = async (request: string): Promise<void> => {
            if (running) await scheduler.schedule(Promise.resolve(), request);
          };
          const recorders = writers.map(() => {
            const table = new MemoryTable(storage, turn);
            return new Recorder(table, new DayShards(table, 1), SILENT, { pause: async () => turn('pause') });
          });
          // Each instance knows the shard before the audit begins, so that they meet in stripe 0 during it.
          for (const [index, recorder] of recorders.entries()) {
            await recorder.record((writers[index] ?? []).slice(0, 1).map(toEventMessage));
          }
          running = true;
          let before: ReturnType<typeof sizesOf> | undefined;
          const table = new MemoryTable(storage, async (request) => {
            await turn(request);
            // The scan begins: the rows of the hours were read.
            if (request.startsWith('page event|')) before ??= sizesOf(storage);
          });
          const auditing = auditDay(table, new DayShards(table, 1), DATE).finally(() => {
            const after = sizesOf(storage);
            if (after.stripes > (before?.stripes ?? 0)) newStripes += 1;
            if (after.cameras > (before?.cameras ?? 0)) newCameras += 1;
          });
          const writing = recorders.map(async (recorder, index) => {
            for (const one of (writers[index] ?? []).slice(1)) await recorder.record([toEventMessage(one)]);
          });
          const [report] = await scheduler.waitFor(Promise.all([auditing, ...writing]), oneAtATime);
          expect(report.differences).toEqual([]);
          running = false;
        },
      ),
      { numRuns: 200, interruptAfterTimeLimit: 8_000 },
    );
    expect(newStripes, 'stripes appear during the scan').toBeGreaterThan(5);
    expect(newCameras, 'cameras appear during the scan').toBeGreaterThan(5);
  }, 40_000);
});

const oneMore = (index: number): PlainMessage => ({
  cameraId: 'ridge-0',
  eventId: `more-${index}`,
  ts: EIGHT,
  time: START,
  detections: { smoke: 1 },
});

/** Audits a minute to which an event is added at each of so many reads of its events; returns how many were added. */
const auditWhileAdding = async (
  most: number,
): Promise<{ readonly auditing: Promise<AuditReport>; added: () => number }> => {
  const storage = new MemoryStorage();
  const writer = new MemoryTable(storage, async () => undefined);
  const recorder = new Recorder(writer, new DayShards(writer, 1), SILENT);
  await recorder.record([toEventMessage(oneMore(0))]);
  let added = 0;
  const table = new MemoryTable(storage, async (request) => {
    if (!request.startsWith('page event|') || added >= most) return;
    added += 1;
    await recorder.record([toEventMessage(oneMore(added))]);
  });
  return { auditing: auditDay(table, new DayShards(table, 1), DATE), added: () => added };
};

describe('an audit of a minute', () => {
  it('that is written to during every read of its events fails with AuditUnsettled', async () => {
    const { auditing, added } = await auditWhileAdding(Infinity);
    await expect(auditing).rejects.toThrow(AuditUnsettled);
    expect(added()).toBeGreaterThan(40);
  });

  it('that is written to during a few reads of its events reads it again', async () => {
    const { auditing, added } = await auditWhileAdding(3);
    expect(await auditing).toMatchObject({ differences: [] });
    expect(added()).toBe(3);
  });
});
