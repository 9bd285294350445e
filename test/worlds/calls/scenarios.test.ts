import { describe, expect, it } from 'vitest';

import { type AlertTypeName, findAlertType } from '../../../src/calls/alert-types.ts';
import { phoneOff } from '../../../src/calls/phone-off.ts';
import type { NotificationRequest } from '../../../src/calls/phone.ts';
import type { PhoneNumber } from '../../../src/calls/phone-number.ts';
import { type Mode, QUIET } from './modes.ts';
import { type Fate, MS_PER_CHARACTER } from './network.ts';
import { someNumber, type SentRequest } from './senders.ts';
import { BEGINNING, inWorld, SILENT, type World } from './world.ts';

const people = (count: number, group = 0): PhoneNumber[] =>
  Array.from({ length: count }, (_, index) => someNumber(group, index));

const to = (
  waves: readonly (readonly PhoneNumber[])[],
  alertType: AlertTypeName = 'ConfirmedFire',
  more: Partial<NotificationRequest> = {},
): NotificationRequest => {
  const type = findAlertType(alertType);
  if (type === undefined) throw new Error(`no alert type ${alertType}`);
  return { alertType: type, waves, ...more };
};

/** What callees do, by the last digits of their number and by how often they were called before; otherwise they listen. */
const fates =
  (byIndex: Readonly<Record<number, Fate | readonly Fate[]>>) =>
  (number: PhoneNumber | undefined, earlier: number): Fate => {
    const fate = byIndex[Number(number?.slice(-3))] ?? 'listens';
    return typeof fate === 'string' ? fate : (fate[earlier] ?? 'listens');
  };

const statuses = async (world: World, sent: SentRequest): Promise<readonly string[]> =>
  (await world.viewOf(sent))?.recipients.map(({ status }) => status) ?? [];

const outcomes = async (world: World, sent: SentRequest): Promise<readonly (readonly (string | undefined)[])[]> =>
  (await world.viewOf(sent))?.recipients.map(({ attempts }) => attempts.map(({ outcome }) => outcome)) ?? [];

const reasons = ({ answers: [first] }: SentRequest): readonly (string | undefined)[] =>
  first?.kind === 'sent' ? first.calls.map((call) => (call.status === 'placed' ? undefined : call.reason)) : [];

const callsTo = (world: World, number: PhoneNumber | undefined) =>
  world.network.calls.filter(({ request }) => request?.number === number);

const quiet = (more: Partial<Mode> = {}): Mode => ({ ...QUIET, ...more });

describe('lines', () => {
  it.each(['429', '8530', '603'] as const)(
    'ten people over two lines, which are %s when taken: all hear it, at the first attempt',
    async (whenLinesAreTaken) => {
      await inWorld('lines', quiet({ whenLinesAreTaken, instances: 2 }), {}, async (world) => {
        const sent = world.senders.send(to([people(10)]), 'key');
        await world.pass(600_000);
        expect(await statuses(world, sent)).toEqual(Array(10).fill('heard'));
        expect((await outcomes(world, sent)).flat()).toEqual(Array(10).fill('heard'));
      });
    },
  );

  it('a fire is called in the first line that gets free, though an anomaly has many waiting', async () => {
    await inWorld('urgent', quiet({ deadlineMs: 1_800_000, instances: 2 }), {}, async (world) => {
      const anomaly = world.senders.send(to([people(50)], 'Anomaly'), 'anomaly');
      await world.pass(60_000);
      const before = world.network.calls.length;
      const openNow = world.network.calls.filter(({ state }) => state !== 'ended');
      const fire = world.senders.send(to([people(50, 1)]), 'fire');
      await world.pass(60_000);
      const freedAt = Math.min(...openNow.map(({ endedAt = Infinity }) => endedAt));
      const next = world.network.calls
        .slice(before)
        .filter(({ placedAt, fate }) => placedAt >= freedAt && fate !== 'turned away');
      expect(next[0]?.request?.alertType.name).toBe('ConfirmedFire');
      expect((next[0]?.placedAt ?? Infinity) - freedAt).toBeLessThan(3_000);
      expect(new Set(next.map(({ request }) => request?.alertType.name))).toEqual(new Set(['ConfirmedFire']));
      await world.pass(3_600_000);
      expect(await statuses(world, fire)).toEqual(Array(50).fill('heard'));
      expect((await world.viewOf(anomaly))?.status).toBe('completed');
    });
  });

  it('an anomaly that is reported while people wait to hear of a fire takes no line from them', async () => {
    await inWorld('held back', quiet({ deadlineMs: 3_600_000, lines: 1, instances: 3 }), {}, async (world) => {
      const fire = world.senders.send(to([people(40)]), 'fire');
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

  it('somebody who declines by 603 while no other call is open is called once more, and no more after that', async () => {
    await inWorld(
      '603',
      quiet(),
      { fateOf: fates({ 0: ['declines by 603', 'declines by 603', 'listens'] }) },
      async (world) => {
        const sent = world.senders.send(to([people(1)]), 'key');
        await world.pass(600_000);
        expect(await outcomes(world, sent)).toEqual([['declined', 'declined']]);
        expect(await statuses(world, sent)).toEqual(['not_reached']);
      },
    );
  });

  it('a phone rings for 60 s, then its line is for the next', async () => {
    await inWorld('ring', quiet({ attempts: 1, lines: 1 }), { fateOf: fates({ 0: 'rings out' }) }, async (world) => {
      const sent = world.senders.send(to([people(2)]), 'key');
      await world.pass(300_000);
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
    await inWorld(`again ${fate}`, quiet(), { fateOf: fates({ 0: [fate, 'listens'] }) }, async (world) => {
      const sent = world.senders.send(to([people(1)]), 'key');
      await world.pass(300_000);
      const [told = []] = await outcomes(world, sent);
      expect(told.at(-1)).toBe('heard');
      // Who hangs up within moments may have heard the first word or not.
      expect(told.length).toBe(2);
      expect(expected).toContain(told[0]);
      const [first, second] = callsTo(world, someNumber(0, 0));
      expect((second?.placedAt ?? 0) - (first?.endedAt ?? 0)).toBeGreaterThanOrEqual(29_000);
    });
  });

  it.each(Array.from({ length: 12 }, (_, seed) => seed))(
    'who hangs up in the middle is reached if one unit was spoken by then, and otherwise called again: seed %i',
    async (seed) => {
      const fateOf = fates({ 0: ['hangs up in the middle', 'listens'] });
      await inWorld(`unit ${seed}`, quiet(), { fateOf }, async (world) => {
        const sent = world.senders.send(to([people(1)]), 'key');
        await world.pass(300_000);
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

  it('nobody is dialled after the deadline', async () => {
    await inWorld(
      'deadline',
      quiet({ deadlineMs: 60_000, attempts: 10, retryMs: 25_000 }),
      { fateOf: fates({ 0: ['busy', 'busy', 'busy', 'busy'] }) },
      async (world) => {
        const sent = world.senders.send(to([people(1)]), 'key');
        await world.pass(600_000);
        expect(await statuses(world, sent)).toEqual(['not_reached']);
        for (const { at } of world.dialled) expect(at - (world.dialled[0]?.at ?? 0)).toBeLessThan(60_000);
        expect(callsTo(world, someNumber(0, 0)).length).toBeGreaterThan(1);
      },
    );
  });
});

describe('our set-up', () => {
  it('is wrong for two minutes: nobody is given up, an error says so at once, and then they are called', async () => {
    await inWorld('set-up', quiet(), {}, async (world) => {
      world.conditions.breakSetUp(120_000);
      const sent = world.senders.send(to([people(3)]), 'key');
      await world.pass(5_000);
      expect(await statuses(world, sent)).toEqual(['waiting', 'waiting', 'waiting']);
      expect(world.instances.logs.filter(({ level }) => level === 'error')).not.toEqual([]);
      // Who is not even asked for meanwhile is told the same reason.
      const later = world.senders.send(to([people(2, 1)]), 'later');
      await world.pass(1_000);
      expect(reasons(later)).toEqual(Array(2).fill(reasons(sent)[0]));
      await world.pass(300_000);
      expect(await outcomes(world, sent)).toEqual([['heard'], ['heard'], ['heard']]);
    });
  });
});

describe('waves', () => {
  const waves = [people(2), people(2, 1), people(2, 2)];
  const confirmed = to(waves, 'ConfirmedFire', { confirm: true, waveMs: 60_000 });
  const firstCallOf = (world: World, group: number): number =>
    Math.min(...people(2, group).flatMap((number) => callsTo(world, number).map(({ placedAt }) => placedAt)));

  it('are dialled one after the other, each after its time', async () => {
    await inWorld('waves', quiet({ lines: 6 }), {}, async (world) => {
      const sent = world.senders.send(confirmed, 'key');
      await world.pass(1_800_000);
      const [first, second, third] = [0, 1, 2].map((group) => firstCallOf(world, group));
      for (const ms of [(second ?? 0) - (first ?? 0), (third ?? 0) - (second ?? 0)]) {
        expect(ms).toBeGreaterThanOrEqual(59_000);
        expect(ms).toBeLessThan(95_000);
      }
      expect(await statuses(world, sent)).toEqual(Array(6).fill('not_reached'));
      expect(new Set((await outcomes(world, sent)).flat())).toEqual(new Set(['unconfirmed']));
    });
  });

  it('the first key stops the rest: who rings is hung up, who waits is not called, who is spoken to hears it to the end', async () => {
    const fateOf = fates({ 0: 'presses in the middle', 1: 'rings out' });
    await inWorld('confirmed', quiet({ lines: 6 }), { fateOf }, async (world) => {
      const sent = world.senders.send(confirmed, 'key');
      await world.pass(1_800_000);
      expect(await statuses(world, sent)).toEqual(['confirmed', 'stopped', 'stopped', 'stopped', 'stopped', 'stopped']);
      expect(callsTo(world, someNumber(0, 0))[0]?.speeches[0]?.isWhole).toBe(true);
      expect(callsTo(world, someNumber(0, 1))[0]).toMatchObject({ state: 'ended', endedBy: 'service' });
      expect(world.network.calls).toHaveLength(2);
    });
  });

  it('the next one begins at once when nobody of those before can be reached any more', async () => {
    const fateOf = fates({ 0: 'wrong number', 1: 'wrong number' });
    await inWorld('hopeless', quiet({ lines: 6 }), { fateOf }, async (world) => {
      world.senders.send(confirmed, 'key');
      await world.pass(30_000);
      expect(firstCallOf(world, 2) - firstCallOf(world, 0)).toBeLessThan(20_000);
    });
  });

  it('without waves each has to confirm', async () => {
    const fateOf = fates({ 0: 'presses in the middle', 1: ['listens', 'presses at the end'] });
    await inWorld('each', quiet(), { fateOf }, async (world) => {
      const sent = world.senders.send(to([people(3)], 'ConfirmedFire', { confirm: true }), 'key');
      await world.pass(900_000);
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
    const fateOf = fates({ 1: 'rings out', 2: ['busy', 'busy', 'busy'] });
    await inWorld(`stop ${afterMs}`, quiet({ lines: 3, retryMs: 60_000, instances: 3 }), { fateOf }, async (world) => {
      const sent = world.senders.send(to([people(5)]), 'key');
      await world.pass(afterMs);
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

it('without the table a call is spoken to once in a process, and hung up at the end of its message', async () => {
  await inWorld('without table', quiet({ eventRepeat: 1 }), {}, async (world) => {
    const sent = world.senders.send(to([people(1)]), 'key');
    await world.pass(500);
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

it('the phone is switched off: what was under way ends as stopped, its numbers are masked, and nobody is called', async () => {
  const fateOf = fates({ 0: 'busy', 1: 'rings out' });
  await inWorld('off', quiet({ retryMs: 60_000 }), { fateOf }, async (world) => {
    const sent = world.senders.send(to([people(5)]), 'key');
    await world.pass(20_000);
    world.instances.end();
    const before = world.dialled.length;
    const cleanUp = phoneOff({ table: world.faultlessTable, retentionMs: 90 * 86_400_000 });
    for (let turn = 0; turn < 5; turn += 1) {
      void cleanUp(SILENT);
      await world.pass(30_000);
    }
    expect((await world.viewOf(sent))?.status).toBe('stopped');
    expect(await statuses(world, sent)).not.toContain('waiting');
    expect(JSON.stringify(world.rows)).not.toMatch(/\+\d{7}/);
    expect(world.dialled.length).toBe(before);
  });
});

describe('an instance dies', () => {
  const fateOf = fates({ 0: ['listens'], 1: ['busy', 'listens'] });

  /** How many requests there are if nobody dies. */
  const requestsWithoutDeath = (): Promise<number> =>
    inWorld('deaths', quiet({ instances: 2 }), { fateOf }, async (world) => {
      world.senders.send(to([people(2)]), 'key');
      await world.pass(200_000);
      return world.requests.length;
    });

  it.each(['carried out', 'not carried out'] as const)(
    'of any of its requests, which is %s, to storage or to the line: both hear it, and once',
    async (when) => {
      const most = Math.min(await requestsWithoutDeath(), 60);
      expect(most).toBeGreaterThan(15);
      for (let at = 1; at <= most; at += 1) {
        const facts = await inWorld(
          'deaths',
          quiet({ instances: 2 }),
          { fateOf, death: { at, when } },
          async (world) => {
            const sent = world.senders.send(to([people(2)]), 'key');
            await world.pass(1_200_000);
            const speeches = world.network.calls.flatMap((call) => call.speeches);
            return {
              at,
              statuses: await statuses(world, sent),
              whole: speeches.filter(({ isWhole }) => isWhole).length,
              cut: speeches.filter(({ cutBy }) => cutBy === 'service').length,
              open: world.network.calls.filter(({ state }) => state !== 'ended').length,
            };
          },
        );
        expect(facts).toEqual({ at, statuses: ['heard', 'heard'], whole: 2, cut: 0, open: 0 });
      }
    },
  );
});

describe('a good call', () => {
  it('takes at most ten requests to storage, and four from the end of its message on', async () => {
    await inWorld('good', quiet({ isPublishing: false }), {}, async (world) => {
      // The first one creates the table, which happens once.
      world.senders.send(to([people(1)]), 'first');
      await world.pass(120_000);
      const before = world.requests.length;
      world.senders.send(to([people(1, 1)]), 'second');
      await world.pass(25_000);
      const [call] = callsTo(world, someNumber(1, 0));
      const endedAt = call?.speeches[0]?.endedAt ?? Infinity;
      await world.pass(60_000);
      // Those of the timer function are made at whole times.
      const asked = world.requests
        .slice(before)
        .filter((request) => request.to === 'table' && (request.at - BEGINNING) % 30_000 !== 0);
      expect(asked.length).toBeLessThanOrEqual(10);
      expect(asked.filter(({ at }) => at >= endedAt).length).toBeLessThanOrEqual(4);
    });
  });
});
