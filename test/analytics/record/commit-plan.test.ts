import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MAX_CAMERA_CATEGORIES } from '../../../src/analytics/model/camera-event.ts';
import { MAX_CAMERAS_PER_SHARD } from '../../../src/analytics/rows/bitset.ts';
import { minutesOf } from '../../../src/analytics/rows/camera-row.ts';
import type { HourRow } from '../../../src/analytics/rows/hour-rows.ts';
import {
  eventKey,
  hourKey,
  HOURS_KEY,
  minuteKey,
  parseCameraKey,
  TOTAL_KEY,
} from '../../../src/analytics/rows/keys.ts';
import { samplesOf } from '../../../src/analytics/rows/minute-row.ts';
import { MAX_TALLY_CATEGORIES } from '../../../src/analytics/rows/properties.ts';
import { EMPTY_CAMERA_LIST, withCameras, EMPTY_TOTAL, type TotalRow } from '../../../src/analytics/rows/total-row.ts';
import { keyed } from '../../../src/analytics/record/batch.ts';
import { planCommit, type CommitPlan } from '../../../src/analytics/record/commit-plan.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import { StaleSnapshot } from '../../../src/analytics/errors.ts';
import { ActivitySum } from '../../../src/analytics/read/activity-sum.ts';
import {
  counterRow,
  type KnownRow,
  type ShardRow,
  type ShardSnapshot,
} from '../../../src/analytics/record/shard-snapshot.ts';
import { EMPTY_TALLY, sameTally, sumOf } from '../../../src/analytics/model/tally.ts';
import { plainAnswer } from '../counting.ts';
import { toEventMessage } from '../event-message.ts';
import { DAY, Oracle, type PlainMessage } from '../oracle.ts';

const START = 20_778n * DAY;
const NOTHING: ShardSnapshot = {
  partition: '2026-11-21_00',
  stripe: 0,
  rows: new Map(),
  fence: undefined,
  elsewhere: new Map(),
};

/** The snapshot after a plan is applied; `round` makes its versions differ. */
const applied = (snapshot: ShardSnapshot, plan: CommitPlan, round: number): ShardSnapshot => ({
  ...snapshot,
  rows: new Map([
    ...snapshot.rows,
    ...[...plan.rows].map(([key, row]): [string, KnownRow] => [key, { ...row, etag: `W/"${round}"` }]),
  ]),
});

/** The snapshot with another row. */
const withRow = (snapshot: ShardSnapshot, key: string, row: ShardRow): ShardSnapshot => ({
  ...snapshot,
  rows: new Map(snapshot.rows).set(key, { ...row, etag: 'e' }),
});

const totalIn = (snapshot: ShardSnapshot): TotalRow => counterRow(snapshot, TOTAL_KEY, 'total')?.value ?? EMPTY_TOTAL;
const totalOf = (plan: CommitPlan): TotalRow => totalIn(applied(NOTHING, plan, 0));

const message = (more: Partial<PlainMessage> = {}): PlainMessage => ({
  eventId: 'f-1',
  cameraId: 'ridge-04',
  ts: START + 495n * 60_000_000n,
  time: START,
  ...more,
});

const plan = (snapshot: ShardSnapshot, ...messages: readonly PlainMessage[]): CommitPlan =>
  planCommit(
    snapshot,
    messages.map((one) => keyed(toEventMessage(one))),
  );

const named = (count: number, prefix = 'c'): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 1]));

describe('a first message about an event', () => {
  it('inserts the event, its camera, its minute and hour, and the total, the total first', () => {
    const { outcomes, writes } = plan(NOTHING, message({ detections: { smoke: 1 } }));
    expect(outcomes).toEqual(['recorded']);
    expect(writes.map(({ kind, rowKey }) => [kind, rowKey])).toEqual([
      ['insert', 'total'],
      ['insert', 'cameras|0001'],
      ['insert', 'hours'],
      ['insert', 'hour|08'],
      ['insert', 'minute|0815|00'],
      ['insert', 'camera|ridge-04'],
      ['insert', 'stripes'],
      ['insert', 'event|0815|ridge-04|f-1'],
    ]);
  });

  it('counts it once, also where it has no facets', () => {
    const first = plan(NOTHING, message());
    expect(totalOf(first).tally).toEqual({ ...EMPTY_TALLY, events: 1 });
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
      ['minute|0815|00', 'merge', 'W/"1"'],
      ['camera|ridge-04', 'merge', 'W/"1"'],
      ['event|0815|ridge-04|f-1', 'replace', 'W/"1"'],
    ]);
  });

  it('applies only the difference, and takes counts down again; the category stays with 0', () => {
    const edited = plan(before, message({ time: START + 1n, annotations: { dust: 1 }, reviewed: true }));
    expect(totalOf(edited).tally).toEqual({
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
    expect(plainAnswer(totalOf(undone).tally, [])).toMatchObject({
      total_events: 1,
      reviewed_total_events: 0,
      annotated_total_events: 0,
      annotated_counts_per_category: {},
    });
  });

  it('that is older than the stored facets changes nothing', () => {
    const { outcomes, writes } = plan(before, message({ time: START - 1n, detections: { smoke: 9 }, annotations: {} }));
    expect([outcomes, writes]).toEqual([['unchanged'], []]);
  });

  it('that counts the same is still stored: its time decides what is older', () => {
    const { outcomes, writes } = plan(before, message({ time: START + 1n, detections: { smoke: 2 } }));
    expect(outcomes).toEqual(['recorded']);
    expect(writes.find(({ rowKey }) => rowKey.startsWith('event'))?.properties['detections_time']).toBe(
      '2026-11-21T00:00:00.000001Z',
    );
  });
});

describe('messages of one transaction', () => {
  it('about one event are folded: each row is written once', () => {
    const folded = plan(
      NOTHING,
      message({ time: START + 2n, annotations: { fire: 1 } }),
      message({ time: START + 1n, annotations: { smoke: 5 } }),
      message({ time: START + 1n, detections: { smoke: 1 } }),
      message({ time: START + 2n, annotations: { fire: 1 } }),
    );
    expect(folded.outcomes).toEqual(['recorded', 'unchanged', 'recorded', 'unchanged']);
    expect(folded.writes).toHaveLength(8);
    expect(totalOf(folded).tally).toMatchObject({ events: 1, annotated: 1 });
  });

  it('never write a row twice, and all counters equal an independent count', () => {
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
        let snapshot = NOTHING;
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
          const next = plan(snapshot, ...batch);
          expect(next.outcomes).toHaveLength(batch.length);
          const keys = next.writes.map(({ rowKey }) => rowKey);
          expect(new Set(keys).size).toBe(keys.length);
          snapshot = applied(snapshot, next, index + 1);
          batch = [];
        }
        const total = totalIn(snapshot);
        expect(plainAnswer(total.tally, [...total.cameras.ids].sort())).toEqual(
          oracle.answer({ start: START, end: START + DAY - 1n }),
        );
        const names = { stripe: 0, categories: [...total.tally.categories.keys()], ids: total.cameras.ids };
        const sumIn = (): ActivitySum => new ActivitySum(snapshot.partition, [names]);
        const [hours, minutes, samples] = [sumIn(), sumIn(), sumIn()];
        for (const [key, row] of snapshot.rows) {
          if (row.kind === 'buckets') {
            const sum = key === HOURS_KEY ? hours : minutes;
            for (const bucket of row.value.values()) sum.addBucket(0, bucket);
          }
          if (row.kind !== 'samples') continue;
          for (const sample of samplesOf(row.value, 0, 59_999_999) ?? []) samples.addSample(0, sample);
        }
        for (const sum of [hours, minutes, samples]) {
          expect(sameTally(sum.tally(), total.tally)).toBe(true);
          expect([...sum.cameras()].sort()).toEqual(total.cameras.ids.toSorted());
        }
        for (const [key, row] of snapshot.rows) {
          if (row.kind !== 'camera') continue;
          const [cameraId, { value }] = [parseCameraKey(key), row];
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

  it('of one camera do not write the row of another', () => {
    const before = applied(NOTHING, plan(NOTHING, message(), message({ cameraId: 'ridge-05' })), 1);
    const { writes } = plan(before, message({ cameraId: 'ridge-05', eventId: 'f-2' }));
    expect(writes.map(({ rowKey }) => rowKey)).toEqual([
      'total',
      HOURS_KEY,
      hourKey(8),
      minuteKey(495, 0),
      'camera|ridge-05',
      'event|0815|ridge-05|f-2',
    ]);
  });
});

/** Buckets 8 and 15 with tallies that end too early. */
const CUT_BUCKETS: HourRow = new Map(
  [8, 15].map((number) => [number, { tally: Uint8Array.of(1), active: Uint8Array.of(1) }]),
);

const thrownBy = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return error;
  }
};

const refused = (said: string) => ({ refused: expect.stringContaining(said) });

describe('a message that can never be recorded', () => {
  it('is one whose event was first reported with another time', () => {
    const before = applied(NOTHING, plan(NOTHING, message()), 1);
    const { outcomes, writes } = plan(
      before,
      message({ ts: message().ts + 1n, reviewed: true }),
      message({ eventId: 'f-2' }),
    );
    expect(outcomes).toEqual([refused('data.ts_utc'), 'recorded']);
    expect(writes.map(({ rowKey }) => rowKey)).not.toContain(eventKey(495, 'ridge-04', 'f-1'));
  });

  it(`has category ${MAX_CAMERA_CATEGORIES + 1} of a camera in one day, counted before or in the same transaction`, () => {
    const full = applied(NOTHING, plan(NOTHING, message({ detections: named(MAX_CAMERA_CATEGORIES) })), 1);
    const next = plan(
      full,
      message({ eventId: 'f-2', annotations: { more: 1 } }),
      message({ eventId: 'f-3', annotations: { c0: 1, c63: 1 } }),
      message({ cameraId: 'ridge-05', detections: { more: 1 } }),
    );
    expect(next.outcomes).toEqual([refused('64 categories'), 'recorded', 'recorded']);
    expect(totalOf(next).tally.events).toBe(3);
    const together = plan(
      NOTHING,
      message({ eventId: 'f-1', detections: named(60) }),
      message({ eventId: 'f-2', annotations: named(5, 'd') }),
      message({ eventId: 'f-3', annotations: named(4, 'd') }),
    );
    expect(together.outcomes).toEqual(['recorded', refused('64 categories'), 'recorded']);
  });

  it(`has category ${MAX_TALLY_CATEGORIES + 1} of a shard's day`, () => {
    const categories = new Map(
      Object.entries(named(MAX_TALLY_CATEGORIES - 1)).map(([name]) => [
        name,
        { detections: 1, reviewed: 0, annotations: 0 },
      ]),
    );
    const total = { ...EMPTY_TOTAL, tally: { ...EMPTY_TALLY, categories } };
    const { outcomes } = plan(
      withRow(NOTHING, TOTAL_KEY, { kind: 'total', value: total }),
      message({ cameraId: 'a', detections: { x: 1 } }),
      message({ cameraId: 'b', detections: { y: 1 } }),
      message({ cameraId: 'c', detections: { x: 1, c5: 1 } }),
    );
    expect(outcomes).toEqual(['recorded', refused(`${MAX_TALLY_CATEGORIES} categories`), 'recorded']);
  });

  it(`is of camera ${MAX_CAMERAS_PER_SHARD + 1} of a shard's day`, () => {
    const cameras = withCameras(
      EMPTY_CAMERA_LIST,
      Array.from({ length: MAX_CAMERAS_PER_SHARD - 1 }, (_, index) => `k${index}`),
    );
    const total = { ...EMPTY_TOTAL, cameras };
    const { outcomes } = plan(
      withRow(NOTHING, TOTAL_KEY, { kind: 'total', value: total }),
      message({ cameraId: 'a' }),
      message({ cameraId: 'b' }),
      message({ cameraId: 'a', eventId: 'f-2' }),
      message({ cameraId: 'k5' }),
    );
    expect(outcomes).toEqual(['recorded', refused('cameras'), 'recorded', 'recorded']);
  });

  it('changes no counter', () => {
    const { writes, rows } = plan(NOTHING, message({ detections: named(MAX_CAMERA_CATEGORIES + 1) }));
    expect([writes, rows.size]).toEqual([[], 0]);
  });
});

describe('rows that do not fit together', () => {
  const before = applied(NOTHING, plan(NOTHING, message({ detections: { smoke: 1, fire: 1 } })), 1);

  it('are stale where a bucket has a category that the total lacks: another process wrote in between', () => {
    const total = totalIn(before);
    const older = new Map([...total.tally.categories].slice(0, 1));
    const value = { ...total, tally: { ...total.tally, categories: older } };
    const stale = withRow(before, TOTAL_KEY, { kind: 'total', value });
    expect(() => plan(stale, message({ eventId: 'f-2' }))).toThrow(StaleSnapshot);
  });

  it.each<[string, ShardRow]>([
    [HOURS_KEY, { kind: 'buckets', value: CUT_BUCKETS }],
    [hourKey(8), { kind: 'buckets', value: CUT_BUCKETS }],
    [minuteKey(495, 0), { kind: 'samples', value: new Map([[0, Uint8Array.of(5)]]) }],
  ])('name the damaged row where its bytes cannot be decoded: %s', (rowKey, damaged) => {
    const error: unknown = thrownBy(() => plan(withRow(before, rowKey, damaged), message({ eventId: 'f-2' })));
    expect(error).toBeInstanceOf(DamagedRow);
    expect(error).toMatchObject({ partitionKey: before.partition, rowKey });
  });

  it('name the damaged row of a camera whose minutes cannot be decoded', () => {
    const camera = counterRow(before, 'camera|ridge-04', 'camera');
    if (camera === undefined) throw new Error('there is no camera');
    const hours = new Map([[8, { tally: EMPTY_TALLY, minutes: Uint8Array.of(15, 3) }]]);
    const damaged = withRow(before, 'camera|ridge-04', { ...camera, value: { ...camera.value, hours } });
    const error: unknown = thrownBy(() => plan(damaged, message({ eventId: 'f-2' })));
    expect(error).toBeInstanceOf(DamagedRow);
    expect(error).toMatchObject({ partitionKey: before.partition, rowKey: 'camera|ridge-04' });
  });
});

describe('a commit to another stripe', () => {
  const stored = applied(NOTHING, plan(NOTHING, message({ detections: { smoke: 2 } })), 1);
  const events = new Map([...stored.rows].filter(([, { kind }]) => kind === 'event'));
  const fence = { etag: 'f', stripes: 1, closed: false };
  const elsewhere = { ...NOTHING, stripe: 1, rows: events, fence };

  it('has rows of its own, announces the stripe, and passes the fence at the version that was read', () => {
    const { writes } = plan(elsewhere, message({ time: START + 1n, reviewed: true }));
    expect(writes.map((write) => [write.rowKey, write.kind === 'insert' ? 'insert' : write.etag])).toEqual([
      ['total 01', 'insert'],
      ['cameras|0001 01', 'insert'],
      ['hours 01', 'insert'],
      ['hour|08 01', 'insert'],
      ['minute|0815|00 01', 'insert'],
      ['camera|ridge-04 01', 'insert'],
      ['total', '*'],
      ['stripes', 'f'],
      ['event|0815|ridge-04|f-1', 'W/"1"'],
    ]);
    const announced = writes.filter(({ rowKey }) => rowKey === 'total' || rowKey === 'stripes');
    expect(announced.map(({ properties }) => properties)).toEqual([{ stripes: 2 }, { stripes: 2 }]);
  });

  it('takes the difference: counts may be below zero there', () => {
    const next = plan(elsewhere, message({ time: START + 1n, detections: { fire: 1 } }));
    const total = counterRow(applied(elsewhere, next, 2), TOTAL_KEY, 'total')?.value;
    expect(total?.tally.events).toBe(0);
    expect(total?.tally.categories.get('smoke')?.detections).toBe(-2);
    expect(total?.tally.categories.get('fire')?.detections).toBe(1);
  });

  it('writes the number of the commit into every counter row that it touches', () => {
    const first = plan(NOTHING, message());
    const second = plan(applied(NOTHING, first, 1), message({ eventId: 'f-2' }));
    const numbers = [first, second].map(({ writes }) =>
      writes.filter(({ rowKey }) => !/^(event|stripes)/.test(rowKey)).map(({ properties }) => properties['n']),
    );
    expect(numbers.map((own) => new Set(own))).toEqual([new Set([1]), new Set([2])]);
  });

  it('counts the categories that the camera has in the other stripes', () => {
    const full = {
      ...elsewhere,
      elsewhere: new Map([['ridge-04', new Set(Object.keys(named(MAX_CAMERA_CATEGORIES)))]]),
    };
    const { outcomes } = plan(full, message({ eventId: 'f-2', detections: { more: 1 } }));
    expect(outcomes).toEqual([refused('64 categories')]);
  });
});

describe('the known categories', () => {
  const known = new Set(['fire', 'smoke']);
  const planKnowing = (snapshot: ShardSnapshot, ...messages: readonly PlainMessage[]): CommitPlan =>
    planCommit(
      snapshot,
      messages.map((one) => keyed(toEventMessage(one))),
      known,
    );

  it('are never refused on a camera, also where 64 others took all room', () => {
    const { outcomes } = planKnowing(
      NOTHING,
      message({ detections: named(MAX_CAMERA_CATEGORIES) }),
      message({ eventId: 'f-2', detections: { more: 1 } }),
      message({ eventId: 'f-3', detections: { fire: 1 }, annotations: { smoke: 1 } }),
    );
    expect(outcomes).toEqual(['recorded', refused('64 categories'), 'recorded']);
  });

  it('always find room in a shard, also where others took it before they were known', () => {
    const before = applied(NOTHING, plan(NOTHING), 0);
    const categories = new Map(
      Object.entries(named(MAX_TALLY_CATEGORIES)).map(([name]) => [
        name,
        { detections: 1, reviewed: 0, annotations: 0 },
      ]),
    );
    const full = withRow(before, TOTAL_KEY, {
      kind: 'total',
      value: { ...EMPTY_TOTAL, tally: { ...EMPTY_TALLY, categories } },
    });
    const { outcomes } = planKnowing(
      full,
      message({ detections: { fire: 1 } }),
      message({ eventId: 'f-2', detections: { more: 1 } }),
    );
    expect(outcomes).toEqual(['recorded', refused(`${MAX_TALLY_CATEGORIES} categories`)]);
  });
});
