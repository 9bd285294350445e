import { describe, expect } from 'vitest';

import { ProviderError } from '../../../src/calls/model/phone-provider.ts';
import { phoneNumber } from '../../calls/new-case.ts';
import { BEGINNING } from './ground.ts';
import { brokenPromises } from './promises.ts';
import { answerCalls, scene, SOON } from './scene.ts';
import { idOf, someNumber, people } from './senders.ts';

// The order of calls. `rules/queue` holds the order and the numbers; these bounds hold over time and over all instances.

/** `npm run soak` plays more. */
const ROUNDS = Math.min(50, Number(process.env['WORLD_SEEDS'] ?? 2));
const HOUR_MS = 3_600_000;

describe.each([1, 3])('on %i instances', (instances) => {
  scene(
    'a fire behind six anomalies rings within 2 s: two lines',
    { ...SOON, instances },
    async (world) => {
      for (let group = 0; group < 6; group += 1) world.anomaly(people(1, group));
      await world.pass(5_000);
      world.fire(people(1, 7));
      await world.pass(400_000);
      expect(world.rangAt(someNumber(7, 0)) - 5_000).toBeLessThan(2_000);
      for (const sent of world.senders.sent) expect(await world.statuses(sent)).toEqual(['heard']);
    },
    ROUNDS,
  );

  scene(
    'with one line, the next recipient rings within 3 s after the end of a call',
    { ...SOON, instances, lines: 1, callsAtOnce: 1 },
    async (world) => {
      world.fire(people(3));
      await world.pass(200_000);
      const { calls } = world.network;
      expect(calls).toHaveLength(3);
      for (const [index, { placedAt }] of calls.slice(1).entries())
        expect(placedAt - (calls[index]?.endedAt ?? 0)).toBeLessThan(3_000);
    },
  );

  scene(
    'ten fires to one officer are all heard, and an anomaly to another callee waits for none of them',
    { ...SOON, instances, lines: 4, callsAtOnce: 4, deadlineMs: HOUR_MS },
    async (world) => {
      for (let count = 0; count < 10; count += 1) {
        world.fire();
        await world.pass(200);
      }
      world.anomaly(people(1, 1));
      await world.pass(900_000);
      expect(world.rangAt(someNumber(1, 0)) - 2_000).toBeLessThan(2_000);
      expect(world.callsTo(someNumber(0, 0))).toHaveLength(10);
      for (const sent of world.senders.sent) expect(await world.statuses(sent)).toEqual(['heard']);
    },
  );

  scene(
    'of fifty at most 3 are unreached if there are 2 lines for 4 calls',
    { ...SOON, instances, callsAtOnce: 4, deadlineMs: HOUR_MS },
    async (world) => {
      const sent = world.fire(people(50));
      await world.pass(HOUR_MS);
      const heard = (await world.statuses(sent)).filter((status) => status === 'heard');
      expect(heard.length).toBeGreaterThanOrEqual(47);
    },
  );
});

scene(
  'beside the call of a fire an anomaly leaves a line free: the next fire rings within 2 s',
  { ...SOON, instances: 2 },
  async (world) => {
    world.fire();
    await world.until(() => world.openCalls.length === 1);
    world.anomaly(people(1, 1));
    await world.pass(2_000);
    world.fire(people(1, 2));
    const sentAt = world.now;
    await world.pass(10_000);
    expect(world.rangAt(someNumber(2, 0)) + BEGINNING - sentAt).toBeLessThan(2_000);
  },
  ROUNDS,
);

scene(
  'of ten people who do not answer, with two lines, the tenth rings within 260 s, and nobody rings twice before',
  { ringMs: 60_000, retryMs: 60_000, deadlineMs: 1_800_000, callees: () => 'rings out' },
  async (world) => {
    world.fire(people(10));
    await world.pass(260_000);
    for (const number of people(10)) expect(world.callsTo(number)).toHaveLength(1);
    await world.pass(1_200_000);
    for (const number of people(10)) expect(world.callsTo(number)).toHaveLength(3);
  },
);

scene('the pause after a refusal ends early when a call is accepted', {}, async (world) => {
  answerCalls(async ({ number }, place) => {
    const index = people(3).indexOf(number);
    await new Promise((resolve) => void setTimeout(resolve, [1_000, 2_000, 0][index]));
    if (index > 0) return place();
    throw new ProviderError({ failure: 'capacity', reason: 'throttled', waitMs: 40_000 });
  });
  world.fire(people(3));
  await world.pass(60_000);
  expect(world.rangAt(someNumber(0, 2))).toBeGreaterThan(2_000);
  expect(world.rangAt(someNumber(0, 2))).toBeLessThan(3_000);
});

scene(
  'a wrong set-up keeps everybody waiting at no cost, is tried every 30 s, and is told at once and every 10 minutes',
  { deadlineMs: HOUR_MS },
  async (world) => {
    world.conditions.breakSetUp(1_500_000);
    const sent = world.fire(people(3));
    await world.pass(5_000);
    expect(world.logged('calls not accepted')).toMatchObject([{ level: 'error', fields: { reason: 'no permission' } }]);
    await world.pass(1_490_000);
    expect(await world.statuses(sent)).toEqual(['waiting', 'waiting', 'waiting']);
    expect(world.logged('calls not accepted')).toHaveLength(3);
    const times = world.dialled.map(({ at }) => at);
    // Both lines are tried before the first answer.
    for (const [index, at] of times.slice(2).entries()) expect(at - (times[index] ?? 0)).toBeGreaterThan(29_000);
    expect(times.length).toBeGreaterThan(45);
    await world.pass(200_000);
    expect(await world.outcomes(sent)).toEqual([['heard'], ['heard'], ['heard']]);
  },
);

scene(
  'a recipient whose deadline passed before the first call holds back no second call to another recipient',
  {
    callsAtOnce: 1,
    retryMs: 5_000,
    deadlineMs: 60_000,
    callees: (_, earlier) => (earlier === 0 ? 'busy' : 'listens'),
  },
  async (world) => {
    world.conditions.breakSetUp(70_000);
    const late = world.fire(people(2));
    await world.pass(50_000);
    const other = world.fire(people(1, 1));
    await world.pass(600_000);
    expect(await world.statuses(late)).toEqual(['not_reached', 'not_reached']);
    expect(await world.outcomes(other)).toEqual([['busy', 'heard']]);
    expect(await brokenPromises(world)).toEqual([]);
  },
);

scene(
  'a number that cannot exist, or may not be called, is answered by its code, and an error says so',
  {},
  async (world) => {
    const sent = world.fire(['+120655501', '+442079460000'].map(phoneNumber));
    await world.pass(5_000);
    const calls = [{ code: 'impossible_number' }, { code: 'not_allowed' }];
    expect(sent.answers).toMatchObject([{ kind: 'nobody callable', calls }]);
    expect(world.logged('notification refused')).toMatchObject([{ level: 'error', fields: { recipients: 2 } }]);
  },
);

scene(
  "the day's calls count with redials, a fifth is kept for fires, and a recipient over the limit is called the next day",
  {
    callsPerDay: 10,
    retryMs: 5_000,
    deadlineMs: 3 * HOUR_MS,
    callees: (_, earlier) => (earlier < 2 ? 'busy' : 'listens'),
  },
  async (world) => {
    const first = world.anomaly(people(5));
    await world.pass(600_000);
    expect(world.network.calls).toHaveLength(8);
    expect(await world.statuses(first)).toContain('waiting');
    expect(world.logged('day limit reached')[0]?.level).toBe('error');
    const second = world.anomaly(people(1, 1));
    await world.pass(1_000);
    expect(second.answers[0]?.kind).toBe('nobody callable');
    expect(world.logged('day limit reached').at(-1)).toMatchObject({ level: 'error', fields: { recipients: 1 } });
    const again = world.senders.send(first.request, first.key);
    const other = world.senders.send({ ...first.request, confirm: true }, first.key);
    await world.pass(1_000);
    expect(again.answers).toMatchObject([{ kind: 'sent', id: idOf(first) }]);
    expect(other.answers).toEqual([{ kind: 'key of another request' }]);
    world.fire(people(1, 2));
    await world.pass(600_000);
    expect(world.callsTo(someNumber(2, 0))).toHaveLength(2);
    expect(world.network.calls).toHaveLength(10);
    await world.pass(2 * HOUR_MS);
    expect(await world.statuses(first)).toEqual(Array(5).fill('heard'));
  },
);
