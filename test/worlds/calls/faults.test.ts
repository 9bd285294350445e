import { describe, expect, it, vi } from 'vitest';

import { type Destination, DESTINATIONS } from '../../../src/calls/model/outcomes.ts';
import { ProviderError } from '../../../src/calls/model/phone-provider.ts';
import { LINES_KEY } from '../../../src/calls/store/rows.ts';
import { StorageTrouble } from '../../../src/storage/errors.ts';
import type { Fate } from './callees.ts';
import { BEGINNING, type Death } from './ground.ts';
import { isLeftLive } from './promises.ts';
import { answerCalls, play, ROOM, type Scene, scene, SOON } from './scene.ts';
import { someNumber, people } from './senders.ts';
import { wholeSpeeches } from './network.ts';
import { UnreliableProvider } from './unreliable-provider.ts';

// After any failure: no recipient is forgotten, no callee who heard is called again, and no line stays open and silent.

/** `npm run soak` tries each request, and more seeds. */
const IS_SOAK = process.env['WORLD_SEEDS'] !== undefined;

scene(
  'without speech or permission for a number the attempt is used, nobody else waits, and an operator is told',
  { ...ROOM, callees: { 0: Array<Fate>(2).fill('speech fails'), 1: Array<Fate>(3).fill('forbidden') } },
  async (world) => {
    // The first request for a call is refused itself.
    const result = { failure: 'forbidden', reason: 'forbidden' } as const;
    vi.spyOn(UnreliableProvider.prototype, 'call').mockRejectedValueOnce(new ProviderError(result));
    const sent = world.fire(people(3));
    await world.pass(300_000);
    expect(await world.statuses(sent)).toEqual(['not_reached', 'not_reached', 'heard']);
    expect(world.rangAt(someNumber(0, 2))).toBeLessThan(2_000);
    expect(world.logged('speech not available').map(({ level }) => level)).toEqual(Array(2).fill('error'));
    expect(world.logged('speech not available')[0]?.fields['look_at']).toContain('Cognitive Services User');
    expect(world.logged('call forbidden').map(({ level }) => level)).toEqual(Array(4).fill('error'));
  },
);

describe('an instance dies of any of its requests', () => {
  it.each<[what: string, callees: NonNullable<Scene['callees']>, confirm: boolean, expected: string[]]>([
    ['two people, one of them busy at first', { 1: ['busy', 'listens'] }, false, ['heard', 'heard']],
    ['a callee who cannot go, then confirms', { 0: 'cannot go, then confirms' }, true, ['confirmed']],
    ['a callee who hears it again and confirms', { 0: 'hears it again and confirms' }, true, ['confirmed']],
  ])('carried out or not, it is as if it had not died: %s', async (_, callees, confirm, expected) => {
    const tryAt = async (at: number, when: Death['when'] = 'carried out') =>
      play('deaths', { callees, instances: 2, death: { at, when } }, async (world) => {
        const sent = world.fire(people(expected.length), { confirm });
        await world.pass(900_000);
        const { calls } = world.network;
        const cut = calls.flatMap(({ speeches }) => speeches.filter(({ cutBy }) => cutBy === 'service')).length;
        const whole = calls.reduce((sum, call) => sum + wholeSpeeches(call), 0);
        const longest = Math.max(...calls.map(({ answeredAt = Infinity, endedAt = Infinity }) => endedAt - answeredAt));
        const told = await world.statuses(sent);
        expect({ at, told, isLong: longest > 300_000 }).toEqual({ at, told: expected, isLong: false });
        // A repeat or a goodbye may be cut or spoken twice.
        expect([at, confirm || (whole === expected.length && cut === 0)]).toEqual([at, true]);
        expect(world.rows.filter(({ rowKey }) => /^(!live|done)/.test(rowKey))).toHaveLength(1);
        const answers = calls.flatMap(({ keys }) => keys.filter(({ key }) => key !== '2'));
        const answeredAt = Math.min(...answers.map(({ takenAt = Infinity }) => takenAt));
        expect(world.dialled.filter((dial) => dial.at > answeredAt)).toEqual([]);
        return world.requests.length;
      });
    const most = Math.min(60, await tryAt(Infinity));
    expect(most).toBeGreaterThan(15);
    for (let at = 1; at <= most; at += IS_SOAK ? 1 : 3)
      for (const when of ['carried out', 'not carried out'] as const) await tryAt(at, when);
  });
});

describe('answers that get lost', () => {
  scene(
    'of all writes to storage: what was written is recognized, and what it asks for is done at once',
    { destinations: [], callees: { 0: 'presses late' } },
    async (world) => {
      const carryOut = world.table.transact.bind(world.table);
      vi.spyOn(world.table, 'transact').mockImplementation(async (...asked) => {
        await carryOut(...asked);
        throw new StorageTrouble(0, { reason: 'no answer' });
      });
      const sent = world.fire(people(1), { confirm: true });
      await world.pass(120_000);
      expect(await world.outcomes(sent)).toEqual([['confirmed']]);
      const { placedAt, answeredAt = 0, speeches, endedAt = Infinity } = await world.firstCall();
      expect(placedAt - BEGINNING).toBeLessThan(3_000);
      expect((speeches[0]?.requestedAt ?? Infinity) - answeredAt).toBeLessThan(1_000);
      expect(endedAt - (speeches.at(-1)?.endedAt ?? 0)).toBeLessThan(1_000);
      expect(world.dialled).toHaveLength(1);
    },
  );

  scene('of a call request: nobody else waits for it', ROOM, async (world) => {
    answerCalls(async ({ number }, place) => {
      if (number !== someNumber(0, 1)) return place();
      await new Promise((resolve) => void setTimeout(resolve, 15_000));
      throw new ProviderError({ failure: 'unanswered', reason: 'no answer in time' });
    });
    world.fire(people(4));
    await world.pass(60_000);
    for (const index of [0, 2, 3]) expect(world.rangAt(someNumber(0, index))).toBeLessThan(3_000);
  });

  scene(
    'of a call request that seems to be refused: the callee hears the message, and the line is hung up',
    { answersWithinMs: [3_000, 5_000] },
    async (world) => {
      answerCalls(async (_, place) => {
        await place();
        throw new ProviderError({ failure: 'set_up', reason: 'no permission' });
      });
      world.fire();
      await world.pass(28_000);
      expect(world.network.calls).toMatchObject([{ speeches: [{ isWhole: true }], endedBy: 'service' }]);
    },
  );

  scene(
    'of a call request, before all instances end: it is not retried while another alert calls the number',
    { ...ROOM, callees: { 0: 'rings out' } },
    async (world) => {
      vi.spyOn(UnreliableProvider.prototype, 'call').mockRejectedValueOnce(
        new ProviderError({ failure: 'unanswered', reason: 'no answer' }),
      );
      world.fire();
      await world.pass(1_000);
      world.instances.end();
      await world.pass(60_000);
      world.instances.start(1);
      world.fire();
      await world.pass(30_000);
      expect(world.network.calls).toHaveLength(1);
    },
    8,
  );
});

describe('while storage is away', () => {
  it('for 20 s in the middle of calls, nobody is forgotten, everybody hears it, and no line stays open', async () => {
    for (let second = 0; second < 44; second += IS_SOAK ? 1 : 4) {
      await play(`outage ${second}`, { ...SOON, instances: 2 }, async (world) => {
        const sent = world.fire(people(3));
        await world.pass(500 + second * 1_000);
        world.conditions.stopTable(20_000);
        await world.pass(600_000);
        expect([second, await world.statuses(sent)]).toEqual([second, ['heard', 'heard', 'heard']]);
        for (const number of people(3)) expect(world.callsTo(number).some(wholeSpeeches)).toBe(true);
        expect(world.openCalls).toEqual([]);
        for (const { answeredAt = 0, endedAt = 0, speeches } of world.network.calls) {
          expect(endedAt - answeredAt).toBeLessThan(90_000);
          // A callee who answers while storage is away hears the message, too.
          expect(speeches).not.toEqual([]);
        }
      });
    }
  });

  scene('a request that waits for storage has its deadline from its arrival on', SOON, async (world) => {
    await world.pass(1_000);
    const sentAt = world.now;
    world.conditions.stopTable(7_000);
    const sent = world.fire();
    await world.pass(60_000);
    expect(Date.parse((await world.bodyOf(sent)).created_at) - sentAt).toBeLessThan(1_000);
  });

  scene(
    'each callee hears the place once, without a menu that nothing listens for, and is hung up at the end',
    { ...ROOM, ...SOON, eventRepeat: 1 },
    async (world) => {
      const sent = world.fire(people(5), { details: 'Antelope Ridge', confirm: true });
      await world.until(() => world.openCalls.length === 5);
      await world.pass(1_000);
      world.conditions.stopTable(120_000);
      await world.pass(100_000);
      for (const { speeches, listening, endedBy, endedAt = Infinity } of world.network.calls) {
        expect(speeches).toMatchObject([{ isWhole: true, text: expect.stringMatching(/Antelope Ridge\. $/) }]);
        expect([listening, endedBy]).toEqual([undefined, 'service']);
        expect(endedAt - (speeches[0]?.endedAt ?? 0)).toBeLessThan(4_000);
      }
      for (const event of ['call records unreachable', 'due work unreachable'])
        expect(world.logged(event).length, event).toBeGreaterThan(0);
      await world.pass(900_000);
      expect((await world.bodyOf(sent)).status).toBe('completed');
    },
  );

  scene('and speech is surely refused: the line is hung up at once', SOON, async (world) => {
    vi.spyOn(world.network, 'speak').mockImplementation(() => {
      world.conditions.stopTable(120_000);
      throw new ProviderError({ failure: 'no_speech', reason: 'no speech' });
    });
    world.fire();
    const call = await world.firstCall();
    await world.until(() => call.state === 'up');
    await world.pass(20_000);
    expect(call.endedBy).toBe('service');
  });

  scene('after the last word: the line is hung up when the time for keys is over', {}, async (world) => {
    world.fire(people(1), { confirm: true });
    const call = await world.firstCall();
    await world.until(() => call.speeches[0]?.isWhole === true);
    await world.pass(1_000);
    world.conditions.stopTable(120_000);
    await world.pass(20_000);
    expect(call.endedBy).toBe('service');
    // Eight seconds, and two tries to store that no key came.
    expect((call.endedAt ?? Infinity) - (call.speeches[0]?.endedAt ?? 0)).toBeLessThan(12_000);
  });
});

scene(
  'after the answer all events get lost: the message is spoken once, and the line is hung up',
  {},
  async (world) => {
    world.fire();
    const call = await world.firstCall();
    await world.until(() => call.speeches.length > 0);
    vi.spyOn(world.conditions, 'faults', 'get').mockReturnValue({ ...world.mode, eventLoss: 1 });
    await world.pass(300_000);
    expect(call).toMatchObject({ speeches: [{ isWhole: true }], endedBy: 'service' });
    expect(call.speeches).toHaveLength(1);
    const reason = 'the end of the message was not reported';
    expect(world.logged('call overdue')[0]).toMatchObject({ level: 'warn', fields: { call_id: call.id, reason } });
  },
);

for (const instances of [1, 3]) {
  scene(
    `events of another system's call are repeated, late and in any order: each of ${instances} processes speaks once, hangs up, and stores nothing`,
    { instances, eventRepeat: 1, eventDelay: 0.5 },
    async (world) => {
      const call = world.network.callOfAnotherSystem();
      await world.pass(200_000);
      expect(wholeSpeeches(call)).toBeGreaterThanOrEqual(1);
      expect(call.speeches.length).toBeLessThanOrEqual(instances);
      expect(call.endedBy).toBe('service');
      expect(world.rows.map(({ rowKey }) => rowKey)).toEqual([LINES_KEY]);
    },
    8,
  );
}

scene(
  'storage needs 5 s for each page of the retention: it delays no call of processes that have just started',
  { ...SOON, instances: 2, destinations: [] },
  async (world) => {
    const page = world.table.page.bind(world.table);
    vi.spyOn(world.table, 'page').mockImplementation(async (partition, range, query) => {
      // All rows but the lines and live notifications come after these keys.
      if (range.before > '!~') await new Promise((resolve) => void setTimeout(resolve, 5_050));
      return page(partition, range, query);
    });
    const sent = world.fire(people(3));
    await world.pass(40_000);
    for (const number of people(2)) expect(world.rangAt(number)).toBeLessThan(2_000);
    await world.pass(60_000);
    expect(await world.statuses(sent)).toEqual(['heard', 'heard', 'heard']);
  },
);

describe('nothing depends on one timer', () => {
  scene(
    'the instance that dialed has died: another one, which knows of nothing, is at most 62 s late',
    { instances: 2, timerNeverRuns: true, retryMs: 5_000, callees: { 0: ['busy', 'listens'] } },
    async (world) => {
      await world.pass(world.chance.between(0, 130_000));
      world.fire();
      const call = await world.firstCall();
      await world.until(() => call.state === 'ended');
      await world.pass(1_000);
      // No instance takes its place.
      world.instances.isEnded = true;
      world.instances.any()?.life.end();
      const dueAt = (call.endedAt ?? 0) + world.mode.retryMs;
      await world.pass(120_000);
      expect((world.network.calls[1]?.placedAt ?? Infinity) - dueAt).toBeLessThan(62_000);
    },
    12,
  );

  for (const [who, isDead] of [
    ['the instance that dialed it', false],
    ['another one that has looked at it once', true],
  ] as const) {
    const setting = { timerNeverRuns: true, ringMs: 40_000, callees: { 0: 'rings out' } } as const;
    scene(`a phone that has rung for CALL_RING_SECONDS is hung up in time by ${who}`, setting, async (world) => {
      await world.pass(5_000);
      world.fire();
      const call = await world.firstCall();
      // The answer to the call request is stored.
      await world.pass(2_000);
      if (isDead) {
        const [first] = world.instances.living;
        world.instances.start(1);
        await world.pass(1_000);
        world.instances.isEnded = true;
        first?.life.end();
      }
      await world.pass(60_000);
      expect(call.endedBy).toBe('service');
      expect((call.endedAt ?? Infinity) - call.placedAt).toBeLessThan(isDead ? 47_000 : 42_000);
    });
  }

  scene(
    'an app that was stopped for two days in the middle of calls ends them all, and dials nobody after the deadline',
    { ...ROOM, ...SOON, instances: 2, callees: { 1: 'rings out', 2: Array<Fate>(3).fill('busy'), 3: 'presses late' } },
    async (world) => {
      const sent = world.fire(people(5), { confirm: true });
      await world.until(() => world.network.calls.some(({ speeches }) => speeches.length > 0));
      await world.pass(2_000);
      expect(world.openCalls.length).toBeGreaterThan(2);
      const dialled = world.dialled.length;
      world.instances.end();
      await world.pass(2 * 86_400_000);
      world.instances.start(1);
      await world.pass(700_000);
      expect([world.openCalls, world.dialled.length]).toEqual([[], dialled]);
      expect((await world.bodyOf(sent)).status).toBe('completed');
      expect(world.rows.filter((row) => isLeftLive(row, world))).toEqual([]);
    },
  );
});

/** How many requests to storage a call takes on one instance that does nothing else then. */
const requestsOf = (
  seed: number,
  destinations: readonly Destination[],
  fate: Fate = 'listens',
  answersWithinMs: readonly [number, number] = [3_000, 5_000],
): Promise<number> => {
  const setting = { answersWithinMs, destinations, timerNeverRuns: true, callees: { 0: fate } };
  return play(`count ${seed}`, setting, async (world) => {
    // The first call creates the table.
    world.anomaly(people(1, 1));
    await world.pass(61_000);
    const before = world.tableRequests;
    world.fire(people(1), { confirm: fate !== 'listens' });
    await world.pass(57_000);
    expect(world.network.calls.map(({ state }) => state)).toEqual(['ended', 'ended']);
    return world.tableRequests - before;
  });
};

it('a good call takes 9 requests to storage at most, two more with a destination of outcomes, and six more with a key', async () => {
  for (let seed = 1; seed <= 3; seed += 1) {
    expect(await requestsOf(seed, [])).toBeLessThanOrEqual(9);
    expect(await requestsOf(seed, [], 'listens', [20_000, 35_000])).toBeLessThanOrEqual(9);
    expect(await requestsOf(seed, ['webhook'])).toBeLessThanOrEqual(11);
    // The writes of two destinations may meet.
    expect(await requestsOf(seed, DESTINATIONS)).toBeLessThanOrEqual(20);
    for (const fate of ['cannot go', 'presses late'] as const)
      expect(await requestsOf(seed, [], fate), fate).toBeLessThanOrEqual(14);
  }
});
