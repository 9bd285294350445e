import { describe, expect, it } from 'vitest';

import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { NotificationRequest } from '../../../src/calls/phone.ts';
import type { Fate } from './callees.ts';
import type { NetworkCall } from './network.ts';
import {
  bodyOf,
  callsTo,
  firstCall,
  logged,
  openCalls,
  outcomes,
  people,
  play,
  rangAt,
  ROOM,
  send,
  SOON,
  statuses,
  tableRequests,
  until,
  wavesOf,
} from './scene.ts';
import { someNumber } from './senders.ts';
import type { World } from './world.ts';

// What a callee may say with a key, and what follows for the others: waves, enough confirmations, a stop.

const CONFIRM = { confirm: true } as const;

/** What was spoken: the number of each speech, and whether it was cut. */
const spoken = (call: NetworkCall | undefined): string =>
  call?.speeches.map(({ number, isWhole }) => `${number}${isWhole === true ? '' : ' cut'}`).join(', ') ?? '';

const openAfterLastWord = (call: NetworkCall | undefined): number =>
  (call?.endedAt ?? Infinity) - (call?.speeches.at(-1)?.endedAt ?? 0);

describe('a callee who', () => {
  it.each<[Fate, status: string, spoken: string]>([
    ['listens', 'not_reached', '0'],
    ['presses at the start', 'confirmed', '0 cut, 9'],
    ['presses in the middle', 'confirmed', '0 cut, 9'],
    ['presses twice', 'confirmed', '0 cut, 9'],
    ['presses at the end', 'confirmed', '0, 9'],
    ['presses late', 'confirmed', '0, 9'],
    ['presses too late', 'not_reached', '0'],
    ['presses 9', 'not_reached', '0'],
    ['hears it again and confirms', 'confirmed', '0 cut, 1 cut, 9'],
    ['hears it again, late', 'confirmed', '0, 1, 2, 9'],
    ['hears it again and again', 'not_reached', '0 cut, 1 cut, 2'],
    ['cannot go', 'cannot_go', '0 cut, 8'],
    ['confirms, then cannot go', 'confirmed', '0 cut, 9'],
    ['cannot go, then confirms', 'confirmed', '0 cut, 8 cut, 9'],
  ])('%s is %s, and was told %s', async (fate, status, expected) => {
    await play(fate, { mode: { attempts: 1 }, fates: { 0: fate } }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(1), CONFIRM);
      await world.pass(300_000);
      const [call] = world.network.calls;
      expect([await statuses(world, sent), spoken(call), call?.endedBy]).toEqual([[status], expected, 'service']);
      // A thumb has 8 s after the last word; after a goodbye the line is closed at once.
      const isAnswered = status !== 'not_reached';
      expect(openAfterLastWord(call)).toBeGreaterThan(isAnswered ? 0 : 7_900);
      expect(openAfterLastWord(call)).toBeLessThan(isAnswered ? 2_000 : 10_000);
    });
  });

  it.each(['3', '1'])(
    'pressed a %s that is reported when the next call rings already: that is hung up',
    async (key) => {
      await play('late key', { fates: { 0: ['listens', 'rings out'] } }, async (world) => {
        const sent = send(world, 'ConfirmedFire', people(1), CONFIRM);
        await until(world, () => world.network.calls[1]?.state === 'ringing', 200_000);
        const [call, ringing] = world.network.calls;
        if (call !== undefined) world.network.report(call, key);
        await world.pass(3_000);
        expect(ringing).toMatchObject({ state: 'ended', endedBy: 'service' });
        await world.pass(300_000);
        expect(await statuses(world, sent)).toEqual([key === '1' ? 'confirmed' : 'cannot_go']);
        expect(world.network.calls).toHaveLength(2);
      });
    },
  );
});

const THREE_WAVES: Partial<NotificationRequest> = {
  ...CONFIRM,
  waveMs: 60_000,
  waves: wavesOf(people(2), people(2, 1), people(2, 2)),
};

/** When the first of a wave's two recipients rang, in milliseconds from the beginning. */
const waveRangAt = (world: World, group: number): number =>
  Math.min(...people(2, group).map((number) => rangAt(world, number)));

describe('waves', () => {
  it('are dialed one after the other, each after its time', async () => {
    await play('waves', { mode: ROOM }, async (world) => {
      const sent = send(world, 'ConfirmedFire', [], THREE_WAVES);
      await world.pass(1_800_000);
      for (const group of [1, 2]) {
        const afterMs = waveRangAt(world, group) - waveRangAt(world, group - 1);
        expect(afterMs).toBeGreaterThanOrEqual(59_000);
        expect(afterMs).toBeLessThan(63_000);
      }
      expect(await statuses(world, sent)).toEqual(Array(6).fill('not_reached'));
    });
  });

  it('the first 1 stops the rest: a ringing call is hung up, nobody else is called', async () => {
    await play('first 1', { mode: ROOM, fates: { 0: 'presses in the middle', 1: 'rings out' } }, async (world) => {
      const sent = send(world, 'ConfirmedFire', [], THREE_WAVES);
      await world.pass(1_800_000);
      expect(await statuses(world, sent)).toEqual(['confirmed', ...Array(5).fill('stopped')]);
      expect((await outcomes(world, sent))[1]).toEqual(['stopped']);
      expect(callsTo(world, someNumber(0, 1))[0]?.endedBy).toBe('service');
      expect(world.network.calls).toHaveLength(2);
    });
  });

  it('the next one begins at once when nobody before can be reached any more', async () => {
    await play('hopeless', { mode: ROOM, fates: { 0: 'wrong number', 1: 'cannot go' } }, async (world) => {
      send(world, 'ConfirmedFire', [], { ...THREE_WAVES, waveMs: 120_000 });
      await world.pass(100_000);
      const pressedAt = callsTo(world, someNumber(0, 1))[0]?.keys[0]?.pressedAt ?? 0;
      expect(callsTo(world, someNumber(1, 0))[0]?.placedAt).toSatisfy(
        (at: number) => at > pressedAt && at < pressedAt + 2_000,
      );
    });
  });

  it('two confirmations that are needed may come at the same moment on two instances', async () => {
    const fates = { 0: 'presses in the middle', 1: 'presses in the middle' } as const;
    for (let seed = 1; seed <= 8; seed += 1) {
      await play(`both ${seed}`, { mode: { ...ROOM, ...SOON, instances: 3 }, fates }, async (world) => {
        const sent = send(world, 'ConfirmedFire', [], { ...THREE_WAVES, confirmationsNeeded: 2 });
        await world.pass(200_000);
        const { reached } = await bodyOf(world, sent);
        expect([reached, await statuses(world, sent)]).toEqual([
          2,
          ['confirmed', 'confirmed', ...Array(4).fill('stopped')],
        ]);
        expect(world.network.calls).toHaveLength(2);
      });
    }
  });

  it('too few confirm: all waves are called, and an error says so', async () => {
    await play(
      'too few',
      { mode: { ...ROOM, attempts: 1 }, fates: { 0: 'cannot go', 1: 'wrong number' } },
      async (world) => {
        const sent = send(world, 'ConfirmedFire', [], { ...THREE_WAVES, confirmationsNeeded: 2 });
        await world.pass(900_000);
        const { status, reached, confirmations_needed: needed } = await bodyOf(world, sent);
        expect([status, reached, needed]).toEqual(['completed', 0, 2]);
        expect(logged(world, 'notification not confirmed')).toMatchObject([
          { level: 'error', fields: { confirmations: 0, confirmations_needed: 2 } },
        ]);
      },
    );
  });
});

describe('a stop', () => {
  it.each([
    ['before anybody answers', 2_000],
    ['while the message is spoken', 50_000],
    ['after the end', 1_200_000],
  ])('%s, twice: nobody is dialed after it, and no message is cut', async (_, afterMs) => {
    const mode = { lines: 3, callsAtOnce: 3, retryMs: 60_000, instances: 3 };
    await play(`stop ${afterMs}`, { mode, fates: { 1: 'rings out', 2: Array(3).fill('busy') } }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(5));
      await world.pass(afterMs);
      const isOver = (await bodyOf(world, sent)).status === 'completed';
      world.senders.stop(sent);
      await world.pass(100);
      world.senders.stop(sent);
      await world.pass(1_000);
      expect(openCalls(world).filter(({ state }) => state === 'ringing')).toEqual([]);
      const dialled = world.dialled.length;
      await world.pass(1_800_000);
      expect(world.dialled.length).toBe(dialled);
      expect((await bodyOf(world, sent)).status).toBe(isOver ? 'completed' : 'stopped');
      const cut = world.network.calls.flatMap(({ speeches }) => speeches.filter(({ cutBy }) => cutBy === 'service'));
      expect(cut).toEqual([]);
      expect(openCalls(world)).toEqual([]);
      // It wakes nobody.
      expect(logged(world, 'recipient not reached')).toHaveLength(isOver ? 2 : 0);
    });
  });

  it.each([1, 3])('of fifty ringing phones: they are quiet within 5 s, %i instances', async (instances) => {
    await play('false alarm', { mode: { ...ROOM, instances }, fates: () => 'rings out' }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(50));
      await until(world, () => openCalls(world).length === 50);
      await world.pass(2_000);
      const before = tableRequests(world);
      world.senders.stop(sent);
      await world.pass(5_000);
      expect(openCalls(world)).toEqual([]);
      await world.pass(10_000);
      expect(tableRequests(world) - before).toBeLessThan(400);
      expect(await statuses(world, sent)).toEqual(Array(50).fill('stopped'));
    });
  });

  it('whose instance dies before it hangs up: another instance does', async () => {
    await play('dead stop', { mode: { ...ROOM, instances: 2 }, fates: () => 'rings out' }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(10));
      await until(world, () => openCalls(world).length === 10);
      await world.pass(2_000);
      const [instance] = world.instances.living;
      const { notification_id: id } = await bodyOf(world, sent);
      void instance?.life.do(async () => instance.phone.stop(id, instance.log));
      while ((await bodyOf(world, sent)).status !== 'stopped') await world.pass(1);
      instance?.life.end();
      await world.pass(36_000);
      expect(openCalls(world)).toEqual([]);
    });
  });

  it.each(['a stop', 'a 1'] as const)('%s while fifty are being dialed does not wait for their claims', async (by) => {
    const first: Fate = by === 'a 1' ? 'presses at the start' : 'rings out';
    const fates = (number: PhoneNumber | undefined): Fate => (number === someNumber(0, 0) ? first : 'rings out');
    const mode = { ...ROOM, instances: 3, tableLatencyMs: 50, answersWithinMs: [300, 300] } as const;
    let late = 0;
    for (let seed = 1; seed <= 12; seed += 1) {
      await play(`claims ${seed}`, { mode, fates }, async (world) => {
        const sent = send(world, 'ConfirmedFire', [], { ...CONFIRM, waves: wavesOf(people(50)), waveMs: 60_000 });
        const call = await firstCall(world);
        await until(world, () => (by === 'a 1' ? call.keys.length > 0 : world.dialled.length > 8), 20_000, 2);
        const at = world.now;
        const [other, [dial]] = [world.instances.any(), world.dialled];
        if (by === 'a stop' && dial) void other?.life.do(async () => other.phone.stop(dial.notificationId, other.log));
        await world.pass(60_000);
        if ((world.dialled.at(-1)?.at ?? Infinity) - at > 2_000) late += 1;
        expect(new Set((await statuses(world, sent)).slice(1))).toEqual(new Set(['stopped']));
      });
    }
    // Writers of one row have no order: an unlucky writer waits longer, about once in 14 plays.
    expect(late).toBeLessThanOrEqual(2);
  });
});
