import { randomUUID } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { newNotificationId } from '../../../src/calls/model/ids.ts';
import { type Destination, DESTINATIONS } from '../../../src/calls/model/outcomes.ts';
import { PhoneLineError } from '../../../src/calls/model/phone-line.ts';
import { NotificationStore } from '../../../src/calls/store/notification-store.ts';
import { CALLS, LINES_KEY, notificationKey } from '../../../src/calls/store/rows.ts';
import type { Page } from '../../../src/storage/connection.ts';
import { StorageTrouble } from '../../../src/storage/errors.ts';
import type { Fate } from './callees.ts';
import { BEGINNING } from './ground.ts';
import { MS_PER_CHARACTER, type NetworkCall } from './network.ts';
import { isLeftLive } from './promises.ts';
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
  type Scene,
  send,
  SOON,
  statuses,
  tableRequests,
  until,
} from './scene.ts';
import { someNumber } from './senders.ts';
import { UnreliableLine } from './unreliable-line.ts';
import type { World } from './world.ts';

// Whatever fails: nobody who waits is forgotten, nobody who heard is called again, and no line stays open and silent.

const HOUR_MS = 3_600_000;
/** `npm run soak` tries each request, and more seeds. */
const IS_SOAK = process.env['WORLD_SEEDS'] !== undefined;

const wholeSpeeches = ({ speeches }: NetworkCall): number => speeches.filter(({ isWhole }) => isWhole).length;
const hasHeard = (world: World, number: Parameters<typeof callsTo>[1]): boolean =>
  callsTo(world, number).some((call) => wholeSpeeches(call) > 0);

describe('what was surely spoken counts', () => {
  it.each<[Fate, first: readonly string[]]>([
    ['hangs up early', ['cut_short', 'unknown']],
    ['speech fails', ['unknown']],
    ['busy', ['busy']],
    ['no answer', ['no_answer']],
    ['rings out', ['no_answer']],
    ['declines', ['declined']],
    ['forbidden', ['unknown']],
  ])('a callee who %s is called again after the pause', async (fate, first) => {
    await play(`again ${fate}`, { fates: { 0: [fate, 'listens'] } }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(1));
      await world.pass(300_000);
      expect(await outcomes(world, sent)).toEqual([[expect.toBeOneOf([...first]), 'heard']]);
      const [call, again] = world.network.calls;
      expect((again?.placedAt ?? 0) - (call?.endedAt ?? 0)).toBeGreaterThanOrEqual(world.mode.retryMs - 100);
      // A phone rings for as long as is set, then its line is for the next.
      expect((call?.endedAt ?? 0) - (call?.placedAt ?? 0)).toBeLessThan(fate === 'rings out' ? 63_000 : 70_000);
    });
  });

  it('a callee who hangs up in the middle is reached if one unit was spoken by then', async () => {
    for (let seed = 1; seed <= 12; seed += 1) {
      await play(`unit ${seed}`, { fates: { 0: ['hangs up in the middle', 'listens'] } }, async (world) => {
        const sent = send(world, 'ConfirmedFire', people(1));
        await world.pass(300_000);
        const [call, again] = world.network.calls;
        const { text = '', startedAt = Infinity, endedAt = 0 } = call?.speeches[0] ?? {};
        const units = (endedAt - startedAt) / ((text.length / 3) * MS_PER_CHARACTER);
        // Between these two the service cannot be sure how fast a voice speaks.
        const isCalledAgain = again !== undefined;
        expect({ units, isCalledAgain: units < 1 || (units <= 1.8 && isCalledAgain) }).toEqual({
          units,
          isCalledAgain,
        });
        expect(await statuses(world, sent)).toEqual(['heard']);
      });
    }
  });

  it('nobody is dialed after the deadline', async () => {
    const mode = { deadlineMs: 60_000, attempts: 10, retryMs: 25_000 };
    await play('deadline', { mode, fates: () => 'busy' }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(1));
      await world.pass(600_000);
      expect(await statuses(world, sent)).toEqual(['not_reached']);
      expect(world.dialled.length).toBeOneOf([2, 3]);
      expect(world.dialled.at(-1)?.at).toBeLessThan(BEGINNING + 61_000);
    });
  });

  it('without speech or permission for a number the attempt is used, nobody else waits, and an operator is told', async () => {
    const fates = { 0: Array(3).fill('speech fails'), 1: Array(3).fill('forbidden') } as const;
    await play('our fault', { mode: ROOM, fates }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(3));
      await world.pass(300_000);
      expect(await statuses(world, sent)).toEqual(['not_reached', 'not_reached', 'heard']);
      expect(rangAt(world, someNumber(0, 2))).toBeLessThan(2_000);
      for (const event of ['speech not available', 'call forbidden']) {
        expect(logged(world, event).map(({ level }) => level)).toEqual(Array(3).fill('error'));
      }
    });
  });
});

describe('an instance dies of any of its requests', () => {
  const scenes: readonly (readonly [string, Scene, confirm: boolean, expected: readonly string[]])[] = [
    ['two people, one of them busy at first', { fates: { 1: ['busy', 'listens'] } }, false, ['heard', 'heard']],
    ['somebody who confirms', { fates: { 0: 'presses in the middle' } }, true, ['confirmed']],
    ['somebody who hears it again and confirms', { fates: { 0: 'hears it again and confirms' } }, true, ['confirmed']],
    ['somebody who cannot go', { fates: { 0: 'cannot go' } }, true, ['cannot_go']],
    ['somebody who cannot go, then confirms', { fates: { 0: 'cannot go, then confirms' } }, true, ['confirmed']],
  ];

  describe.each(['carried out', 'not carried out'] as const)('which is %s', (when) => {
    it.each(scenes)(
      '%s: as if it had not, and the key of the request names one notification',
      async (_, scene, confirm, expected) => {
        const tryAt = async (at: number) =>
          play('deaths', { ...scene, mode: { instances: 2 }, death: { at, when } }, async (world) => {
            const sent = send(world, 'ConfirmedFire', people(expected.length), { confirm });
            await world.pass(900_000);
            const { calls } = world.network;
            const cut = calls.flatMap(({ speeches }) => speeches.filter(({ cutBy }) => cutBy === 'service')).length;
            const whole = calls.reduce((sum, call) => sum + wholeSpeeches(call), 0);
            const longest = Math.max(
              ...calls.map(({ answeredAt = Infinity, endedAt = Infinity }) => endedAt - answeredAt),
            );
            const told = await statuses(world, sent);
            expect({ at, told, isLong: longest > 300_000 }).toEqual({ at, told: expected, isLong: false });
            // A repeat or a goodbye may be cut or spoken twice.
            expect([at, confirm || (whole === expected.length && cut === 0)]).toEqual([at, true]);
            expect(world.rows.filter(({ rowKey }) => rowKey.startsWith('notification|f'))).toHaveLength(1);
            const answers = calls.flatMap(({ keys }) => keys.filter(({ key }) => key !== '2'));
            const answeredAt = Math.min(...answers.map(({ takenAt = Infinity }) => takenAt));
            expect(world.dialled.filter((dial) => dial.at > answeredAt)).toEqual([]);
            return world.requests.length;
          });
        const most = Math.min(60, await tryAt(Infinity));
        expect(most).toBeGreaterThan(15);
        for (let at = 1; at <= most; at += IS_SOAK ? 1 : 3) await tryAt(at);
      },
    );
  });
});

describe('answers that get lost', () => {
  it('of all writes to storage: what was written is recognized, and what it asks for is done at once', async () => {
    await play('no answers', { mode: { destinations: [] } }, async (world) => {
      const carryOut = world.table.transact.bind(world.table);
      vi.spyOn(world.table, 'transact').mockImplementation(async (...asked) => {
        await carryOut(...asked);
        throw new StorageTrouble(0, { reason: 'no answer' });
      });
      const sent = send(world, 'ConfirmedFire', people(1));
      await world.pass(120_000);
      expect(await outcomes(world, sent)).toEqual([['heard']]);
      const [call] = world.network.calls;
      expect((call?.placedAt ?? Infinity) - BEGINNING).toBeLessThan(3_000);
      expect((call?.speeches[0]?.requestedAt ?? Infinity) - (call?.answeredAt ?? 0)).toBeLessThan(1_000);
      expect((call?.endedAt ?? Infinity) - (call?.speeches[0]?.endedAt ?? 0)).toBeLessThan(1_000);
      expect(world.dialled).toHaveLength(1);
    });
  });

  it('of a request to speak: the message is heard, and nobody is hung up before it would have started', async () => {
    await play('unanswered', {}, async (world) => {
      const speak = world.network.speak.bind(world.network);
      vi.spyOn(world.network, 'speak').mockImplementation((...asked) => {
        speak(...asked);
        throw new PhoneLineError({ failure: 'unanswered', reason: 'no answer' });
      });
      const sent = send(world, 'ConfirmedFire', people(1));
      await world.pass(120_000);
      expect(await outcomes(world, sent)).toEqual([['heard']]);
    });
  });

  it('of a call request: nobody else waits for it', async () => {
    // oxlint-disable-next-line typescript/unbound-method
    const { call } = UnreliableLine.prototype;
    vi.spyOn(UnreliableLine.prototype, 'call').mockImplementation(async function (this: UnreliableLine, request) {
      if (request.number !== someNumber(0, 1)) return call.bind(this)(request);
      await new Promise((resolve) => void setTimeout(resolve, 15_000));
      throw new PhoneLineError({ failure: 'unanswered', reason: 'no answer in time' });
    });
    await play('hanging call', { mode: ROOM }, async (world) => {
      send(world, 'ConfirmedFire', people(4));
      await world.pass(60_000);
      for (const index of [0, 2, 3]) expect(rangAt(world, someNumber(0, index))).toBeLessThan(3_000);
    });
  });
});

describe('while storage is away', () => {
  it('for 20 s in the middle of calls, nobody is forgotten, everybody hears it, and no line stays open', async () => {
    for (let second = 0; second < 44; second += IS_SOAK ? 1 : 4) {
      await play(`outage ${second}`, { mode: { ...SOON, instances: 2 } }, async (world) => {
        const sent = send(world, 'ConfirmedFire', people(3));
        await world.pass(500 + second * 1_000);
        world.conditions.stopTable(20_000);
        await world.pass(600_000);
        expect([second, await statuses(world, sent)]).toEqual([second, ['heard', 'heard', 'heard']]);
        for (const number of people(3)) expect(hasHeard(world, number)).toBe(true);
        expect(openCalls(world)).toEqual([]);
        for (const { answeredAt = 0, endedAt = 0, speeches } of world.network.calls) {
          expect(endedAt - answeredAt).toBeLessThan(90_000);
          // Also somebody who answers while storage is away.
          expect(speeches).not.toEqual([]);
        }
      });
    }
  });

  it('a call is spoken to once in a process, and hung up at the end of its message', async () => {
    await play('without rows', { mode: { ...SOON, eventRepeat: 1 } }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(1));
      const call = await firstCall(world);
      await world.pass(1_000);
      world.conditions.stopTable(120_000);
      await world.pass(100_000);
      expect(call.speeches.map(({ isWhole }) => isWhole)).toEqual([true]);
      expect(call.endedBy).toBe('service');
      expect((call.endedAt ?? Infinity) - (call.speeches[0]?.endedAt ?? 0)).toBeLessThan(4_000);
      await world.pass(900_000);
      expect((await bodyOf(world, sent)).status).toBe('completed');
    });
  });
});

describe('a call of another system', () => {
  it.each<[string, Scene['mode'], most: number]>([
    ['once', {}, 1],
    ['repeated, late and in any order', { eventRepeat: 1, eventDelay: 0.5 }, 1],
    ['at any of three instances', { instances: 3, eventRepeat: 1, eventDelay: 0.5 }, 3],
  ])(
    'whose events come %s is spoken to once a process and hung up, and nothing is stored of it',
    async (_, mode, most) => {
      for (let seed = 1; seed <= 8; seed += 1) {
        await play(`of another ${most} ${seed}`, { mode: { ...mode } }, async (world) => {
          const call = world.network.callOfAnotherSystem();
          await world.pass(200_000);
          expect(wholeSpeeches(call)).toBeGreaterThanOrEqual(1);
          expect(call.speeches.length).toBeLessThanOrEqual(most);
          expect(call.endedBy).toBe('service');
          expect(world.rows.map(({ rowKey }) => rowKey)).toEqual([LINES_KEY]);
        });
      }
    },
  );
});

describe('nothing depends on one timer', () => {
  it('an instance that knows of nothing is at most 62 s late if the one that dialed has died', async () => {
    const mode = { instances: 2, timerNeverRuns: true, retryMs: 5_000 };
    for (let seed = 1; seed <= 12; seed += 1) {
      await play(`no timer ${seed}`, { mode, fates: { 0: ['busy', 'listens'] } }, async (world) => {
        await world.pass(seed * 11_000);
        send(world, 'ConfirmedFire', people(1));
        await until(world, () => world.network.calls[0]?.state === 'ended');
        await world.pass(1_000);
        // Nobody takes its place.
        world.instances.isEnded = true;
        const [first, second] = world.instances.living;
        (seed % 2 === 0 ? first : second)?.life.end();
        const dueAt = (world.network.calls[0]?.endedAt ?? 0) + world.mode.retryMs;
        await world.pass(120_000);
        expect((world.network.calls[1]?.placedAt ?? Infinity) - dueAt).toBeLessThan(62_000);
      });
    }
  });

  it('an app that was stopped for two days in the middle of calls ends them all, and dials nobody after the deadline', async () => {
    const fates = { 0: 'listens', 1: 'rings out', 2: Array(3).fill('busy'), 3: 'presses late' } as const;
    await play('two days', { mode: { ...ROOM, ...SOON, instances: 2 }, fates }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(5), { confirm: true });
      await until(world, () => world.network.calls.some(({ speeches }) => speeches.length > 0));
      await world.pass(2_000);
      expect(openCalls(world).length).toBeGreaterThan(2);
      const dialled = world.dialled.length;
      world.instances.end();
      await world.pass(48 * HOUR_MS);
      world.instances.start(1);
      await world.pass(700_000);
      expect([openCalls(world), world.dialled.length]).toEqual([[], dialled]);
      expect((await bodyOf(world, sent)).status).toBe('completed');
      expect(world.rows.filter(isLeftLive)).toEqual([]);
    });
  });
});

/** What ten minutes of looks cost with three live notifications beside so many that have ended. */
const looksBeside = async (ended: number): Promise<{ readonly requests: number; readonly mostRows: number }> =>
  play('many', { mode: { deadlineMs: HOUR_MS } }, async (world) => {
    world.conditions.breakSetUp(3 * HOUR_MS);
    for (let group = 0; group < 3; group += 1) send(world, 'Anomaly', people(1, group));
    const first = send(world, 'Anomaly', people(1, 3));
    await world.pass(5_000);
    world.senders.stop(first);
    await world.pass(60_000);
    const store = new NotificationStore(world.faultlessTable, randomUUID, () => undefined);
    const known = await store.load((await bodyOf(world, first)).notification_id);
    if (known === undefined) throw new Error('not stored');
    for (let count = 0; count < ended; count += 1) {
      const id = newNotificationId(world.now - count, randomUUID());
      await store.create({ ...known, notification: { ...known.notification, id } }, undefined, undefined, world.now);
    }
    const [before, page] = [tableRequests(world), vi.spyOn(world.table, 'page')];
    await world.pass(600_000);
    const pages = await Promise.all(page.mock.results.map(async ({ value }): Promise<Page> => value));
    return { requests: tableRequests(world) - before, mostRows: Math.max(...pages.map(({ rows }) => rows.length)) };
  });

it('5,000 ended notifications beside three live ones make no look slower', async () => {
  const few = await looksBeside(0);
  expect(few.mostRows).toBe(4);
  expect(await looksBeside(5_000)).toEqual(few);
});

/** Damages a row, or says that a later version wrote it. */
const spoil = async (world: World, rowKey: string, how: 'damaged' | 'of a later format'): Promise<void> => {
  const properties = how === 'damaged' ? { about: '{}', lines: 'strange' } : { format: 99 };
  await world.table.transact(CALLS, [{ kind: 'merge', rowKey, etag: '*', properties }]);
};

describe.each(['damaged', 'of a later format'] as const)('a row that is %s', (how) => {
  it('is skipped whole, told once a process, stays as it is, and stops nothing', async () => {
    await play(`unreadable ${how}`, { mode: SOON }, async (world) => {
      const lost = send(world, 'ConfirmedFire', people(3));
      await world.pass(2_000);
      const rowKey = notificationKey((await bodyOf(world, lost)).notification_id);
      await spoil(world, rowKey, how);
      for (const { life } of world.instances.living) life.end();
      await world.pass(10_000);
      const row = () => world.rows.find((one) => one.rowKey === rowKey);
      const before = row();
      const other = send(world, 'ConfirmedFire', people(2, 1));
      await world.pass(300_000);
      expect(await statuses(world, other)).toEqual(['heard', 'heard']);
      expect(callsTo(world, someNumber(0, 2))).toEqual([]);
      expect(row()).toEqual(before);
      // Whoever answers hears the message of the callback path.
      expect(openCalls(world)).toEqual([]);
      for (const call of world.network.calls) expect(wholeSpeeches(call)).toBe(1);
      expect(logged(world, how === 'damaged' ? 'stored row damaged' : 'stored row of a later format')).toHaveLength(1);
    });
  });

  it('and belongs to all lines is replaced', async () => {
    await play(`unreadable lines ${how}`, { mode: SOON }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(3));
      await world.pass(2_000);
      await spoil(world, LINES_KEY, how);
      await world.pass(300_000);
      expect(await statuses(world, sent)).toEqual(['heard', 'heard', 'heard']);
    });
  });
});

/** How many requests to storage a call takes on one instance, beside those that are made anyway. */
const requestsOf = async (seed: number, destinations: readonly Destination[], fate?: Fate): Promise<number> => {
  const countWith = async (count: number) =>
    play(`count ${seed}`, { mode: { destinations }, fates: { 0: fate ?? 'listens' } }, async (world) => {
      // The first call creates the table.
      send(world, 'Anomaly', people(1, 1));
      await world.pass(100_007);
      for (let sent = 0; sent < count; sent += 1)
        send(world, 'ConfirmedFire', people(1), { confirm: fate !== undefined });
      await world.pass(100_000);
      expect(world.network.calls).toHaveLength(1 + count);
      return tableRequests(world);
    });
  return (await countWith(1)) - (await countWith(0));
};

it('a good call takes at most eight requests to storage, two more with a destination of outcomes, and six more with a key', async () => {
  for (let seed = 1; seed <= 6; seed += 1) {
    for (const count of [0, 1, 2]) {
      // The writes of two destinations may meet.
      expect(await requestsOf(seed, DESTINATIONS.slice(0, count))).toBeLessThanOrEqual([8, 10, 20][count] ?? 0);
    }
    for (const fate of ['presses in the middle', 'cannot go', 'presses late'] as const) {
      expect([fate, await requestsOf(seed, [], fate)]).toEqual([fate, expect.toSatisfy((most: number) => most <= 14)]);
    }
  }
});
