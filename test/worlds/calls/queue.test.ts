import { describe, expect, it, vi } from 'vitest';

import { PhoneLineError } from '../../../src/calls/model/phone-line.ts';
import { BEGINNING } from './ground.ts';
import { someNumber } from './senders.ts';
import { callsTo, logged, openCalls, outcomes, people, play, rangAt, send, SOON, statuses, until } from './scene.ts';
import type { World } from './world.ts';

// Who gets the next line: bounds that hold on one instance and on three.

/** `npm run soak` plays more. */
const ROUNDS = Math.min(50, Number(process.env['WORLD_SEEDS'] ?? 2));
const HOUR_MS = 3_600_000;

/** What a network answers if it has no line, always to some numbers. */
const refusing = ({ network }: World, isRefused: (number: string) => boolean, waitMs?: number): void => {
  const call = network.call.bind(network);
  vi.spyOn(network, 'call').mockImplementation((request) => {
    if (!isRefused(request.number)) return call(request);
    throw new PhoneLineError({ failure: 'capacity', reason: 'throttled', code: 429, waitMs });
  });
};

/** The calls that were accepted, and then found no line. */
const turnedAway = ({ network }: World) =>
  network.calls.flatMap(({ fate, placedAt: at }) => (fate === 'turned away' ? { at } : []));

/** From each refusal to the next call request. */
const pausesOf = (world: World): readonly number[] =>
  logged(world, 'no line free').map(({ at }) => (world.dialled.find((dial) => dial.at > at)?.at ?? Infinity) - at);

describe.each([1, 3])('on %i instances', (instances) => {
  it('a fire behind six anomalies rings within 2 s: two lines', async () => {
    for (let round = 1; round <= ROUNDS; round += 1) {
      await play(`fire first ${round}`, { mode: { ...SOON, instances } }, async (world) => {
        for (let group = 0; group < 6; group += 1) send(world, 'Anomaly', people(1, group));
        await world.pass(5_000);
        const fire = send(world, 'ConfirmedFire', people(1, 7));
        await world.pass(400_000);
        expect(rangAt(world, someNumber(7, 0)) - 5_000).toBeLessThan(2_000);
        expect(await statuses(world, fire)).toEqual(['heard']);
        for (const sent of world.senders.sent) expect(await statuses(world, sent)).toEqual(['heard']);
      });
    }
  });

  it('alerts that are not urgent never use the last of three lines, and a fire uses all', async () => {
    await play('last line', { mode: { ...SOON, instances, lines: 3, callsAtOnce: 3 } }, async (world) => {
      send(world, 'Anomaly', people(12));
      let most = 0;
      for (let second = 0; second < 60; second += 1) {
        await world.pass(1_000);
        most = Math.max(most, openCalls(world).length);
      }
      expect(most).toBe(2);
      send(world, 'ConfirmedFire', people(6, 1));
      await until(world, () => openCalls(world).length === 3, 2_000);
      const ofFire = () => openCalls(world).filter(({ request }) => request?.alertType.name === 'ConfirmedFire');
      await until(world, () => ofFire().length === 3);
    });
  });

  it('with one line everybody uses it, and a fire gets it when the open call has ended', async () => {
    await play('one line', { mode: { ...SOON, instances, lines: 1, callsAtOnce: 1 } }, async (world) => {
      for (let group = 2; group < 7; group += 1) send(world, 'Anomaly', people(1, group));
      await until(world, () => openCalls(world).length === 1);
      await world.pass(3_000);
      const [open] = openCalls(world);
      send(world, 'ConfirmedFire', people(1, 1));
      await world.pass(120_000);
      expect(rangAt(world, someNumber(1, 0)) + BEGINNING - (open?.endedAt ?? 0)).toBeLessThan(3_000);
    });
  });

  it('after a fire is reported no anomaly is claimed until each of its people has a line', async () => {
    const mode = { ...SOON, instances, lines: 3, callsAtOnce: 3 };
    await play('nobody between', { mode }, async (world) => {
      send(world, 'Anomaly', people(12));
      await world.pass(3_000);
      const fire = people(6, 1);
      const answered = send(world, 'ConfirmedFire', fire);
      await until(world, () => answered.answers.length > 0);
      const { dialled } = world;
      const before = dialled.length;
      await world.pass(300_000);
      const last = dialled.findLastIndex(({ number }) => fire.includes(number));
      expect(dialled.slice(before, last).filter(({ number }) => !fire.includes(number))).toEqual([]);
    });
  });

  it('one recipient of each fire comes before the second of any', async () => {
    await play('first each', { mode: { ...SOON, instances, lines: 1, callsAtOnce: 1 } }, async (world) => {
      send(world, 'ConfirmedFire', people(2));
      send(world, 'ReportOfFire', people(2, 1));
      await world.pass(400_000);
      const [one, other, ...seconds] = [someNumber(0, 0), someNumber(1, 0), someNumber(0, 1), someNumber(1, 1)];
      const firsts = Math.max(rangAt(world, one), rangAt(world, other));
      for (const second of seconds) expect(rangAt(world, second)).toBeGreaterThan(firsts);
    });
  });

  it('ten fires to one officer are all heard, and an anomaly to somebody else waits for none of them', async () => {
    const mode = { ...SOON, instances, lines: 4, callsAtOnce: 4, deadlineMs: HOUR_MS };
    await play('one officer', { mode }, async (world) => {
      for (let fire = 0; fire < 10; fire += 1) {
        send(world, 'ConfirmedFire', people(1));
        await world.pass(200);
      }
      send(world, 'Anomaly', people(1, 1));
      await world.pass(900_000);
      expect(rangAt(world, someNumber(1, 0)) - 2_000).toBeLessThan(2_000);
      expect(callsTo(world, someNumber(0, 0))).toHaveLength(10);
      for (const sent of world.senders.sent) expect(await statuses(world, sent)).toEqual(['heard']);
    });
  });

  it.each(['429', '603'] as const)(
    'of fifty at most 3 are unreached if there are 2 lines for 4 calls: %s',
    async (how) => {
      const mode = { ...SOON, instances, callsAtOnce: 4, whenLinesAreTaken: how, deadlineMs: HOUR_MS } as const;
      await play(`fifty ${how}`, { mode }, async (world) => {
        const sent = send(world, 'ConfirmedFire', people(50));
        await world.pass(HOUR_MS);
        const heard = (await statuses(world, sent)).filter((status) => status === 'heard');
        expect(heard.length).toBeGreaterThanOrEqual(47);
      });
    },
  );
});

describe('a network without a free line', () => {
  it.each([
    ['pauses all dialing for 1, 2, 4, 8, then 15 s', undefined, [1, 2, 4, 8, 15, 15, 15]],
    ['pauses it for the time that it asks for', 40_000, [40, 40, 40]],
    ['pauses it for at most 60 s', 600_000, [60, 60, 60]],
  ])('%s, and costs no attempt', async (_, waitMs, expected) => {
    await play('pauses', {}, async (world) => {
      refusing(world, () => true, waitMs);
      const sent = send(world, 'ConfirmedFire', people(1));
      await world.pass(240_000);
      expected.forEach((seconds, index) => {
        expect(pausesOf(world)[index]).toBeGreaterThanOrEqual(seconds * 1_000);
        expect(pausesOf(world)[index]).toBeLessThan(seconds * 1_000 + 300);
      });
      expect(await outcomes(world, sent)).toEqual([[]]);
    });
  });

  it('a pause ends with the end of an accepted call', async () => {
    await play('pause ends', { mode: { ...SOON, lines: 1 } }, async (world) => {
      send(world, 'ConfirmedFire', people(2));
      await world.pass(90_000);
      const endedAt = callsTo(world, someNumber(0, 0))[0]?.endedAt ?? 0;
      expect(endedAt - BEGINNING).toBeGreaterThan(18_000);
      expect(rangAt(world, someNumber(0, 1)) + BEGINNING - endedAt).toBeLessThan(500);
    });
  });

  it.each([1, 3])('a recipient that is always refused costs nobody else a call: %i instances', async (instances) => {
    await play('always refused', { mode: { ...SOON, instances, lines: 1, callsAtOnce: 1 } }, async (world) => {
      refusing(world, (number) => number === someNumber(0, 0));
      const sent = send(world, 'ConfirmedFire', people(5));
      await world.pass(240_000);
      expect(await statuses(world, sent)).toEqual(['waiting', 'heard', 'heard', 'heard', 'heard']);
      expect(rangAt(world, someNumber(0, 1))).toBeLessThan(3_000);
    });
  });

  it.each(['429', '603'] as const)(
    'three suspects lower the number of calls for 10 minutes, which is told: %s',
    async (how) => {
      const mode = { ...SOON, callsAtOnce: 6, whenLinesAreTaken: how, deadlineMs: HOUR_MS } as const;
      await play(`suspects ${how}`, { mode }, async (world) => {
        send(world, 'ConfirmedFire', people(50));
        await world.pass(20_000);
        const told = logged(world, 'fewer lines than configured');
        expect(told.at(-1)).toMatchObject({ level: 'error', fields: { calls: 2 } });
        const before = world.dialled.length;
        // Each call that is dialed finds a line now.
        await world.pass(570_000);
        const late = [...logged(world, 'no line free'), ...turnedAway(world)].filter(
          ({ at }) => at - BEGINNING > 20_000,
        );
        expect(late).toEqual([]);
        expect(world.dialled.length).toBeGreaterThan(before);
        expect(logged(world, 'fewer lines than configured')).toHaveLength(told.length);
      });
    },
  );
});

describe('a decline', () => {
  it('within 6 s beside other calls costs no attempt twice; the redial keeps its distance, and nobody else pays', async () => {
    const mode = { ...SOON, lines: 3, callsAtOnce: 3 };
    await play('quick declines', { mode, fates: { 3: Array(9).fill('declines at once') } }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(24));
      await world.pass(500_000);
      const calls = callsTo(world, someNumber(0, 3));
      expect(calls).toHaveLength(world.mode.attempts + 2);
      calls.slice(1).forEach(({ placedAt }, index) => {
        expect(placedAt - (calls[index]?.endedAt ?? 0)).toBeGreaterThanOrEqual(world.mode.retryMs - 100);
      });
      const heard = people(24).map((_, index) => (index === 3 ? 'not_reached' : 'heard'));
      expect(await statuses(world, sent)).toEqual(heard);
    });
  });

  it.each([
    ['at once costs an attempt if no other call is open', 'declines at once', 3],
    ['of a phone that rang for 6 s is final the second time', 'declines', 2],
  ] as const)('%s', async (_, fate, most) => {
    await play(`alone ${fate}`, { fates: { 0: Array(9).fill(fate) } }, async (world) => {
      // A phone that rings for less than 6 s before it is declined may be a quick one: the callee takes some time.
      const sent = send(world, 'ConfirmedFire', people(1));
      await world.pass(600_000);
      expect(await statuses(world, sent)).toEqual(['not_reached']);
      expect(callsTo(world, someNumber(0, 0))).toHaveLength(most);
    });
  });
});

it('a wrong set-up keeps everybody waiting at no cost, is tried every 30 s, and is told at once and every 10 minutes', async () => {
  await play('set-up', { mode: { deadlineMs: HOUR_MS } }, async (world) => {
    world.conditions.breakSetUp(1_500_000);
    const sent = send(world, 'ConfirmedFire', people(3));
    await world.pass(5_000);
    expect(logged(world, 'calls not accepted')).toMatchObject([
      { level: 'error', fields: { reason: 'no permission' } },
    ]);
    await world.pass(1_490_000);
    expect(await statuses(world, sent)).toEqual(['waiting', 'waiting', 'waiting']);
    expect(logged(world, 'calls not accepted')).toHaveLength(3);
    const times = world.dialled.map(({ at }) => at);
    // Both lines are tried before the first answer.
    for (const [index, at] of times.slice(2).entries()) expect(at - (times[index] ?? 0)).toBeGreaterThan(29_000);
    expect(times.length).toBeGreaterThan(45);
    await world.pass(200_000);
    expect(await outcomes(world, sent)).toEqual([['heard'], ['heard'], ['heard']]);
  });
});

describe("the day's calls", () => {
  const mode = { callsPerDay: 10, retryMs: 5_000, deadlineMs: 3 * HOUR_MS };

  it('count with redials, a fifth is kept for fires, and who is over the limit is called on the next day', async () => {
    await play('day', { mode, fates: (_, earlier) => (earlier < 2 ? 'busy' : 'listens') }, async (world) => {
      const anomaly = send(world, 'Anomaly', people(5));
      await world.pass(600_000);
      expect(world.network.calls).toHaveLength(8);
      expect(await statuses(world, anomaly)).toContain('waiting');
      expect(logged(world, 'day limit reached')[0]?.level).toBe('error');
      expect(send(world, 'Anomaly', people(1, 1)).answers).toEqual([]);
      await world.pass(1_000);
      expect(world.senders.sent[1]?.answers[0]?.kind).toBe('refused');
      send(world, 'ConfirmedFire', people(1, 2));
      await world.pass(600_000);
      expect(callsTo(world, someNumber(2, 0))).toHaveLength(2);
      expect(world.network.calls).toHaveLength(10);
      await world.pass(2 * HOUR_MS);
      expect(await statuses(world, anomaly)).toEqual(Array(5).fill('heard'));
    });
  });

  it('are not used by calls that were refused', async () => {
    await play('refused day', { mode: { ...mode, lines: 0 } }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(1));
      await world.pass(600_000);
      expect(world.dialled.length).toBeGreaterThan(20);
      expect(await statuses(world, sent)).toEqual(['waiting']);
      expect(logged(world, 'day limit reached')).toEqual([]);
    });
  });
});

it('a number that must not be called is never called, also if the setting changes while its recipient waits', async () => {
  await play('prefixes', { mode: { ...SOON, deadlineMs: HOUR_MS } }, async (world) => {
    const sent = send(world, 'Anomaly', people(20));
    await world.pass(200_000);
    Object.assign(world.rules, { allowedPrefixes: ['+44'] });
    const before = world.dialled.length;
    await world.pass(600_000);
    expect(world.dialled.length).toBe(before);
    const told = await statuses(world, sent);
    expect(new Set(told)).toEqual(new Set(['heard', 'failed']));
  });
});
