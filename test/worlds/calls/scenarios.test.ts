import { describe, expect, it, vi } from 'vitest';

import { alertTypeOf } from '../../../src/calls/model/alert-types.ts';
import { PhoneLineError } from '../../../src/calls/model/phone-line.ts';
import { type Destination, DESTINATIONS } from '../../../src/calls/model/outcome-events.ts';
import { phoneOff } from '../../../src/calls/run/phone-off.ts';
import type { PhoneRules, NotificationRequest } from '../../../src/calls/phone.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { StorageTrouble } from '../../../src/storage/errors.ts';
import { callsTo, people, statuses, to } from './asking.ts';
import { BEGINNING } from './ground.ts';
import { type Fate, type Mode, QUIET } from './modes.ts';
import { MS_PER_CHARACTER } from './network.ts';
import { someNumber, type SentRequest } from './senders.ts';
import { UnreliableLine } from './unreliable-line.ts';
import { inWorld, type World, type WorldOptions } from './world.ts';

// Time is virtual: how long it takes tells of the machine alone.
vi.setConfig({ testTimeout: 600_000 });

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** What callees do, by the last digits of their number and by how often they were called before; otherwise they listen. */
const fates =
  (byIndex: Readonly<Record<number, Fate | readonly Fate[]>>) =>
  (number: PhoneNumber | undefined, earlier: number): Fate => {
    const fate = byIndex[Number(number?.slice(-3))] ?? 'listens';
    return typeof fate === 'string' ? fate : (fate[earlier] ?? 'listens');
  };

const outcomes = async (world: World, sent: SentRequest): Promise<readonly (readonly (string | undefined)[])[]> =>
  (await world.viewOf(sent))?.recipients.map(({ attempts }) => attempts.map(({ outcome }) => outcome)) ?? [];

const reasons = ({ answers: [first] }: SentRequest): readonly (string | undefined)[] =>
  first?.kind === 'sent' ? first.calls.map((call) => (call.status === 'placed' ? undefined : call.reason)) : [];

interface Scene {
  /** How the mode differs from `QUIET`. */
  readonly mode?: Partial<Mode>;
  readonly fates?: Parameters<typeof fates>[0];
  readonly death?: WorldOptions['death'];
  /** Sent at the beginning, to one person by default. */
  readonly request?: NotificationRequest;
  /** How much time passes then, in milliseconds. */
  readonly passMs?: number;
}

const play = <Result>(
  seed: string,
  { mode, fates: byIndex = {}, death, request = to([people(1)]), passMs = 0 }: Scene,
  look: (world: World, sent: SentRequest) => Promise<Result>,
): Promise<Result> =>
  inWorld(seed, { ...QUIET, ...mode }, { fateOf: fates(byIndex), ...(death && { death }) }, async (world) => {
    const sent = world.senders.send(request, 'key');
    await world.pass(passMs);
    return look(world, sent);
  });

describe('lines', () => {
  it('where they suffice, all people of a request are dialled before it is answered', async () => {
    await play(
      'enough',
      { mode: { lines: 30 }, request: to([people(30)]), passMs: 5_000 },
      async ({ dialled }, sent) => {
        expect(sent.answers).toHaveLength(1);
        expect(reasons(sent)).toEqual(Array(30).fill(undefined));
        expect(dialled).toHaveLength(30);
      },
    );
  });

  it.each(['429', '8530', '603'] as const)(
    'ten people over two lines, which are %s when taken: all hear it, at the first attempt',
    async (whenLinesAreTaken) => {
      const scene = { mode: { whenLinesAreTaken, instances: 2 }, request: to([people(10)]), passMs: 600_000 };
      await play('lines', scene, async (world, sent) => {
        expect(await outcomes(world, sent)).toEqual(people(10).map(() => ['heard']));
      });
    },
  );

  it('a fire is called in the first line that gets free, though an anomaly has many waiting', async () => {
    const mode = { deadlineMs: 1_800_000, instances: 2 };
    await play('urgent', { mode, request: to([people(50)], 'Anomaly'), passMs: 60_000 }, async (world, anomaly) => {
      const before = world.network.calls.length;
      const openNow = world.network.calls.filter(({ state }) => state !== 'ended');
      const fire = world.senders.send(to([people(12, 1)]), 'fire');
      await world.pass(60_000);
      const freedAt = Math.min(...openNow.map(({ endedAt = Infinity }) => endedAt));
      const next = world.network.calls
        .slice(before)
        .filter(({ placedAt, fate }) => placedAt >= freedAt && fate !== 'turned away');
      expect(next[0]?.request?.alertType.name).toBe('ConfirmedFire');
      expect((next[0]?.placedAt ?? Infinity) - freedAt).toBeLessThan(3_000);
      expect(new Set(next.map(({ request }) => request?.alertType.name))).toEqual(new Set(['ConfirmedFire']));
      await world.pass(3_600_000);
      expect(await statuses(world, fire)).toEqual(Array(12).fill('heard'));
      expect((await world.viewOf(anomaly))?.status).toBe('completed');
    });
  });

  it('an anomaly that is reported while people wait to hear of a fire takes no line from them', async () => {
    const mode = { deadlineMs: 3_600_000, lines: 1, instances: 3 };
    await play('held back', { mode, request: to([people(40)]) }, async (world, fire) => {
      const ended = () => world.network.calls.filter(({ state }) => state === 'ended').length;
      const anomalies: SentRequest[] = [];
      for (let index = 1; index <= 15; index += 1) {
        // As soon as the line is free, before anybody knows.
        for (const before = ended(); ended() === before;) await world.pass(20);
        anomalies.push(world.senders.send(to([people(1, index)], 'Anomaly'), `anomaly ${index}`));
      }
      await world.pass(3_500_000);
      const accepted = world.network.calls.filter(({ fate }) => fate !== 'turned away');
      const alertTypes = accepted.map(({ request }) => request?.alertType.name);
      expect(alertTypes.slice(0, 16)).toEqual(Array(16).fill('ConfirmedFire'));
      // Nobody's call is lost sight of, and none takes a second attempt.
      expect((await outcomes(world, fire)).flat()).toEqual(Array(40).fill('heard'));
      for (const sent of anomalies) expect(await outcomes(world, sent)).toEqual([['heard']]);
      expect(world.instances.logs.map(({ event }) => event)).not.toContain('call request unclear');
    });
  });

  it('a phone rings for 60 s, then its line is for the next', async () => {
    const scene = { fates: { 0: 'rings out' as const }, request: to([people(2)]), passMs: 300_000 };
    await play('ring', { ...scene, mode: { attempts: 1, lines: 1 } }, async (world, sent) => {
      const [first] = callsTo(world, someNumber(0, 0));
      expect(first?.endedBy).toBe('service');
      const rangMs = (first?.endedAt ?? 0) - (first?.placedAt ?? 0);
      expect(rangMs).toBeGreaterThanOrEqual(60_000);
      expect(rangMs).toBeLessThan(91_000);
      expect(await outcomes(world, sent)).toEqual([['no_answer'], ['heard']]);
    });
  });
});

describe('what is surely spoken', () => {
  it.each([
    ['hangs up early', ['cut_short', 'unknown']],
    ['speech fails', ['unknown']],
    ['busy', ['busy']],
    ['no answer', ['no_answer']],
    ['rings out', ['no_answer']],
    ['declines', ['declined']],
  ] as const)('somebody who %s is called again', async (fate, expected) => {
    await play(`again ${fate}`, { fates: { 0: [fate, 'listens'] }, passMs: 300_000 }, async (world, sent) => {
      const [told = []] = await outcomes(world, sent);
      // Who hangs up within moments may have heard the first word or not.
      expect(told).toEqual([expect.toBeOneOf([...expected]), 'heard']);
      const [first, second] = callsTo(world, someNumber(0, 0));
      expect((second?.placedAt ?? 0) - (first?.endedAt ?? 0)).toBeGreaterThanOrEqual(29_000);
    });
  });

  it.each(Array.from({ length: 12 }, (_, seed) => seed))(
    'who hangs up in the middle is reached if one unit was spoken by then, and otherwise called again: seed %i',
    async (seed) => {
      const scene = { fates: { 0: ['hangs up in the middle', 'listens'] as const }, passMs: 300_000 };
      await play(`unit ${seed}`, scene, async (world, sent) => {
        const [call, again] = callsTo(world, someNumber(0, 0));
        const { text = '', startedAt = Infinity, endedAt = 0 } = call?.speeches[0] ?? {};
        const spoken = (endedAt - startedAt) / ((text.length / 3) * MS_PER_CHARACTER);
        // Between these two the service cannot be sure how fast a voice speaks.
        const isCalledAgain = again !== undefined;
        expect({ spoken, isCalledAgain }).toEqual({
          spoken,
          isCalledAgain: spoken < 1 ? true : spoken > 1.8 ? false : isCalledAgain,
        });
        expect(await statuses(world, sent)).toEqual(['heard']);
      });
    },
  );

  it.each<[what: string, most: number, Scene]>([
    [
      'who declines by 603 while no other call is open is called once more',
      2,
      { fates: { 0: Array(3).fill('declines by 603') } },
    ],
    [
      'nobody is dialled after the deadline',
      3,
      { mode: { deadlineMs: 60_000, attempts: 10, retryMs: 25_000 }, fates: { 0: Array(10).fill('busy') } },
    ],
  ])('%s', async (_, most, scene) => {
    await play('given up', { ...scene, passMs: 600_000 }, async (world, sent) => {
      expect(await statuses(world, sent)).toEqual(['not_reached']);
      expect(world.dialled.length).toBeGreaterThan(1);
      expect(world.dialled.length).toBeLessThanOrEqual(most);
    });
  });
});

describe('settings that are changed while people wait', () => {
  it.each<[what: string, changed: Partial<PhoneRules>, status: string]>([
    ['a shorter deadline ends who waits for longer already', { deadlineMs: 180_000 }, 'not_reached'],
    ['who may not be called any more is not called', { allowedPrefixes: ['+44'] }, 'failed'],
  ])('%s: nobody is dialled then', async (_, changed, status) => {
    const mode: Mode = { ...QUIET, instances: 2, lines: 2, deadlineMs: 1_800_000, destinations: [] };
    await inWorld('changed settings', mode, { fateOf: () => 'listens' }, async (world) => {
      const sent = world.senders.send(to([people(20)], 'Anomaly'), 'key');
      await world.pass(200_000);
      Object.assign(world.rules, changed);
      const requested = () => world.instances.logs.filter(({ event }) => event === 'call requested').length;
      const before = requested();
      const called = new Set(world.network.calls.map(({ request }) => request?.number)).size;
      await world.pass(600_000);
      expect(requested()).toBe(before);
      const known = await statuses(world, sent);
      expect(known.filter((one) => one === 'heard')).toHaveLength(called);
      expect(known.filter((one) => one === status)).toHaveLength(20 - called);
      expect(called).toBeLessThan(20);
    });
  });
});

describe('our set-up', () => {
  it('is wrong for two minutes: nobody is given up, an error says so at once, and then they are called', async () => {
    await inWorld('set-up', QUIET, {}, async (world) => {
      world.conditions.breakSetUp(120_000);
      const sent = world.senders.send(to([people(3)]), 'key');
      await world.pass(5_000);
      expect(await statuses(world, sent)).toEqual(['waiting', 'waiting', 'waiting']);
      expect(world.instances.logs.filter(({ level }) => level === 'error')).not.toEqual([]);
      // Who is not even asked for meanwhile is told the same reason.
      const later = world.senders.send(to([people(2, 1)]), 'later');
      await world.pass(4_000);
      expect(reasons(later)).toEqual(Array(2).fill(reasons(sent)[0]));
      await world.pass(300_000);
      expect(await outcomes(world, sent)).toEqual([['heard'], ['heard'], ['heard']]);
    });
  });
});

/** When the first of two people of a group was called first. */
const firstCallOf = (world: World, group: number): number =>
  Math.min(...people(2, group).flatMap((number) => callsTo(world, number).map(({ placedAt }) => placedAt)));

describe('waves', () => {
  const request = to([people(2), people(2, 1), people(2, 2)], 'ConfirmedFire', { confirm: true, waveMs: 60_000 });
  const mode = { lines: 6 };

  it('are dialled one after the other, each after its time', async () => {
    await play('waves', { mode, request, passMs: 1_800_000 }, async (world, sent) => {
      const [first, second, third] = [0, 1, 2].map((group) => firstCallOf(world, group));
      for (const ms of [(second ?? 0) - (first ?? 0), (third ?? 0) - (second ?? 0)]) {
        expect(ms).toBeGreaterThanOrEqual(59_000);
        expect(ms).toBeLessThan(95_000);
      }
      expect(await statuses(world, sent)).toEqual(Array(6).fill('not_reached'));
      expect(new Set((await outcomes(world, sent)).flat())).toEqual(new Set(['unconfirmed']));
    });
  });

  it('the first 1 stops the rest: who rings is hung up, who waits is not called, and who pressed it is thanked', async () => {
    const callees = { 0: 'presses in the middle', 1: 'rings out' } as const;
    await play('confirmed', { mode, fates: callees, request, passMs: 1_800_000 }, async (world, sent) => {
      expect(await statuses(world, sent)).toEqual(['confirmed', 'stopped', 'stopped', 'stopped', 'stopped', 'stopped']);
      expect(callsTo(world, someNumber(0, 0))[0]?.speeches.map(({ isWhole }) => isWhole)).toEqual([undefined, true]);
      expect(callsTo(world, someNumber(0, 1))[0]).toMatchObject({ state: 'ended', endedBy: 'service' });
      expect(world.network.calls).toHaveLength(2);
    });
  });

  it('the next one begins at once when nobody of those before can be reached any more', async () => {
    const callees = { 0: 'wrong number', 1: 'wrong number' } as const;
    await play('hopeless', { mode, fates: callees, request, passMs: 30_000 }, async (world) => {
      expect(firstCallOf(world, 2) - firstCallOf(world, 0)).toBeLessThan(20_000);
    });
  });

  it('without waves each has to confirm', async () => {
    const flat = to([people(3)], 'ConfirmedFire', { confirm: true });
    const keys = { 0: 'presses in the middle', 1: ['listens', 'presses at the end'] } as const;
    await play('each', { fates: keys, request: flat, passMs: 900_000 }, async (world, sent) => {
      expect(await outcomes(world, sent)).toEqual([
        ['confirmed'],
        ['unconfirmed', 'confirmed'],
        ['unconfirmed', 'unconfirmed', 'unconfirmed'],
      ]);
    });
  });
});

describe('stop', () => {
  it.each([
    ['before anybody answers', 500],
    ['while the message is spoken', 50_000],
    ['after the end', 1_200_000],
  ])('%s, twice: nobody is dialled after it, and nobody is cut', async (_, afterMs) => {
    const mode = { lines: 3, retryMs: 60_000, instances: 3 };
    const scene = { fates: { 1: 'rings out', 2: ['busy', 'busy', 'busy'] }, request: to([people(5)]) } as const;
    await play(`stop ${afterMs}`, { ...scene, mode, passMs: afterMs }, async (world, sent) => {
      const isOver = (await world.viewOf(sent))?.status === 'completed';
      world.senders.stop(sent);
      await world.pass(100);
      world.senders.stop(sent);
      await world.pass(1_000);
      expect(world.network.calls.filter(({ state }) => state === 'ringing')).toEqual([]);
      const dialled = world.dialled.length;
      await world.pass(1_800_000);
      expect(world.dialled.length).toBe(dialled);
      expect((await world.viewOf(sent))?.status).toBe(isOver ? 'completed' : 'stopped');
      for (const { speeches } of world.network.calls) {
        expect(speeches.map(({ cutBy }) => cutBy).filter((by) => by === 'service')).toEqual([]);
      }
      expect(world.network.calls.filter(({ state }) => state !== 'ended')).toEqual([]);
      expect(world.instances.logs.filter(({ event }) => event === 'recipient not reached').length).toBe(isOver ? 2 : 0);
    });
  });
});

/** The moment at which nobody else is to be dialled, and how many have been by then. */
const closed = async (by: 'a stop' | 'a 1', world: World) => {
  const isTime = () =>
    by === 'a stop' ? world.dialled.length > 8 : world.network.calls.some(({ keys }) => keys.length > 0);
  for (let turn = 0; turn < 500 && !isTime(); turn += 1) await world.pass(20);
  const [dial] = world.dialled;
  const other = world.instances.any();
  if (by === 'a stop' && dial) void other?.life.do(async () => other.phone.stop(dial.notificationId, other.log));
  return { other, at: world.now, dialled: world.dialled.length };
};

describe('while fifty are being dialled by three instances', () => {
  const mode = { lines: 60, instances: 3, tableLatencyMs: 100, answersWithinMs: [300, 300] } as const;
  const request = to([people(50)], 'ConfirmedFire', { confirm: true, waveMs: 60_000 });

  const playAll = async (by: 'a stop' | 'a 1', look: (world: World, sent: SentRequest) => Promise<void>) => {
    const first: Fate = by === 'a 1' ? 'presses at the start' : 'rings out';
    const fateOf = (number: PhoneNumber | undefined) => (number === someNumber(0, 0) ? first : 'rings out');
    // In some of these the claims of others come first again and again, if nothing is done about it.
    for (const seed of [1, 16, 28, 30]) {
      await inWorld(`closed ${by} ${seed}`, { ...QUIET, ...mode }, { fateOf }, async (world) =>
        look(world, world.senders.send(request, 'key')),
      );
    }
  };

  it.each(['a stop', 'a 1'] as const)('%s is not kept waiting by their claims', async (by) => {
    await playAll(by, async (world, sent) => {
      const { at, dialled } = await closed(by, world);
      expect(dialled).toBeLessThan(30);
      await world.pass(2_000);
      expect(world.network.calls.filter(({ state }) => state === 'ringing')).toEqual([]);
      expect(world.dialled.length - dialled).toBeLessThanOrEqual(4);
      expect((world.dialled.at(-1)?.at ?? Infinity) - at).toBeLessThan(1_000);
      await world.pass(60_000);
      expect(new Set((await statuses(world, sent)).slice(1))).toEqual(new Set(['stopped']));
    });
  });

  it('who is held back for a stop whose instance dies before it is written is dialled soon after', async () => {
    let held = 0;
    await playAll('a stop', async (world) => {
      const { other } = await closed('a stop', world);
      const isHeldBack = () => world.rows.some(({ properties }) => properties['heldBackUntil'] !== undefined);
      for (let turn = 0; turn < 500 && !isHeldBack(); turn += 1) await world.pass(2);
      if (!isHeldBack()) return;
      held += 1;
      other?.life.end();
      await world.pass(45_000);
      expect(new Set(world.dialled.map(({ number }) => number))).toEqual(new Set(people(50)));
    });
    expect(held).toBeGreaterThan(0);
  });
});

describe('answers that get lost', () => {
  it('of all writes to storage: what was written is known again, and what it asks for is done at once', async () => {
    await inWorld('no answers', { ...QUIET, destinations: [] }, {}, async (world) => {
      const carryOut = world.table.transact.bind(world.table);
      vi.spyOn(world.table, 'transact').mockImplementation(async (...asked) => {
        await carryOut(...asked);
        throw new StorageTrouble(0, { reason: 'no answer' });
      });
      const sent = world.senders.send(to([people(1)]), 'key');
      await world.pass(120_000);
      expect(await outcomes(world, sent)).toEqual([['heard']]);
      const [call] = world.network.calls;
      expect((call?.placedAt ?? Infinity) - BEGINNING).toBeLessThan(3_000);
      expect((call?.speeches[0]?.requestedAt ?? Infinity) - (call?.answeredAt ?? 0)).toBeLessThan(1_000);
      expect((call?.endedAt ?? Infinity) - (call?.speeches[0]?.endedAt ?? 0)).toBeLessThan(1_000);
      expect(world.dialled).toHaveLength(1);
    });
  });

  it('of a request to speak: it may be heard, and nobody is hung up before it would have started', async () => {
    await play('unanswered', {}, async (world, sent) => {
      vi.spyOn(UnreliableLine.prototype, 'speak').mockImplementation(async (...asked) => {
        world.network.speak(...asked);
        throw new PhoneLineError('unanswered', 'no answer');
      });
      await world.pass(120_000);
      expect(await outcomes(world, sent)).toEqual([['heard']]);
    });
  });
});

describe('without the table', () => {
  it('a call is spoken to once in a process, and hung up at the end of its message', async () => {
    await play('without table', { mode: { eventRepeat: 1 }, passMs: 500 }, async (world, sent) => {
      world.conditions.stopTable(120_000);
      await world.pass(100_000);
      const [call] = world.network.calls;
      expect((call?.answeredAt ?? 0) - (call?.placedAt ?? 0)).toBeGreaterThan(1_000);
      expect(call?.speeches.map(({ isWhole }) => isWhole)).toEqual([true]);
      expect(call?.endedBy).toBe('service');
      expect((call?.endedAt ?? Infinity) - (call?.speeches[0]?.endedAt ?? 0)).toBeLessThan(10_000);
      // When the table is back, nobody is forgotten.
      await world.pass(900_000);
      expect((await world.viewOf(sent))?.status).toBe('completed');
    });
  });

  it.each([
    ['that could not be hung up either', 'hangUp', 120_000, [true]],
    ['of which nothing is heard after the request to speak', 'speak', 30_000, []],
  ] as const)('a call of another system %s is hung up when it is back', async (_, request, awayMs, heard) => {
    await inWorld(`of another system, ${request}`, QUIET, {}, async (world) => {
      world.conditions.stopTable(awayMs);
      const asked = vi.spyOn(UnreliableLine.prototype, request);
      asked.mockRejectedValueOnce(new PhoneLineError('unanswered', 'no answer'));
      const call = world.network.callOfAnotherSystem();
      await world.pass(awayMs - 1_000);
      expect(call.speeches.map(({ isWhole }) => isWhole)).toEqual(heard);
      expect(asked).toHaveBeenCalledTimes(1);
      expect(call.state).toBe('up');
      await world.pass(60_000);
      expect(call.endedBy).toBe('service');
    });
  });

  it('who is spoken to is not cut off by late news of a speech that another one has ended', async () => {
    await play('cancelled late', { request: to([people(1)]), passMs: 500 }, async (world) => {
      const [call] = world.network.calls;
      const [instance] = world.instances.living;
      if (call === undefined || instance === undefined) throw new Error('nobody is called');
      for (let turn = 0; turn < 600 && call.speeches[0]?.startedAt === undefined; turn += 1) await world.pass(100);
      world.conditions.stopTable(5_000);
      const event = { kind: 'play canceled', callId: call.id, attempt: call.request?.attempt, result: {} } as const;
      const { life, phone, log } = instance;
      void life.do(() => phone.handle([event], alertTypeOf('Custom'), log));
      await world.pass(60_000);
      expect(call.speeches.map(({ isWhole }) => isWhole)).toEqual([true]);
    });
  });

  it('who is spoken to is not cut off when it is back, also by another instance that has noticed it', async () => {
    for (let seed = 1; seed <= 12; seed += 1) {
      const scene = { mode: { instances: 2, ringMs: 25_000 }, passMs: 500 };
      await play(`away ${seed}`, scene, async (world) => {
        const { network, conditions, instances } = world;
        const [call] = network.calls;
        for (let second = 0; call?.speeches.length === 0 && second < 60; second += 1) {
          conditions.stopTable(3_000);
          instances.sweep(instances.living);
          await world.pass(1_000);
        }
        await world.pass(300_000);
        expect(call?.speeches).not.toEqual([]);
        expect(call?.speeches.map(({ cutBy }) => cutBy)).not.toContain('service');
        expect(call?.state).toBe('ended');
      });
    }
  });

  it('who has rung for too long may be listening afterwards: nothing follows from a look then, and it is not repeated without a pause', async () => {
    const scene = { mode: { instances: 2, ringMs: 25_000 }, fates: { 0: 'rings out' }, passMs: 24_000 } as const;
    await play('held back', { ...scene, request: to([people(1)]) }, async (world) => {
      const [call] = world.network.calls;
      world.conditions.stopTable(3_000);
      world.instances.sweep(world.instances.living);
      await world.pass(6_000);
      const before = world.requests.length;
      await world.pass(10_000);
      expect(call?.state).toBe('ringing');
      expect(world.requests.length - before).toBeLessThan(60);
      await world.pass(30_000);
      expect(call?.endedBy).toBe('service');
    });
  });
});

it('the phone is switched off: what was under way ends as stopped, its numbers are masked, nobody is called, and all is deleted when it expires', async () => {
  const scene = { fates: { 0: 'busy', 1: 'rings out' }, request: to([people(5)]), passMs: 20_000 } as const;
  await play('off', { ...scene, mode: { retryMs: 60_000 } }, async (world, sent) => {
    world.instances.end();
    const before = world.dialled.length;
    const cleanUp = phoneOff({ table: world.faultlessTable, retentionMs: world.rules.retentionMs });
    const sweep = async (times: number) => {
      for (let turn = 0; turn < times; turn += 1) {
        void cleanUp(SILENT);
        await world.pass(30_000);
      }
    };
    await sweep(5);
    expect((await world.viewOf(sent))?.status).toBe('stopped');
    expect(await statuses(world, sent)).not.toContain('waiting');
    expect(JSON.stringify(world.rows)).not.toMatch(/\+\d{7}/);
    expect(world.dialled.length).toBe(before);
    await world.pass(91 * 86_400_000);
    await sweep(5);
    expect(world.rows).toEqual([]);
  });
});

describe('an instance dies', () => {
  const scene = {
    mode: { instances: 2 },
    fates: { 1: ['busy', 'listens'] },
    request: to([people(2)]),
    passMs: 1_200_000,
  } as const;

  it.each(['carried out', 'not carried out'] as const)(
    'of any of its requests, which is %s, to storage or to the line: both hear it, and once',
    async (when) => {
      const alone = await play('deaths', { ...scene, passMs: 200_000 }, async ({ requests }) => requests.length);
      const most = Math.min(alone, 60);
      expect(most).toBeGreaterThan(15);
      for (let at = 1; at <= most; at += 1) {
        await play('deaths', { ...scene, death: { at, when } }, async (world, sent) => {
          const { calls } = world.network;
          const speeches = calls.flatMap((call) => call.speeches);
          const whole = speeches.filter(({ isWhole }) => isWhole).length;
          const cut = speeches.filter(({ cutBy }) => cutBy === 'service').length;
          const open = calls.filter(({ state }) => state !== 'ended').length;
          const told = await statuses(world, sent);
          expect({ at, told, whole, cut, open }).toEqual({ at, told: ['heard', 'heard'], whole: 2, cut: 0, open: 0 });
        });
      }
    },
  );
});

/** How many requests to storage a good call takes, and how many of them from the end of its message on. */
const requestsOfGoodCall = async (destinations: readonly Destination[], seed: number) =>
  play(`good ${seed}`, { mode: { destinations }, passMs: 120_000 }, async (world) => {
    // The first call creates the table, which happens once. This one is not asked for at a whole time.
    await world.pass(7);
    const before = world.requests.length;
    world.senders.send(to([people(1, 1)]), 'second');
    await world.pass(85_000);
    const [call] = callsTo(world, someNumber(1, 0));
    const endedAt = call?.speeches[0]?.endedAt ?? Infinity;
    // Those of the timer function are made at whole times.
    const asked = world.requests
      .slice(before)
      .filter((request) => request.to === 'table' && (request.at - BEGINNING) % 30_000 !== 0);
    return { all: asked.length, afterTheMessage: asked.filter(({ at }) => at >= endedAt).length };
  });

it('a good call takes at most eight requests to storage, two more for each destination of outcomes, and four from the end of its message on', async () => {
  for (let seed = 1; seed <= 8; seed += 1) {
    for (const count of [0, 1, 2]) {
      const { all, afterTheMessage } = await requestsOfGoodCall(DESTINATIONS.slice(0, count), seed);
      expect(all).toBeLessThanOrEqual(8 + 2 * count);
      expect(afterTheMessage).toBeLessThanOrEqual(4 + 2 * count);
    }
  }
});

it('a stop that could not be told before the end is told with its own time, and the end with its own', async () => {
  const mode = { topicFaults: 1, lines: 1 };
  await play('told late', { mode, request: to([people(2)]) }, async (world, sent) => {
    const isSpokenTo = () => world.network.calls.some(({ speeches }) => speeches.length > 0);
    for (let turn = 0; turn < 600 && !isSpokenTo(); turn += 1) await world.pass(100);
    world.senders.stop(sent);
    await world.pass(100_000);
    expect(await statuses(world, sent)).toEqual(['heard', 'stopped']);
    const early = world.published.length;
    world.conditions.calmDown();
    await world.pass(900_000);
    const times = new Map(world.published.slice(early).map(({ id, time }) => [id.split('/').slice(1).join('/'), time]));
    expect(new Set(times.keys())).toEqual(new Set(['0/heard', '1/stopped', 'completed', 'stopped']));
    expect(times.get('stopped')).toBeLessThan(times.get('completed') ?? 0);
  });
});
