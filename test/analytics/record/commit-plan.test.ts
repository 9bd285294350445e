import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { EventMessage } from '../../../src/analytics/model/camera-event.ts';
import { EMPTY_CAMERA_LIST, MAX_CAMERAS_PER_SHARD, withCameras } from '../../../src/analytics/rows/camera-list.ts';
import { MAX_CAMERA_CATEGORIES, minutesOf } from '../../../src/analytics/rows/camera-row.ts';
import { planCommit, type CommitPlan } from '../../../src/analytics/record/commit-plan.ts';
import { eventKey, hourKey, HOURS_KEY, minuteKey } from '../../../src/analytics/rows/keys.ts';
import { momentsOf } from '../../../src/analytics/rows/minute-row.ts';
import { ShardSum } from '../../../src/analytics/read/shard-sum.ts';
import type { ShardView } from '../../../src/analytics/record/shard-snapshot.ts';
import { MAX_TALLY_CATEGORIES } from '../../../src/analytics/rows/tally-text.ts';
import { EMPTY_TALLY, sameTally, sumOf } from '../../../src/analytics/model/tally.ts';
import { EMPTY_TOTAL } from '../../../src/analytics/rows/total-row.ts';
import { plainAnswer, toEventMessage } from '../counting.ts';
import { DAY, Oracle, type PlainMessage } from '../oracle.ts';

const START = 20_778n * DAY;
const ALL_HOURS: ReadonlySet<number> = new Set(Array.from({ length: 24 }, (_, hour) => hour));
const NOTHING: ShardView = {
  total: undefined,
  hours: undefined,
  minutes: new Map(),
  moments: new Map(),
  cameras: new Map(),
  events: new Map(),
};

/** What a process knows once a plan is applied; `round` tells versions apart. */
const applied = (view: ShardView, plan: CommitPlan, round: number): ShardView => {
  if (plan.writes.length === 0) return view;
  const etag = `W/"${round}"`;
  return {
    total: { ...plan.total, etag, listEtags: [] },
    hours: { etag, value: plan.hours },
    minutes: new Map([...view.minutes, ...[...plan.minutes].map(([hour, value]) => [hour, { etag, value }] as const)]),
    moments: new Map([...view.moments, ...[...plan.moments].map(([at, value]) => [at, { etag, value }] as const)]),
    cameras: new Map([
      ...view.cameras,
      ...[...plan.cameras].map(([id, value]) => [id, { etag, value, known: ALL_HOURS }] as const),
    ]),
    events: new Map([...view.events, ...[...plan.events].map(([key, value]) => [key, { etag, value }] as const)]),
  };
};

const message = (more: Partial<PlainMessage> = {}): PlainMessage => ({
  eventId: 'f-1',
  cameraId: 'ridge-04',
  ts: START + 495n * 60_000_000n,
  time: START,
  ...more,
});

const plan = (view: ShardView, ...messages: readonly PlainMessage[]): CommitPlan =>
  planCommit(view, messages.map(toEventMessage));

const named = (count: number, prefix = 'c'): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 1]));

describe('a first message about an event', () => {
  it('inserts the event, its camera, its minute and hour, and the total, the total first', () => {
    const { outcomes, writes } = plan(NOTHING, message({ detections: { smoke: 1 } }));
    expect(outcomes).toEqual(['recorded']);
    expect(writes.map(({ kind, rowKey }) => [kind, rowKey])).toEqual([
      ['insert', 'total'],
      ['insert', 'hours'],
      ['insert', 'hour|08'],
      ['insert', 'minute|0815'],
      ['insert', 'camera|ridge-04'],
      ['insert', 'event|0815|ridge-04|f-1'],
    ]);
  });

  it('counts it once, also where it says nothing but that the event exists', () => {
    const first = plan(NOTHING, message());
    expect(first.total.tally).toEqual({ ...EMPTY_TALLY, events: 1 });
    const again = plan(applied(NOTHING, first, 1), message());
    expect([again.outcomes, again.writes]).toEqual([['unchanged'], []]);
  });
});

describe('an edit', () => {
  const before = applied(NOTHING, plan(NOTHING, message({ detections: { smoke: 2 }, annotations: { fire: 3 } })), 1);

  it('updates each row at the version that was read', () => {
    const { writes } = plan(before, message({ time: START + 1n, reviewed: true }));
    expect(writes.map((write) => [write.rowKey, write.kind, write.kind === 'insert' ? '' : write.etag])).toEqual([
      ['total', 'merge', 'W/"1"'],
      ['hours', 'merge', 'W/"1"'],
      ['hour|08', 'merge', 'W/"1"'],
      ['minute|0815', 'merge', 'W/"1"'],
      ['camera|ridge-04', 'merge', 'W/"1"'],
      ['event|0815|ridge-04|f-1', 'replace', 'W/"1"'],
    ]);
  });

  it('applies only the difference, and takes counts down again; the category stays with 0', () => {
    const edited = plan(before, message({ time: START + 1n, annotations: { dust: 1 }, reviewed: true }));
    expect(edited.total.tally).toEqual({
      events: 1,
      reviewed: 1,
      annotated: 1,
      categories: new Map([
        ['smoke', { detections: 2, reviewed: 0, annotations: 0 }],
        ['fire', { detections: 0, reviewed: 0, annotations: 0 }],
        ['dust', { detections: 0, reviewed: 1, annotations: 1 }],
      ]),
    });
    const undone = plan(applied(before, edited, 2), message({ time: START + 2n, annotations: {}, reviewed: false }));
    expect(plainAnswer(undone.total.tally, [])).toMatchObject({
      total_events: 1,
      reviewed_total_events: 0,
      annotated_total_events: 0,
      annotated_counts_per_category: {},
    });
  });

  it('that is older than what is known changes nothing', () => {
    const { outcomes, writes } = plan(before, message({ time: START - 1n, detections: { smoke: 9 }, annotations: {} }));
    expect([outcomes, writes]).toEqual([['unchanged'], []]);
  });

  it('that counts the same is still kept: its time decides what is older', () => {
    const { outcomes, writes } = plan(before, message({ time: START + 1n, detections: { smoke: 2 } }));
    expect(outcomes).toEqual(['recorded']);
    expect(writes.find(({ rowKey }) => rowKey.startsWith('event'))?.properties['detections_time']).toBe(
      '2026-11-21T00:00:00.000001Z',
    );
  });
});

describe('messages of one transaction', () => {
  it('about one event are folded: each row is written once', () => {
    const { outcomes, writes, total } = plan(
      NOTHING,
      message({ time: START + 2n, annotations: { fire: 1 } }),
      message({ time: START + 1n, annotations: { smoke: 5 } }),
      message({ time: START + 1n, detections: { smoke: 1 } }),
      message({ time: START + 2n, annotations: { fire: 1 } }),
    );
    expect(outcomes).toEqual(['recorded', 'unchanged', 'recorded', 'unchanged']);
    expect(writes).toHaveLength(6);
    expect(total.tally).toMatchObject({ events: 1, annotated: 1 });
  });

  it('never write a row twice, whatever they are, and all counters come out as an independent count', () => {
    const some = fc.array(
      fc.record({
        batch: fc.boolean(),
        cameraId: fc.constantFrom('a', 'b', 'c|d'),
        eventId: fc.constantFrom('1', '2', '3'),
        minute: fc.constantFrom(0, 1, 59, 60, 1_439),
        time: fc.integer({ min: 0, max: 5 }),
        detections: fc.option(fc.dictionary(fc.constantFrom('fire', 'smoke'), fc.nat(3), { noNullPrototype: true }), {
          nil: undefined,
        }),
        reviewed: fc.option(fc.boolean(), { nil: undefined }),
        annotations: fc.option(fc.dictionary(fc.constantFrom('fire', 'fog'), fc.nat(3), { noNullPrototype: true }), {
          nil: undefined,
        }),
      }),
      { minLength: 1, maxLength: 30 },
    );
    fc.assert(
      fc.property(some, (given) => {
        const oracle = new Oracle();
        let view = NOTHING;
        let batch: PlainMessage[] = [];
        for (const [
          index,
          { batch: ends, cameraId, eventId, minute, time, detections, reviewed, annotations },
        ] of given.entries()) {
          const told: PlainMessage = {
            cameraId,
            eventId,
            ts: START + BigInt(minute) * 60_000_000n,
            time: START + BigInt(time),
            ...(detections && { detections }),
            ...(reviewed !== undefined && { reviewed }),
            ...(annotations && { annotations }),
          };
          oracle.tell(told);
          batch.push(told);
          if (!ends && index < given.length - 1) continue;
          const next = plan(view, ...batch);
          expect(next.outcomes).toHaveLength(batch.length);
          const keys = next.writes.map(({ rowKey }) => rowKey);
          expect(new Set(keys).size).toBe(keys.length);
          view = applied(view, next, index + 1);
          batch = [];
        }
        const total = view.total ?? EMPTY_TOTAL;
        expect(plainAnswer(total.tally, [...total.cameras.ids].sort())).toEqual(
          oracle.answer({ start: START, end: START + DAY - 1n }),
        );
        const [hours, minutes, moments] = [new ShardSum(), new ShardSum(), new ShardSum()];
        for (const bucket of view.hours?.value.values() ?? []) hours.addBucket(bucket);
        for (const { value } of view.minutes.values()) for (const bucket of value.values()) minutes.addBucket(bucket);
        for (const { value } of view.moments.values()) {
          for (const moment of momentsOf(value, 0, 59_999_999) ?? []) moments.addMoment(moment);
        }
        for (const sum of [hours, minutes, moments]) {
          const tally = sum.tally([...total.tally.categories.keys()]);
          expect(tally !== undefined && sameTally(tally, total.tally)).toBe(true);
          expect(sum.cameras(total.cameras.ids)?.toSorted()).toEqual(total.cameras.ids.toSorted());
        }
        for (const [cameraId, { value }] of view.cameras) {
          const question = { start: START, end: START + DAY - 1n, cameraId };
          expect(plainAnswer(value.tally, [cameraId])).toEqual(oracle.answer(question));
          expect(
            sameTally(
              sumOf([...value.hours.keys()].flatMap((hour) => Array.from(minutesOf(value, hour).values()))),
              value.tally,
            ),
          ).toBe(true);
        }
      }),
    );
  });

  it('of one camera leave the row of another alone', () => {
    const before = applied(NOTHING, plan(NOTHING, message(), message({ cameraId: 'ridge-05' })), 1);
    const { writes } = plan(before, message({ cameraId: 'ridge-05', eventId: 'f-2' }));
    expect(writes.map(({ rowKey }) => rowKey)).toEqual([
      'total',
      HOURS_KEY,
      hourKey(8),
      minuteKey(495),
      'camera|ridge-05',
      'event|0815|ridge-05|f-2',
    ]);
  });
});

const refused = (said: string) => ({ refused: expect.stringContaining(said) });

describe('what can never be taken', () => {
  it('is a message about an event with another time than it was first reported with', () => {
    const before = applied(NOTHING, plan(NOTHING, message()), 1);
    const { outcomes, writes } = plan(
      before,
      message({ ts: message().ts + 1n, reviewed: true }),
      message({ eventId: 'f-2' }),
    );
    expect(outcomes).toEqual([refused('data.ts_utc'), 'recorded']);
    expect(writes.map(({ rowKey }) => rowKey)).not.toContain(eventKey(495, 'ridge-04', 'f-1'));
  });

  it(`is the category after the ${MAX_CAMERA_CATEGORIES}th of a camera in one day, seen before or in the same transaction`, () => {
    const full = applied(NOTHING, plan(NOTHING, message({ detections: named(MAX_CAMERA_CATEGORIES) })), 1);
    const { outcomes, total } = plan(
      full,
      message({ eventId: 'f-2', annotations: { more: 1 } }),
      message({ eventId: 'f-3', annotations: { c0: 1, c63: 1 } }),
      message({ cameraId: 'ridge-05', detections: { more: 1 } }),
    );
    expect(outcomes).toEqual([refused('64 categories'), 'recorded', 'recorded']);
    expect(total.tally.events).toBe(3);
    const together = plan(
      NOTHING,
      message({ eventId: 'f-1', detections: named(60) }),
      message({ eventId: 'f-2', annotations: named(5, 'd') }),
      message({ eventId: 'f-3', annotations: named(4, 'd') }),
    );
    expect(together.outcomes).toEqual(['recorded', refused('64 categories'), 'recorded']);
  });

  it(`is the category after the ${MAX_TALLY_CATEGORIES}th of a shard's day`, () => {
    const categories = new Map(
      Object.entries(named(MAX_TALLY_CATEGORIES - 1)).map(([name]) => [
        name,
        { detections: 1, reviewed: 0, annotations: 0 },
      ]),
    );
    const total = { ...EMPTY_TOTAL, tally: { ...EMPTY_TALLY, categories }, etag: 'e', listEtags: [] };
    const { outcomes } = plan(
      { ...NOTHING, total },
      message({ cameraId: 'a', detections: { x: 1 } }),
      message({ cameraId: 'b', detections: { y: 1 } }),
      message({ cameraId: 'c', detections: { x: 1, c5: 1 } }),
    );
    expect(outcomes).toEqual(['recorded', refused(`${MAX_TALLY_CATEGORIES} categories`), 'recorded']);
  });

  it(`is the camera after the ${MAX_CAMERAS_PER_SHARD}th of a shard's day`, () => {
    const cameras = withCameras(
      EMPTY_CAMERA_LIST,
      Array.from({ length: MAX_CAMERAS_PER_SHARD - 1 }, (_, index) => `k${index}`),
    );
    const total = { ...EMPTY_TOTAL, cameras, etag: 'e', listEtags: Array.from({ length: 9 }, () => 'e') };
    const { outcomes } = plan(
      { ...NOTHING, total },
      message({ cameraId: 'a' }),
      message({ cameraId: 'b' }),
      message({ cameraId: 'a', eventId: 'f-2' }),
      message({ cameraId: 'k5' }),
    );
    expect(outcomes).toEqual(['recorded', refused('cameras'), 'recorded', 'recorded']);
  });

  it('takes nothing of what it would have counted', () => {
    const refusedOnly: readonly EventMessage[] = [
      toEventMessage(message({ detections: named(MAX_CAMERA_CATEGORIES + 1) })),
    ];
    const { writes, total, events } = planCommit(NOTHING, refusedOnly);
    expect([writes, total, events.size]).toEqual([[], EMPTY_TOTAL, 0]);
  });
});
