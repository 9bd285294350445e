import assert from 'node:assert/strict';

import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';

import { formatInstant, instantFrom, parseInstant } from '../../../src/analytics/model/instant.ts';
import { STEPS, type Step } from '../../../src/analytics/model/steps.ts';
import { DAY, Oracle, type PlainAnswer, type Question } from '../../analytics/oracle.ts';
import { COUNTS } from '../../http/counts.ts';
import { CAMERAS, DATES, dayOfDate, season } from './season.ts';
import { startWatch, type Watch } from './watch.ts';

const seriesSchema = z.strictObject({
  ts_utc_start: z.string(),
  ts_utc_end: z.string(),
  step: z.enum(STEPS),
  camera_id: z.string().optional(),
  steps: z.array(
    z.strictObject({ ts_utc_start: z.string(), ts_utc_end: z.string(), active_cameras: z.number(), ...COUNTS }),
  ),
});
type Counts = Omit<PlainAnswer, 'active_camera_ids'>;

const NOTHING: Counts = {
  total_events: 0,
  counts_per_category: {},
  reviewed_total_events: 0,
  reviewed_counts_per_category: {},
  annotated_total_events: 0,
  annotated_counts_per_category: {},
};

const FACTS = ['counts_per_category', 'reviewed_counts_per_category', 'annotated_counts_per_category'] as const;

const added = (one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    [...Object.keys(one), ...Object.keys(other)]
      .map((category) => [category, ofCategory(one, category) + ofCategory(other, category)] as const)
      .filter(([, count]) => count !== 0),
  );

const ofCategory = (of: Readonly<Record<string, number>>, category: string): number =>
  Object.hasOwn(of, category) ? (of[category] ?? 0) : 0;

/** Adds up counts, without the categories of which there is nothing. */
const plus = (one: Counts, other: Counts): Counts => ({
  total_events: one.total_events + other.total_events,
  reviewed_total_events: one.reviewed_total_events + other.reviewed_total_events,
  annotated_total_events: one.annotated_total_events + other.annotated_total_events,
  counts_per_category: added(one.counts_per_category, other.counts_per_category),
  reviewed_counts_per_category: added(one.reviewed_counts_per_category, other.reviewed_counts_per_category),
  annotated_counts_per_category: added(one.annotated_counts_per_category, other.annotated_counts_per_category),
});

const text = (instant: bigint): string => formatInstant(instantFrom(instant));

const microseconds = (iso: string): bigint => {
  const instant = parseInstant(iso);
  assert.ok(instant !== undefined, iso);
  return instant;
};

const ask = async (watch: Watch, { start, end, cameraId }: Question, step: Step) => {
  const query = new URLSearchParams({ ts_utc_start: text(start), ts_utc_end: text(end), step });
  if (cameraId !== undefined) query.set('camera_id', cameraId);
  const { status, body } = await watch.request(`/api/analytics/series?${query.toString()}`);
  assert.equal(status, 200, body);
  return seriesSchema.parse(JSON.parse(body));
};

const [firstDay, lastDay] = [dayOfDate(DATES[0]), dayOfDate('2024-03-01')];

/** Instants of the season's days and around them, often on a boundary or a microsecond beside it. */
const instants = fc
  .record({
    into: fc.bigInt({ min: -DAY / 2n, max: 3n * DAY + DAY / 2n }),
    unit: fc.constantFrom(1n, 60_000_000n, 3_600_000_000n, DAY),
    beside: fc.constantFrom(-1n, 0n, 1n),
  })
  .map(({ into, unit, beside }) => firstDay.start + into - (into % unit) + beside);

const questions = fc
  .tuple(
    instants,
    // Minutes of more than a day would be more than there may be.
    fc.oneof(fc.bigInt({ min: 0n, max: DAY }), fc.bigInt({ min: 0n, max: 3n * DAY })),
    fc.option(fc.constantFrom(...CAMERAS, 'unknown'), { nil: undefined }),
    fc.constantFrom(...STEPS),
  )
  .map(([start, length, cameraId, step]): readonly [Question, Step] => [
    { start, end: start + length, ...(cameraId !== undefined && { cameraId }) },
    length > DAY && step === 'minute' ? 'hour' : step,
  ]);

it.each(['1', '3'])(
  'the steps of any range, camera and step add up to the range’s answer, and each is exact, with %s shards',
  async (shards) => {
    const { messages, deliveries } = season(`series with ${shards}`, 600);
    const oracle = new Oracle();
    for (const message of messages) oracle.tell(message);
    const watch = await startWatch({ COUNTER_SHARDS: shards });
    for (let at = 0; at < deliveries.length; at += 500) await watch.record(deliveries.slice(at, at + 500));

    await fc.assert(
      fc.asyncProperty(questions, async ([question, step]) => {
        const { steps, ...about } = await ask(watch, question, step);
        expect(about).toEqual({
          ts_utc_start: text(question.start),
          ts_utc_end: text(question.end),
          step,
          ...(question.cameraId !== undefined && { camera_id: question.cameraId }),
        });
        expect([steps[0]?.ts_utc_start, steps.at(-1)?.ts_utc_end]).toEqual([about.ts_utc_start, about.ts_utc_end]);

        let sum = NOTHING;
        for (const { ts_utc_start, ts_utc_end, active_cameras, ...answered } of steps) {
          sum = plus(sum, answered);
          const { active_camera_ids, ...expected } = oracle.answer({
            ...question,
            start: microseconds(ts_utc_start),
            end: microseconds(ts_utc_end),
          });
          expect([ts_utc_start, active_cameras, plus(NOTHING, answered)]).toEqual([
            ts_utc_start,
            active_camera_ids.length,
            expected,
          ]);
          for (const fact of FACTS)
            expect(Object.keys(answered[fact])).toEqual(expect.arrayContaining(['fire', 'smoke', 'structure']));
        }
        const { active_camera_ids: _ids, ...ofRange } = await watch.range(question);
        expect(sum).toEqual(ofRange);
      }),
      { numRuns: 40 },
    );
  },
  120_000,
);

it('a series of a year of days, a day of minutes and 62 days of hours are answered, one step more is not', async () => {
  const watch = await startWatch();
  for (const [start, end, step, count] of [
    ['2024-01-01T00:00:00Z', '2024-12-31T23:59:59.999999Z', 'day', 366],
    ['2024-03-01T00:00:00Z', '2024-03-02T00:59:59.999999Z', 'minute', 1_500],
    ['2024-01-01T00:00:00Z', '2024-03-03T11:59:59.999999Z', 'hour', 1_500],
  ] as const) {
    const { steps } = await ask(watch, { start: microseconds(start), end: microseconds(end) }, step);
    expect(steps).toHaveLength(count);
  }
  const { status, body } = await watch.request(
    '/api/analytics/series?ts_utc_start=2024-03-01T00:00:00Z&ts_utc_end=2024-03-02T01:00:00Z&step=minute',
  );
  expect([status, JSON.parse(body)]).toMatchObject([400, { errors: [{ field: 'step' }] }]);
});

it('all four analytics endpoints answer 304 to whoever has the answer, until something happens', async () => {
  const watch = await startWatch();
  const { messages } = season('conditional', 20);
  const [first, second] = messages.filter(({ ts }) => ts >= lastDay.start);
  assert.ok(first !== undefined && second !== undefined);
  await watch.record([first]);
  const ends = `ts_utc_start=${DATES[0]}T00:00:00Z&ts_utc_end=${DATES[2]}T23:59:59.999999Z`;
  for (const path of [
    `/api/analytics?${ends}`,
    `/api/analytics/day?date=${DATES[2]}`,
    `/api/analytics/series?${ends}&step=day`,
    `/api/analytics/cameras?date=${DATES[2]}`,
  ]) {
    const before = await watch.request(path);
    const tag = before.headers.get('etag') ?? '';
    expect([path, before.status, before.headers.get('cache-control')]).toEqual([path, 200, 'private, no-cache']);
    const known = await watch.request(path, { headers: { 'if-none-match': `"another", W/${tag}` } });
    expect([known.status, known.body, known.headers.get('etag')]).toEqual([304, '', tag]);
    expect(known.headers.get('cache-control')).toBe('private, no-cache');
    expect(known.headers.get('x-content-type-options')).toBe('nosniff');

    const eventId = `later-${path.length}`;
    await watch.record([{ ...second, eventId }]);
    const after = await watch.request(path, { headers: { 'if-none-match': tag } });
    expect([path, after.status]).toEqual([path, 200]);
    expect(after.headers.get('etag')).not.toBe(tag);
  }
  const wrong = await watch.request('/api/analytics/day?date=x', { headers: { 'if-none-match': '*' } });
  expect([wrong.status, wrong.headers.get('cache-control')]).toEqual([400, 'no-store']);
});
