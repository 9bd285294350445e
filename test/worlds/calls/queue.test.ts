import { describe, expect, it, vi } from 'vitest';

import type { AlertTypeName } from '../../../src/calls/model/alert-types.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { NotificationRequest } from '../../../src/calls/phone.ts';
import { callsTo, people, statuses, to as toWaves } from './asking.ts';
import { BEGINNING } from './ground.ts';
import { type Fate, type Mode, QUIET } from './modes.ts';
import { someNumber, type SentRequest } from './senders.ts';
import { inWorld, type World } from './world.ts';

// Who gets the next line: bounds that hold on one instance and on three, whatever a network without a free line says.

vi.setConfig({ testTimeout: 600_000 });

const KINDS = (['429', '603'] as const).flatMap((whenLinesAreTaken) =>
  [1, 3].map((instances) => ({ whenLinesAreTaken, instances })),
);
const SEEDS = Number(process.env['WORLD_SEEDS'] ?? 1);

const to = (
  numbers: readonly PhoneNumber[],
  ...rest: [alertType?: AlertTypeName, more?: Partial<NotificationRequest>]
): NotificationRequest => toWaves([numbers], ...rest);

const SOON: Partial<Mode> = { answersWithinMs: [3_000, 12_000] };

interface Scene {
  readonly mode?: Partial<Mode>;
  readonly fates?: (number: PhoneNumber | undefined, earlier: number) => Fate;
  readonly play: (world: World) => Promise<void>;
}

type Kind = (typeof KINDS)[number];

/** Plays a scene with some seeds. */
const playAll = async (name: string, kind: Kind, scene: Scene): Promise<void> => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const mode = { ...QUIET, ...SOON, ...kind, ...scene.mode };
    await inWorld(`${name} ${seed}`, mode, { fateOf: scene.fates ?? (() => 'listens') }, async (world) => {
      await scene.play(world);
      const unexpected = world.instances.logs.filter(({ event }) => event === 'unexpected error');
      if (unexpected.length > 0) throw new Error(JSON.stringify(unexpected));
      const both = twoAtOnce(world);
      if (both.length > 0) throw new Error(`two calls at a time to a number: ${both.join('; ')}`);
    });
  }
};

/** Numbers with two calls of ours at the same time. */
const twoAtOnce = ({ network }: World): readonly string[] => {
  const calls = network.calls.filter(({ request, fate }) => request !== undefined && fate !== 'turned away');
  return calls.flatMap((one, at) =>
    calls
      .slice(at + 1)
      .filter((other) => other.request?.number === one.request?.number && other.placedAt < (one.endedAt ?? Infinity))
      .map((other) => `${one.id} and ${other.id}`),
  );
};

const rangAt = (world: World, number: PhoneNumber | undefined, alertType?: AlertTypeName): number => {
  const calls = callsTo(world, number).filter(
    ({ fate, request }) => fate !== 'turned away' && (alertType === undefined || request?.alertType.name === alertType),
  );
  return Math.min(...calls.map(({ placedAt }) => placedAt)) - BEGINNING;
};
const endOf = (world: World): number =>
  Math.max(...world.network.calls.map(({ endedAt = Infinity }) => endedAt)) - BEGINNING;

describe.each(KINDS)('an urgent one is next: $whenLinesAreTaken, $instances instances', (kind) => {
  it('a fire after six anomalies, two lines', async ({ task }) =>
    playAll(task.name, kind, {
      play: async (world) => {
        for (let index = 0; index < 6; index += 1)
          world.senders.send(to(people(1, index), 'Anomaly'), `anomaly ${index}`);
        await world.pass(5_000);
        const fire = world.senders.send(to(people(1, 7)), 'fire');
        await world.pass(300_000);
        expect(rangAt(world, someNumber(7, 0)) - 5_000).toBeLessThan(36_000);
        expect(await statuses(world, fire)).toEqual(['heard']);
        await world.pass(300_000);
        for (let index = 0; index < 6; index += 1) {
          expect(
            callsTo(world, someNumber(index, 0)).some(({ speeches }) => speeches.some(({ isWhole }) => isWhole)),
          ).toBe(true);
        }
      },
    }));

  it('both lines ring for anomalies that nobody answers, then a fire: one makes way', async ({ task }) =>
    playAll(task.name, kind, {
      fates: (number) => (number?.startsWith('+12065550') === true ? 'rings out' : 'listens'),
      play: async (world) => {
        world.senders.send(to(people(2), 'Anomaly'), 'anomaly');
        await world.pass(5_000);
        world.senders.send(to(people(1, 1)), 'fire');
        await world.pass(300_000);
        expect(rangAt(world, someNumber(1, 0)) - 5_000).toBeLessThan(5_000);
        expect(world.instances.logs.filter(({ event }) => event === 'call makes way')).toHaveLength(1);
        const views = await Promise.all(world.senders.sent.map(async (sent) => world.viewOf(sent)));
        // Making way costs no attempt.
        expect(views[0]?.recipients.flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome))).not.toContain(
          'unknown',
        );
      },
    }));

  it('after the fire is reported no anomaly is claimed until each of its people has a line', async ({ task }) =>
    playAll(task.name, kind, {
      mode: { lines: 3 },
      play: async (world) => {
        world.senders.send(to(people(12), 'Anomaly'), 'anomaly');
        await world.pass(3_000);
        const fire = world.senders.send(to(people(6, 1)), 'fire');
        await world.pass(600_000);
        const [answer] = fire.answers;
        const id = answer?.kind === 'sent' ? answer.id : '';
        const reported = world.table.firstOf(`notification|${id}`)?.number ?? Infinity;
        const claims = world.dialled.map((one) => ({ ...one, claim: world.table.claimOf(one.attemptId)?.number ?? 0 }));
        const lastOfFire = Math.max(
          ...claims.filter(({ notificationId }) => notificationId === id).map(({ claim }) => claim),
        );
        const between = claims.filter(
          ({ claim, notificationId }) => notificationId !== id && claim > reported && claim < lastOfFire,
        );
        expect(between.map(({ number }) => number)).toEqual([]);
      },
    }));

  it('a second fire behind one to fifty people waits for a free line, not for them', async ({ task }) =>
    playAll(task.name, kind, {
      play: async (world) => {
        world.senders.send(to(people(50)), 'first');
        await world.pass(10_000);
        world.senders.send(to(people(3, 1)), 'second');
        await world.pass(60_000);
        expect(Math.min(...people(3, 1).map((number) => rangAt(world, number))) - 10_000).toBeLessThan(48_000);
      },
    }));

  it('the primary before the backup, one line, two fires at once', async ({ task }) =>
    playAll(task.name, kind, {
      mode: { lines: 1 },
      play: async (world) => {
        world.senders.send(to(people(2)), 'one');
        world.senders.send(to(people(2, 1)), 'other');
        await world.pass(400_000);
        for (const group of [0, 1]) {
          expect(rangAt(world, someNumber(group, 0))).toBeLessThan(rangAt(world, someNumber(group, 1)));
        }
        expect(Math.max(...[0, 1].map((group) => rangAt(world, someNumber(group, 0))))).toBeLessThan(
          Math.min(...[0, 1].map((group) => rangAt(world, someNumber(group, 1)))),
        );
      },
    }));
});

describe.each(KINDS)('one call at a time to a number: $whenLinesAreTaken, $instances instances', (kind) => {
  it('ten fires to one officer: all are heard; an anomaly to somebody else waits for none of them', async ({ task }) =>
    playAll(task.name, kind, {
      mode: { lines: 4 },
      play: async (world) => {
        const fires: SentRequest[] = [];
        for (let index = 0; index < 10; index += 1) {
          fires.push(world.senders.send(to(people(1)), `fire ${index}`));
          await world.pass(200);
        }
        const anomaly = world.senders.send(to(people(1, 1), 'Anomaly'), 'anomaly');
        await world.pass(900_000);
        for (const fire of fires) expect(await statuses(world, fire)).toEqual(['heard']);
        expect(await statuses(world, anomaly)).toEqual(['heard']);
        expect(rangAt(world, someNumber(1, 0)) - 2_000).toBeLessThan(3_000);
      },
    }));

  it('a fire takes the number of an anomaly that only rings', async ({ task }) =>
    playAll(task.name, kind, {
      mode: { lines: 10 },
      fates: (_, earlier) => (earlier === 0 ? 'rings out' : 'listens'),
      play: async (world) => {
        world.senders.send(to(people(1), 'Anomaly'), 'anomaly');
        await world.pass(4_000);
        world.senders.send(to(people(1)), 'fire');
        await world.pass(300_000);
        expect(rangAt(world, someNumber(0, 0), 'ConfirmedFire') - 4_000).toBeLessThan(4_000);
        for (const sent of world.senders.sent) expect(await statuses(world, sent)).toEqual(['heard']);
      },
    }));
});

describe.each(KINDS)('lines: $whenLinesAreTaken, $instances instances', (kind) => {
  const ideal = (count: number, lines: number) => Math.ceil(count / lines) * (MESSAGE_MS + 8_000 + 600);
  const MESSAGE_MS = 16_000;
  for (const [lines, count] of [
    [1, 4],
    [2, 12],
    [4, 24],
    [10, 50],
  ] as const) {
    it(`${count} people, ${lines} lines`, async ({ task }) =>
      playAll(task.name, kind, {
        mode: { lines, deadlineMs: 1_800_000 },
        play: async (world) => {
          const sent = world.senders.send(to(people(count)), 'fire');
          await world.pass(400_000);
          expect(await statuses(world, sent)).toEqual(Array(count).fill('heard'));
          const { whenLinesAreTaken } = world.mode;
          const ratio = endOf(world) / ideal(count, lines);
          expect(ratio).toBeLessThan(whenLinesAreTaken === '603' ? 1.45 : 1.25);
          expect(world.dialled.length / count).toBeLessThanOrEqual(4.5);
        },
      }));
  }

  it('one who always declines rings at most six times, and costs nobody else anything', async ({ task }) =>
    playAll(task.name, kind, {
      mode: { deadlineMs: 1_800_000 },
      fates: (number) => (number === someNumber(0, 3) ? 'declines at once' : 'listens'),
      play: async (world) => {
        const sent = world.senders.send(to(people(12)), 'fire');
        await world.pass(600_000);
        expect(
          callsTo(world, someNumber(0, 3)).filter(({ fate }) => fate !== 'turned away').length,
        ).toBeLessThanOrEqual(6);
        expect(await statuses(world, sent)).toEqual(
          people(12).map((_, index) => (index === 3 ? 'not_reached' : 'heard')),
        );
      },
    }));
});
