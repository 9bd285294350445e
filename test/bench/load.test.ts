import { describe, expect, it } from 'vitest';

import { openLoop } from './client.ts';
import { isWrong, planOf, verdictOn } from './load.ts';
import { dayStart } from './workload.ts';

describe('the load of the benchmark of several instances', () => {
  it('comes at an even rate, evenly over the instances, with frames of all cameras for each', () => {
    const load = { instances: 4, eventsPerSecond: 200, eventsPerRequest: 1, seconds: 2, cameras: 8, start: dayStart() };
    const plan = planOf(load);
    expect(plan.map(({ dueMs }) => dueMs)).toEqual(Array.from({ length: 400 }, (_, index) => index * 5));
    for (const instance of [0, 1, 2, 3]) {
      const own = plan.filter((one) => one.instance === instance);
      const cameras = own.map(({ body }) => /"camera_id":"([^"]+)"/.exec(body)?.[1]);
      expect([own.length, new Set(cameras).size]).toEqual([100, 8]);
    }
    const together = planOf({ ...load, startsTogether: true }).slice(0, 5);
    expect(together.map(({ dueMs }) => dueMs)).toEqual([0, 0, 0, 0, 20]);
  });

  it('is sent whether or not earlier requests are answered, whose wait is measured from when they were due', async () => {
    // The first request is answered only when the last one has arrived: a sender that waits for answers never ends.
    const last = Promise.withResolvers<number>();
    const sent = await openLoop([0, 50, 100], async (index) => {
      if (index === 2) last.resolve(0);
      return index === 0 ? last.promise : index;
    });
    // A timer may fire a moment early.
    expect(sent[0]?.ms).toBeGreaterThanOrEqual(90);
  });

  it.each([
    ['exact', 20, [200, 200], false],
    ['WRONG: 19, acknowledged 20 of 20', 19, [200, 200], true],
    ['WRONG: 21, acknowledged 20 of 20', 21, [200, 200], true],
    ['15, acknowledged 10 of 30', 15, [200, 503, undefined], false],
    ['WRONG: 9, acknowledged 10 of 30', 9, [200, 503, undefined], true],
    ['WRONG: 31, acknowledged 10 of 30', 31, [200, 503, undefined], true],
    ['no answer', undefined, [200], false],
  ])('is judged "%s" for a total of %s', (verdict, total, statuses, wrong) => {
    const sent = statuses.map((status) => ({ events: 10, status }));
    expect(verdictOn(total, sent)).toBe(verdict);
    expect(isWrong(verdict)).toBe(wrong);
  });
});
