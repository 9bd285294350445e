import { describe, expect, it, vi } from 'vitest';
import type { OutcomeEvent } from '../../../src/calls/model/outcomes.ts';
import type { NotificationBody, Phone } from '../../../src/calls/phone.ts';
import { phoneOff } from '../../../src/calls/run/phone-off.ts';
import { CALLS } from '../../../src/calls/store/rows.ts';
import type { Fate } from './callees.ts';
import { BEGINNING } from './ground.ts';
import {
  bodyOf,
  logged,
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
import { idOf, type SentRequest, someNumber } from './senders.ts';
import { WHOLE_NUMBER } from './those.ts';
import { UnreliableLine } from './unreliable-line.ts';
import type { World } from './world.ts';

// What operators are told, and what is kept for them.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Asks an instance for something, and lets time pass until it answers. */
const ask = async <Answer>(world: World, question: (phone: Phone) => Promise<Answer>): Promise<Answer> => {
  const instance = world.instances.any();
  let answer: Answer | undefined;
  void instance?.life.do(async () => question(instance.phone)).then((value) => (answer = value));
  await until(world, () => answer !== undefined);
  if (answer === undefined) throw new Error('no answer');
  return answer;
};

const standing = async (world: World) => (await ask(world, async (phone) => phone.needingAttention())).phone;

describe('the provider', () => {
  it.each([1, 3])('is checked hourly, without calling anybody: %i instances', async (instances) => {
    const check = vi.spyOn(UnreliableLine.prototype, 'check');
    await play('hourly', { mode: { instances } }, async (world) => {
      await world.pass(5 * HOUR_MS + MINUTE_MS);
      expect(check.mock.calls.length).toBeGreaterThanOrEqual(5);
      // Instances that look at the same moment all check.
      expect(check.mock.calls.length).toBeLessThanOrEqual(6 * instances);
      expect(world.network.calls).toEqual([]);
      expect(await standing(world)).toEqual({ usable: true });
    });
  });

  it('is checked each minute while it refuses, which is told and answered until a check succeeds', async () => {
    await play('refuses', {}, async (world) => {
      await world.pass(10 * MINUTE_MS);
      world.conditions.breakSetUp(2 * HOUR_MS);
      await world.pass(HOUR_MS);
      const [first] = logged(world, 'phone service not usable');
      expect(first?.level).toBe('error');
      const { since = '', ...others } = await standing(world);
      expect(others).toEqual({ usable: false, reason: 'no permission' });
      expect(Math.abs(Date.parse(since) - (first?.at ?? 0))).toBeLessThan(2_000);
      const check = vi.spyOn(UnreliableLine.prototype, 'check');
      await world.pass(10 * MINUTE_MS);
      // At the turns of the timers, each 30 s.
      expect(check.mock.calls.length).toBeGreaterThanOrEqual(6);
      expect(check.mock.calls.length).toBeLessThanOrEqual(11);
      await world.pass(2 * HOUR_MS);
      expect(await standing(world)).toEqual({ usable: true });
    });
  });

  it('is usable as soon as it accepts a call', async () => {
    await play('accepts', {}, async (world) => {
      await world.pass(10 * MINUTE_MS);
      world.conditions.breakSetUp(2 * HOUR_MS);
      // The next check is a minute later.
      await until(world, () => logged(world, 'phone service not usable').length > 0, HOUR_MS);
      world.conditions.calmDown();
      expect((await standing(world)).usable).toBe(false);
      send(world, 'ConfirmedFire', people(1));
      await world.pass(5_000);
      expect(await standing(world)).toEqual({ usable: true });
    });
  });
});

const silent = async (world: World, request: SentRequest): Promise<number | undefined> => {
  await world.pass(200_000);
  const told = logged(world, 'urgent notification silent');
  expect(told.length).toBeLessThanOrEqual(1);
  expect(told.filter(({ fields }) => fields['notification_id'] !== idOf(request))).toEqual([]);
  return told[0] && told[0].at - BEGINNING;
};

describe('an urgent notification is told to be silent after two minutes', () => {
  const aroundTwoMinutes = expect.toSatisfy((ms: number) => ms > 118_000 && ms < 123_000);

  it.each<[string, Fate | undefined, Parameters<typeof send>[1], lines: number, isTold: boolean]>([
    ['if no line is free all the time', undefined, 'ConfirmedFire', 0, true],
    ['if phones were busy, and rang for less than 6 s', 'busy', 'ReportOfFire', 2, true],
    ['but not if a phone has rung for 6 s', 'no answer', 'ConfirmedFire', 2, false],
    ['but not if somebody has answered', 'hangs up early', 'ConfirmedFire', 2, false],
    ['and others are not', 'busy', 'Anomaly', 2, false],
  ])('%s', async (name, fate, alertType, lines, isTold) => {
    const mode = { lines, attempts: 10 };
    await play(name, { mode, fates: () => fate ?? 'listens' }, async (world) => {
      const sent = send(world, alertType, people(2));
      expect(await silent(world, sent)).toEqual(isTold ? aroundTwoMinutes : undefined);
    });
  });

  it('with the number of its phones that are busy with other calls of the service', async () => {
    const scene: Scene = { mode: { ...ROOM, ringMs: 110_000 }, fates: () => 'rings out' };
    await play('busy with ours', scene, async (world) => {
      const fires: SentRequest[] = [];
      for (let count = 0; count < 3; count += 1) {
        fires.push(send(world, 'ConfirmedFire', people(1)));
        await world.pass(1_000);
      }
      await world.pass(130_000);
      const told = logged(world, 'urgent notification silent').map(({ fields }) => fields);
      const [, , last] = fires;
      expect(told).toMatchObject([{ notification_id: last && idOf(last), busy_with_our_calls: 1 }]);
    });
  });
});

it('a call that nobody has checked for two minutes is told to be late, once', async () => {
  await play('late', { fates: { 0: 'rings out' } }, async (world) => {
    send(world, 'ConfirmedFire', people(1));
    await world.pass(10_000);
    world.instances.end();
    await world.pass(5 * MINUTE_MS);
    expect(logged(world, 'call is late')).toEqual([]);
    world.instances.start(1);
    await world.pass(2 * MINUTE_MS);
    expect(logged(world, 'call is late')).toMatchObject([{ level: 'error', fields: { seconds: expect.any(Number) } }]);
  });
});

const kinds = (events: readonly OutcomeEvent[]) => new Set(events.map(({ id }) => id.split('/').slice(1).join('/')));

describe('who is told of outcomes', () => {
  it('may hang for an hour while a fire is called: nothing waits for it, and it is told of all afterwards', async () => {
    await play('hanging receiver', { mode: { ...SOON, topicFaults: 1 } }, async (world) => {
      const anomaly = send(world, 'Anomaly', people(2));
      await world.pass(MINUTE_MS);
      const before = tableRequests(world);
      const fire = send(world, 'ConfirmedFire', people(2, 1));
      await world.pass(HOUR_MS);
      expect(rangAt(world, someNumber(1, 0)) - MINUTE_MS).toBeLessThan(2_000);
      expect(await statuses(world, fire)).toEqual(['heard', 'heard']);
      // Three of each look, twice a minute and by each process, and the tries, whose pauses grow.
      expect(tableRequests(world) - before).toBeLessThan(1_200);
      world.conditions.calmDown();
      const early = world.published.length;
      await world.pass(HOUR_MS);
      for (const sent of [anomaly, fire]) {
        const own = world.published.slice(early).filter(({ subject }) => subject === idOf(sent));
        for (const to of world.mode.destinations) {
          expect(kinds(own.filter((event) => event.to === to))).toEqual(new Set(['0/heard', '1/heard', 'completed']));
        }
      }
    });
  });

  it('learns of a stop and of the end, each with its own time', async () => {
    await play('told late', { mode: { ...SOON, topicFaults: 1, lines: 1 } }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(2));
      await until(world, () => world.network.calls.some(({ speeches }) => speeches.length > 0));
      world.senders.stop(sent);
      await world.pass(100_000);
      const early = world.published.length;
      world.conditions.calmDown();
      await world.pass(900_000);
      const times = new Map(
        world.published.slice(early).map(({ id, time }) => [id.split('/').slice(1).join('/'), time]),
      );
      expect(new Set(times.keys())).toEqual(new Set(['0/heard', '1/stopped', 'completed', 'stopped']));
      expect(times.get('stopped')).toBeLessThan(times.get('completed') ?? 0);
    });
  });
});

const acknowledged = async (world: World, sent: SentRequest): Promise<Partial<NotificationBody>> => {
  const { acknowledged_by: by, worsened_since_acknowledged: worsened } = await bodyOf(world, sent);
  return { acknowledged_by: by, worsened_since_acknowledged: worsened };
};

describe('who has a notification in hand', () => {
  it('is known; it wakes nobody, stops nothing, and is marked if the outcome becomes worse afterwards', async () => {
    await play('in hand', { mode: { attempts: 2 }, fates: { 0: ['busy', 'busy'] } }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(2));
      await world.pass(15_000);
      world.senders.acknowledge(sent, 'Ana');
      await world.pass(2_000);
      expect(await acknowledged(world, sent)).toEqual({ acknowledged_by: 'Ana' });
      await world.pass(200_000);
      expect(await statuses(world, sent)).toEqual(['not_reached', 'heard']);
      expect(await acknowledged(world, sent)).toEqual({ acknowledged_by: 'Ana', worsened_since_acknowledged: true });
      world.senders.acknowledge(sent, 'Ana');
      await world.pass(2_000);
      expect(await acknowledged(world, sent)).toEqual({ acknowledged_by: 'Ana' });
      const told = world.published.filter(({ type }) => type === 'Notification.Acknowledged');
      expect(told).toHaveLength(2 * world.mode.destinations.length);
    });
  });
});

describe('rows are deleted when they expire, and not two days early', () => {
  it.each([true, false])('with PHONE on: %s', async (isOn) => {
    await play(`expiry ${isOn}`, { mode: { ...SOON, destinations: [] } }, async (world) => {
      const sent = send(world, 'ConfirmedFire', people(2));
      await world.pass(5 * MINUTE_MS);
      expect(await statuses(world, sent)).toEqual(['heard', 'heard']);
      world.instances.end();
      const cleanUp = phoneOff({ table: world.faultlessTable, retentionMs: world.rules.retentionMs });
      const work = async () => {
        if (isOn) world.instances.start(1);
        else void cleanUp(SILENT);
        await world.pass(MINUTE_MS);
        world.instances.end();
        return world.rows.filter(({ rowKey }) => /^(notification\|f|key)/.test(rowKey)).length;
      };
      await world.pass(world.rules.retentionMs - 2 * DAY_MS);
      expect(await work()).toBe(2);
      await world.pass(2 * DAY_MS);
      expect(await work()).toBe(0);
    });
  });
});

it('the phone is switched off: what was under way is stopped, its numbers are masked, nobody is called, and the count of the day stays', async () => {
  const fates = { 0: 'busy', 1: 'rings out' } as const;
  await play('off', { mode: { retryMs: 60_000, callsAtOnce: 3, lines: 3 }, fates }, async (world) => {
    const sent = send(world, 'ConfirmedFire', people(5));
    await world.pass(20_000);
    world.instances.end();
    const before = world.dialled.length;
    const lines = () => world.table.rows(CALLS).find(({ rowKey }) => rowKey.endsWith('!line'))?.properties['lines'];
    const day = () => /"day":{[^}]*}/.exec(String(lines()))?.[0];
    const counted = day();
    const cleanUp = phoneOff({ table: world.faultlessTable, retentionMs: world.rules.retentionMs });
    void cleanUp(SILENT);
    await world.pass(30_000);
    expect((await bodyOf(world, sent)).status).toBe('stopped');
    expect(await statuses(world, sent)).not.toContain('waiting');
    expect(JSON.stringify(world.rows)).not.toMatch(WHOLE_NUMBER);
    expect([world.dialled.length, day()]).toEqual([before, counted]);
  });
});
