import { afterEach, describe, expect, it, vi } from 'vitest';

import { PhoneLineError } from '../../../src/calls/model/phone-line.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { phoneOff } from '../../../src/calls/run/phone-off.ts';
import { CALLS } from '../../../src/calls/store/keys.ts';
import { callsTo, people, statuses, to } from './asking.ts';
import { BEGINNING } from './ground.ts';
import { type Fate, type Mode, QUIET } from './modes.ts';
import { someNumber, type SentRequest } from './senders.ts';
import { UnreliableLine } from './unreliable-line.ts';
import { inWorld, type World } from './world.ts';

// No call waits for another's fault.

vi.setConfig({ testTimeout: 600_000 });

const play = (
  name: string,
  mode: Partial<Mode>,
  fateOf: (number: PhoneNumber | undefined, earlier: number) => Fate,
  look: (world: World) => Promise<void>,
): Promise<void> =>
  inWorld(name, { ...QUIET, lines: 100, answersWithinMs: [3_000, 12_000], ...mode }, { fateOf }, look);

const listens = (): Fate => 'listens';
const rangAt = (world: World, number: PhoneNumber): number =>
  Math.min(...callsTo(world, number).map(({ placedAt }) => placedAt)) - BEGINNING;
const tableRequests = ({ requests }: World): number => requests.filter(({ to: where }) => where === 'table').length;
const logged = ({ instances }: World, what: string) => instances.logs.filter(({ event }) => event === what);
const idOf = ({ answers: [first] }: SentRequest): string => (first?.kind === 'sent' ? first.id : '');

afterEach(() => void vi.restoreAllMocks());

const oneForbidden = (number: PhoneNumber | undefined): Fate => (number === someNumber(0, 0) ? 'forbidden' : 'listens');

const oneWithoutLine = (number: PhoneNumber | undefined): Fate => (number === someNumber(0, 0) ? 'no line' : 'listens');

describe('one callee who is refused by 403', () => {
  it.each([1, 3])('holds up nobody, is one attempt each time, and is told once: %i instances', async (instances) => {
    await play('forbidden', { instances }, oneForbidden, async (world) => {
      const anomaly = world.senders.send(to([people(1)], 'Anomaly'), 'anomaly');
      await world.pass(2_000);
      const fire = world.senders.send(to([[...people(1), ...people(1, 1)]]), 'fire');
      await world.pass(600_000);
      expect(rangAt(world, someNumber(1, 0)) - 2_000).toBeLessThan(3_000);
      expect(await statuses(world, fire)).toEqual(['not_reached', 'heard']);
      expect(await statuses(world, anomaly)).toEqual(['not_reached']);
      expect(callsTo(world, someNumber(0, 0))).toHaveLength(6);
      expect(logged(world, 'call forbidden')).toHaveLength(1);
    });
  });

  it('is believed to be our set-up when two met it in a row: then they wait at no cost', async () => {
    let isMended = false;
    const all = (): Fate => (isMended ? 'listens' : 'forbidden');
    await play('all forbidden', {}, all, async (world) => {
      const fire = world.senders.send(to([people(3)]), 'fire');
      await world.pass(120_000);
      expect(await statuses(world, fire)).toEqual(['waiting', 'waiting', 'waiting']);
      expect((await world.viewOf(fire))?.recipients.map(({ attempts }) => attempts.length)).toEqual([1, 0, 0]);
      isMended = true;
      await world.pass(300_000);
      expect(await statuses(world, fire)).toEqual(['heard', 'heard', 'heard']);
    });
  });
});

/** Requests to call or to hang up, of some calls, are never answered. */
const notAnswered = async (): Promise<never> => {
  await new Promise((resolve) => void setTimeout(resolve, 15_000));
  throw new PhoneLineError('unanswered', 'no answer in time');
};

const hangingCalls = (isHanging: (number: string) => boolean): void => {
  // oxlint-disable-next-line typescript/unbound-method
  const { call } = UnreliableLine.prototype;
  vi.spyOn(UnreliableLine.prototype, 'call').mockImplementation(async function (this: UnreliableLine, request) {
    return isHanging(request.number) ? notAnswered() : call.bind(this)(request);
  });
};

const busyOrRingsOut = (number: PhoneNumber | undefined, earlier: number): Fate =>
  number === someNumber(1, 0) && earlier === 0
    ? 'busy'
    : number?.startsWith('+12065550') === true
      ? 'rings out'
      : 'listens';

describe('a request that is not answered', () => {
  it('for a call holds up the next fire for 2 s', async () => {
    hangingCalls((number) => number.startsWith('+12065550'));
    await play('hanging call', {}, listens, async (world) => {
      world.senders.send(to([people(1)]), 'hangs');
      await world.pass(500);
      world.senders.send(to([people(1, 1)]), 'fire');
      await world.pass(60_000);
      expect(rangAt(world, someNumber(1, 0)) - 500).toBeLessThan(3_000);
    });
  });

  it('for forty calls and sixteen hang-ups keeps no due redial of a fire waiting for more than 4 s', async () => {
    vi.spyOn(UnreliableLine.prototype, 'hangUp').mockImplementation(notAnswered);
    await play('hanging hang-ups', { ringMs: 15_000, retryMs: 20_000 }, busyOrRingsOut, async (world) => {
      world.senders.send(to([people(16)], 'Anomaly'), 'anomaly');
      await world.pass(2_000);
      world.senders.send(to([people(1, 1)]), 'fire');
      await world.pass(60_000);
      const [busy, again] = callsTo(world, someNumber(1, 0));
      expect((again?.placedAt ?? Infinity) - (busy?.endedAt ?? 0)).toBeLessThan(24_000 + 1_000);
    });
  });
});

describe('fifty phones ring, and it is a false alarm', () => {
  it.each([
    [1, 400],
    [3, 800],
  ])('on %i instances they are quiet within 5 s, for at most %i requests to storage', async (instances, most) => {
    await play(
      'false alarm',
      { instances },
      () => 'rings out',
      async (world) => {
        const fire = world.senders.send(to([people(50)]), 'fire');
        await world.pass(15_000);
        expect(world.network.calls.filter(({ state }) => state === 'ringing')).toHaveLength(50);
        const before = tableRequests(world);
        world.senders.stop(fire);
        await world.pass(5_000);
        expect(world.network.calls.filter(({ state }) => state === 'ringing')).toEqual([]);
        await world.pass(10_000);
        expect(tableRequests(world) - before).toBeLessThanOrEqual(most);
        expect(new Set(await statuses(world, fire))).toEqual(new Set(['stopped']));
        expect((await world.viewOf(fire))?.status).toBe('stopped');
      },
    );
  });

  it('whoever stopped it dies at once: another instance hangs them up', async () => {
    await play(
      'dead stop',
      { instances: 2 },
      () => 'rings out',
      async (world) => {
        const fire = world.senders.send(to([people(20)]), 'fire');
        await world.pass(15_000);
        const [first] = world.instances.living;
        const [answer] = fire.answers;
        if (answer?.kind === 'sent') void first?.phone.stop(answer.id, first.log).catch(() => undefined);
        // Until the stop is written, and nobody is hung up.
        while ((await world.viewOf(fire))?.status !== 'stopped') await world.pass(1);
        first?.life.end();
        await world.pass(36_000);
        expect(world.network.calls.filter(({ state }) => state === 'ringing')).toEqual([]);
      },
    );
  });
});

describe('a fire of which no phone has rung for two minutes', () => {
  it('is one error, also if their phones are busy with our calls: it says so', async () => {
    await play(
      'silent',
      { ringMs: 110_000 },
      () => 'rings out',
      async (world) => {
        for (const key of ['first', 'second', 'third']) {
          world.senders.send(to([people(1)]), key);
          await world.pass(1_000);
        }
        await world.pass(177_000);
        const said = logged(world, 'urgent notification silent');
        expect(said.map(({ level, fields }) => [level, fields['busy_with_our_calls']])).toEqual([['error', 1]]);
      },
    );
  });

  it('says so when no line is free all the time', async () => {
    await play('no line at all', { lines: 0 }, listens, async (world) => {
      const fire = world.senders.send(to([people(2)]), 'fire');
      await world.pass(170_000);
      const said = logged(world, 'urgent notification silent');
      expect(said.map(({ level }) => level)).toEqual(['error']);
      expect((said[0]?.at ?? 0) - BEGINNING).toBeGreaterThan(118_000);
      expect((await world.viewOf(fire))?.recipients[0]).toMatchObject({ status: 'waiting', reason: 'throttled' });
    });
  });
});

it.each([1, 3])(
  'one for whom there is never a line keeps nobody of a fire waiting for longer than the calls of the others: %i instances',
  async (instances) => {
    await play('one without a line', { instances, lines: 10 }, oneWithoutLine, async (world) => {
      const fire = world.senders.send(to([people(4)]), 'fire');
      await world.pass(240_000);
      expect(await statuses(world, fire)).toEqual(['waiting', 'heard', 'heard', 'heard']);
      for (const index of [1, 2, 3]) expect(rangAt(world, someNumber(0, index))).toBeLessThan(index * 60_000);
    });
  },
);

/** Damages a row, or says that a later version wrote it. */
const spoil = async (world: World, rowKey: string, how: 'damaged' | 'later'): Promise<void> => {
  const row = world.rows.find((one) => one.rowKey === rowKey);
  if (row === undefined) throw new Error(`no row ${rowKey}`);
  const properties = how === 'damaged' ? { state: 'strange', lines: 'strange', people: 'strange' } : { format: 99 };
  await world.table.transact(CALLS, [{ kind: 'merge', rowKey, etag: '*', properties }]);
};

describe('a row that cannot be read', () => {
  it.each(['damaged', 'later'] as const)(
    'of a recipient (%s) stops nobody else, and gives nobody to another alert',
    async (how) => {
      await play('unreadable', { lines: 1, deadlineMs: 1_800_000 }, listens, async (world) => {
        const fire = world.senders.send(to([people(4)]), 'fire');
        await world.pass(2_000);
        const rowKey = `notification|${idOf(fire)}|01`;
        await spoil(world, rowKey, how);
        for (const { life } of world.instances.living) life.end();
        await world.pass(400_000);
        const heard = people(4).map((number) =>
          callsTo(world, number).some(({ speeches }) => speeches.some(({ isWhole }) => isWhole)),
        );
        expect(heard).toEqual([true, false, true, true]);
        expect(world.rows.some((row) => row.rowKey === rowKey)).toBe(true);
        expect((await world.viewOf(fire))?.status).toBe('completed');
        const told = world.instances.logs.filter(({ event }) => event.startsWith('stored row'));
        expect(told.filter(({ fields }) => fields['row'] === rowKey).length).toBeLessThanOrEqual(2);
        // When it has expired, it is deleted by its key.
        world.instances.end();
        await world.pass(91 * 86_400_000);
        const cleanUp = phoneOff({ table: world.faultlessTable, retentionMs: world.rules.retentionMs });
        void cleanUp({ info: () => undefined, warn: () => undefined, error: () => undefined });
        await world.pass(1_000);
        expect(world.rows.filter((row) => row.rowKey.startsWith('notification|'))).toEqual([]);
      });
    },
  );

  it.each(['damaged', 'later'] as const)('about the lines, or of what is due (%s), stops nobody', async (how) => {
    await play('unreadable due', { lines: 1 }, listens, async (world) => {
      const fire = world.senders.send(to([people(3)]), 'fire');
      await world.pass(2_000);
      await spoil(world, 'due|!line', how);
      const entry = world.rows.find(({ rowKey }) => rowKey.includes('|dial_urgent|'));
      if (entry !== undefined) await spoil(world, entry.rowKey, how);
      await world.pass(300_000);
      expect(await statuses(world, fire)).toEqual(['heard', 'heard', 'heard']);
    });
  });

  it('of an open call that is gone keeps its call from nothing', async () => {
    await play('gone open row', {}, listens, async (world) => {
      const fire = world.senders.send(to([people(1)]), 'fire');
      await world.pass(1_000);
      const open = world.rows.find(({ rowKey }) => rowKey.startsWith('due|!open'));
      if (open !== undefined) await world.table.transact(CALLS, [{ kind: 'delete', rowKey: open.rowKey }]);
      await world.pass(120_000);
      expect(await statuses(world, fire)).toEqual(['heard']);
      expect(world.network.calls).toHaveLength(1);
    });
  });

  it('stays with its entry for a version that can read it, which dials then', async () => {
    await play('state of a later version', { lines: 1 }, listens, async (world) => {
      const fire = world.senders.send(to([people(2)], 'Anomaly'), 'fire');
      await world.pass(2_000);
      const rowKey = `notification|${idOf(fire)}|01`;
      const write = async (state: string) =>
        world.table.transact(CALLS, [{ kind: 'merge', rowKey, etag: '*', properties: { state } }]);
      await write('resting');
      for (const { life } of world.instances.living) life.end();
      await world.pass(120_000);
      expect(callsTo(world, people(2)[1])).toHaveLength(0);
      const told = logged(world, 'stored row damaged').filter(({ fields }) => fields['row'] === rowKey);
      expect(told.length).toBeLessThanOrEqual(3);
      await write('waiting');
      for (const { life } of world.instances.living) life.end();
      await world.pass(120_000);
      expect(await statuses(world, fire)).toEqual(['heard', 'heard']);
    });
  });

  it('of a notification stops no other one', async () => {
    await play('unreadable whole', { lines: 1 }, listens, async (world) => {
      const lost = world.senders.send(to([people(2)]), 'lost');
      await world.pass(2_000);
      await spoil(world, `notification|${idOf(lost)}`, 'later');
      for (const { life } of world.instances.living) life.end();
      await world.pass(10_000);
      const other = world.senders.send(to([people(2, 1)]), 'other');
      await world.pass(300_000);
      expect(await statuses(world, other)).toEqual(['heard', 'heard']);
    });
  });
});

describe('while the table is away', () => {
  it.each(['presses in the middle', 'listens'] as const)('who %s is not called again when it is back', async (fate) => {
    const confirm = fate === 'presses in the middle';
    await play(
      `kept ${fate}`,
      { answersWithinMs: confirm ? [500, 900] : [3_000, 12_000] },
      () => fate,
      async (world) => {
        const sent = world.senders.send(to([people(1)], 'ConfirmedFire', { confirm }), 'key');
        await world.pass(2_500);
        world.conditions.stopTable(35_000);
        await world.pass(600_000);
        expect(world.network.calls).toHaveLength(1);
        expect(await statuses(world, sent)).toEqual([confirm ? 'confirmed' : 'heard']);
      },
    );
  });
});

it('ten people over enough lines take at most nine requests to storage each', async () => {
  await play('ten', { destinations: [] }, listens, async (world) => {
    world.senders.send(to([people(1, 1)]), 'first');
    await world.pass(60_007);
    const before = world.requests.length;
    world.senders.send(to([people(10)]), 'ten');
    await world.pass(58_000);
    // Those of the timer function are made at whole times.
    const asked = world.requests
      .slice(before)
      .filter((request) => request.to === 'table' && (request.at - BEGINNING) % 30_000 !== 0);
    expect(world.network.calls).toHaveLength(11);
    expect(asked.length / 10).toBeLessThanOrEqual(9);
  });
});
