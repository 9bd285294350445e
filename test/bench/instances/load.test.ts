import { describe, expect, it } from 'vitest';

import { dayStart } from '../workload.ts';
import { planOf } from './load.ts';

const LOAD = { instances: 4, eventsPerSecond: 200, eventsPerRequest: 10, seconds: 2, cameras: 8, start: dayStart() };

describe('the plan of a load', () => {
  it('sends at an even rate, evenly over the instances', () => {
    const plan = planOf(LOAD);
    expect(plan.map(({ dueMs }) => dueMs)).toEqual(Array.from({ length: 40 }, (_, index) => index * 50));
    for (const instance of [0, 1, 2, 3]) expect(plan.filter((one) => one.instance === instance)).toHaveLength(10);
    const ids = plan.flatMap(({ body }) => [...body.matchAll(/"event_id":"([^"]+)"/g)].map(([, id]) => id));
    expect([ids.length, new Set(ids).size]).toEqual([400, 400]);
  });

  it('gives every instance the frames of every camera', () => {
    const plan = planOf({ ...LOAD, eventsPerRequest: 1 });
    for (const instance of [0, 1, 2, 3]) {
      const bodies = plan.filter((one) => one.instance === instance).map(({ body }) => body);
      expect(new Set(bodies.map((body) => /"camera_id":"([^"]+)"/.exec(body)?.[1])).size).toBe(8);
    }
  });

  it('can make the first request of every instance due at the same time', () => {
    const first = planOf({ ...LOAD, startsTogether: true }).slice(0, 5);
    expect(first.map(({ dueMs }) => dueMs)).toEqual([0, 0, 0, 0, 200]);
    expect(new Set(first.slice(0, 4).map(({ instance }) => instance)).size).toBe(4);
  });
});
