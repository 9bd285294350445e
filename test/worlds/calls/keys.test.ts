/* oxlint-disable unicorn/consistent-function-scoping -- a function that one test uses stands in that test */
import { describe, expect, it, vi } from 'vitest';

import { findAlertType } from '../../../src/calls/model/alert-types.ts';
import type { NotificationRequest, NotificationView } from '../../../src/calls/phone.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { BEGINNING } from './ground.ts';
import { type Fate, type Mode, QUIET } from './modes.ts';
import type { NetworkCall } from './network.ts';
import { someNumber } from './senders.ts';
import { inWorld, type World, type WorldOptions } from './world.ts';

// What keys do in one call, with one accident at a time. What many accidents do to them is played by seeds.

vi.setConfig({ testTimeout: 600_000 });

const ALERT_TYPE = findAlertType('ConfirmedFire');
if (ALERT_TYPE === undefined) throw new Error('no such alert type');
const REQUEST: NotificationRequest = { alertType: ALERT_TYPE, waves: [[someNumber(0, 0)]], confirm: true };

interface Scene {
  readonly mode?: Partial<Mode>;
  readonly request?: NotificationRequest;
  readonly death?: WorldOptions['death'];
  /** How much time passes, in milliseconds. */
  readonly passMs?: number;
  /** Before the time passes. */
  readonly before?: (world: World) => void;
}

interface Played {
  readonly view: NotificationView;
  readonly calls: readonly NetworkCall[];
  readonly world: World;
}

/** One notification; each callee has a fate. */
const play = async <Result>(
  seed: string,
  fate: Fate | ((number: PhoneNumber | undefined) => Fate),
  { mode, request = REQUEST, death, passMs = 400_000, before }: Scene,
  look: (played: Played) => Result | Promise<Result>,
): Promise<Result> => {
  const fateOf = typeof fate === 'string' ? () => fate : fate;
  const quiet: Mode = { ...QUIET, attempts: 1, destinations: [], instances: 2, lines: 6, ...mode };
  return inWorld(seed, quiet, { fateOf, ...(death && { death }) }, async (world) => {
    const sent = world.senders.send(request, 'key');
    before?.(world);
    await world.pass(passMs);
    const view = await world.viewOf(sent);
    if (view === undefined) throw new Error(`not taken: ${JSON.stringify(sent.answers)}`);
    return look({ view, calls: world.network.calls, world });
  });
};

const statuses = ({ recipients }: NotificationView): readonly string[] => recipients.map(({ status }) => status);

/** What was spoken: the number of each speech, and whether it was heard wholly. */
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
    await play(fate, fate, {}, ({ view, calls: [call] }) => {
      expect([statuses(view), spoken(call), call?.endedBy]).toEqual([[status], expected, 'service']);
      const isAnswered = status !== 'not_reached';
      expect(openAfterLastWord(call)).toBeGreaterThan(isAnswered ? 0 : 5_000);
      expect(openAfterLastWord(call)).toBeLessThan(isAnswered ? 2_000 : 10_000);
    });
  });

  it('presses two keys at once has confirmed, and the line is closed', async () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      await play(`two ${seed}`, 'two keys at once', {}, ({ view, calls: [call] }) => {
        expect([statuses(view), call?.state]).toEqual([['confirmed'], 'ended']);
      });
    }
  });
});

/** The table is away for two minutes from the moment on that something happens in the first call. */
const awayFrom =
  (when: (call: NetworkCall | undefined) => number | undefined) =>
  (world: World): void => {
    const watch = setInterval(() => {
      if (when(world.network.calls[0]) === undefined) return;
      clearInterval(watch);
      world.conditions.stopTable(120_000);
    }, 5);
  };

/** What callees do, by the last digits of their number; otherwise nobody picks up. */
const by =
  (fates: Readonly<Record<number, Fate>>) =>
  (number: PhoneNumber | undefined): Fate =>
    fates[Number(number?.slice(-3))] ?? 'rings out';

describe('an accident', () => {
  const FATES = [
    'presses in the middle',
    'hears it again and confirms',
    'cannot go',
    'cannot go, then confirms',
  ] as const;
  const STATUS = { 'cannot go': 'cannot_go' } as const satisfies Partial<Record<Fate, string>>;
  const expected = (fate: (typeof FATES)[number]): string => (fate === 'cannot go' ? STATUS[fate] : 'confirmed');

  it.each(FATES.flatMap((fate) => (['carried out', 'not carried out'] as const).map((when) => [fate, when] as const)))(
    '%s, and an instance dies of any of its requests, which is %s: the answer is known, nobody is called again, no line stays open',
    async (fate, when) => {
      const alone = await play('deaths', fate, { mode: { attempts: 3 } }, ({ world }) => world.requests.length);
      const most = Math.min(alone, 45);
      expect(most).toBeGreaterThan(15);
      for (let at = 1; at <= most; at += 1) {
        const scene = { mode: { attempts: 3 }, death: { at, when }, passMs: 900_000 };
        await play('deaths', fate, scene, ({ view, calls, world }) => {
          const open = calls.filter(({ state }) => state !== 'ended').length;
          const longest = Math.max(...calls.map(({ answeredAt = 0, endedAt = Infinity }) => endedAt - answeredAt));
          const result = { at, statuses: statuses(view), open, isLong: longest > 300_000 };
          expect(result).toEqual({ at, statuses: [expected(fate)], open: 0, isLong: false });
          const answers = calls.flatMap(({ keys }) => keys.filter(({ key }) => key !== '2'));
          const pressed = Math.min(...answers.map(({ takenAt = Infinity }) => takenAt));
          expect(world.dialled.filter((dial) => dial.at > pressed)).toEqual([]);
        });
      }
    },
  );

  it.each(FATES)('%s, and events come twice and late, on any of three instances', async (fate) => {
    for (let seed = 1; seed <= 15; seed += 1) {
      const mode = { instances: 3, eventRepeat: 0.5, eventDelay: 0.3 };
      await play(`late ${seed}`, fate, { mode }, ({ view, calls }) => {
        expect({ seed, told: statuses(view) }).toEqual({ seed, told: [expected(fate)] });
        expect(calls.map(({ state }) => state)).toEqual(['ended']);
      });
    }
  });

  it.each(FATES)('%s while the table is away: the key is written down when it is back', async (fate) => {
    for (let seed = 1; seed <= 5; seed += 1) {
      const before = awayFrom((call) => call?.speeches[0]?.startedAt);
      await play(`away ${seed}`, fate, { mode: { attempts: 3 }, before, passMs: 900_000 }, ({ view, calls }) => {
        expect({ seed, told: statuses(view) }).toEqual({ seed, told: [expected(fate)] });
        // A 2 is not kept: who wants to hear it again is called again.
        const called = fate === 'hears it again and confirms' ? 2 : 1;
        expect(calls.map(({ state }) => state)).toEqual(Array(called).fill('ended'));
      });
    }
  });

  it('the table is away from the answer on: keys are waited for all the same, and the line is hung up', async () => {
    const before = awayFrom((call) => call?.answeredAt);
    for (const [fate, status] of [
      ['presses late', 'confirmed'],
      ['presses in the middle', 'confirmed'],
    ] as const) {
      await play(`unwritten ${fate}`, fate, { mode: { instances: 1 }, before }, ({ view, calls: [call] }) => {
        expect([statuses(view), call?.state]).toEqual([[status], 'ended']);
      });
    }
    await play('unwritten', 'listens', { mode: { instances: 1 }, before }, ({ calls: [call] }) => {
      expect(openAfterLastWord(call)).toBeGreaterThan(5_000);
      expect(openAfterLastWord(call)).toBeLessThan(12_000);
    });
  });

  it('a key is reported when the next call rings already: that is hung up', async () => {
    const scene = { mode: { attempts: 3, retryMs: 5_000 }, passMs: 30_000 };
    let calls = 0;
    const fateOf = (): Fate => ((calls += 1) === 1 ? 'listens' : 'rings out');
    await play('ringing', fateOf, scene, async ({ world }) => {
      for (let turn = 0; world.network.calls.length < 2 && turn < 200; turn += 1) await world.pass(1_000);
      const [call, ringing] = world.network.calls;
      if (call?.listening === undefined || ringing === undefined) throw new Error('no second call');
      expect(ringing.state).toBe('ringing');
      world.network.report(call, '3');
      await world.pass(3_000);
      expect(ringing).toMatchObject({ state: 'ended', endedBy: 'service' });
      await world.pass(300_000);
      expect(world.network.calls).toHaveLength(2);
    });
  });
});

describe('how many are needed', () => {
  const numbers = Array.from({ length: 5 }, (_, index) => someNumber(0, index));
  const waves = [numbers.slice(0, 2), numbers.slice(2, 3), numbers.slice(3)];
  const request: NotificationRequest = { ...REQUEST, waves, waveMs: 120_000, confirmationsNeeded: 2 };

  it('two on two instances at the same moment see each other', async () => {
    let both = 0;
    for (let seed = 1; seed <= 20; seed += 1) {
      const fates = by({ 0: 'presses at the start', 1: 'presses at the start' });
      await play(`both ${seed}`, fates, { request, mode: { instances: 3 } }, ({ view, calls }) => {
        // Who presses within some milliseconds of the answer may do so before anybody listens.
        if (calls.slice(0, 2).some(({ keys }) => keys.length === 0)) return;
        both += 1;
        expect([statuses(view), view.reached]).toEqual([
          ['confirmed', 'confirmed', 'stopped', 'stopped', 'stopped'],
          2,
        ]);
        expect(calls).toHaveLength(2);
      });
    }
    expect(both).toBeGreaterThan(15);
  });

  it('the next wave is called at once when those before are fewer, and the rest is stopped when enough have confirmed', async () => {
    const fates = by({ 0: 'presses at the start', 1: 'cannot go', 2: 'presses in the middle' });
    await play('at once', fates, { request }, ({ view, calls }) => {
      expect(statuses(view)).toEqual(['confirmed', 'cannot_go', 'confirmed', 'stopped', 'stopped']);
      const pressed = calls.flatMap(({ keys }) => keys).find(({ key }) => key === '3')?.pressedAt ?? 0;
      const next = calls.find((call) => call.request?.number === numbers[2])?.placedAt ?? Infinity;
      expect(next - pressed).toBeGreaterThan(0);
      expect(next - pressed).toBeLessThan(2_000);
      expect(calls).toHaveLength(3);
    });
  });

  it('too few: all waves are called, and an error says so', async () => {
    const fates = by({ 0: 'presses at the start', 1: 'cannot go', 2: 'cannot go', 3: 'cannot go', 4: 'listens' });
    await play('too few', fates, { request, passMs: 900_000 }, ({ view, world }) => {
      expect([view.status, view.reached, view.confirmationsNeeded]).toEqual(['completed', 1, 2]);
      const errors = world.instances.logs.filter(({ event }) => event === 'notification not confirmed');
      expect(errors).toMatchObject([{ level: 'error', fields: { confirmations: 1, confirmations_needed: 2 } }]);
    });
  });
});

/** How many requests to storage a call takes at most, on one instance. */
const requests = async (fate: Fate, confirm: boolean): Promise<number> => {
  let most = 0;
  for (let seed = 1; seed <= 8; seed += 1) {
    // The first one creates the table, which happens once. Those of the timer function are made at whole times.
    const count = await play(
      `count ${seed}`,
      (number) => (number === someNumber(1, 0) ? fate : 'listens'),
      { mode: { instances: 1 }, request: { ...REQUEST, confirm: false }, passMs: 120_000 },
      async ({ world }) => {
        await world.pass(7);
        const before = world.requests.length;
        world.senders.send({ ...REQUEST, waves: [[someNumber(1, 0)]], confirm }, 'second');
        await world.pass(150_000);
        const asked = world.requests.slice(before);
        return asked.filter(({ to, at }) => to === 'table' && (at - BEGINNING) % 30_000 !== 0).length;
      },
    );
    most = Math.max(most, count);
  }
  return most;
};

it('a good call takes one request to storage more with keys, and four more with one key', async () => {
  const plain = await requests('listens', false);
  expect(plain).toBeLessThanOrEqual(9);
  expect(await requests('listens', true)).toBeLessThanOrEqual(plain + 1);
  for (const fate of ['presses in the middle', 'cannot go', 'presses late'] as const) {
    expect([fate, await requests(fate, true)]).toEqual([fate, expect.toSatisfy((count: number) => count <= plain + 4)]);
  }
});

const numberOf = (call: NetworkCall): PhoneNumber | undefined => call.request?.number;

describe('speech that fails', () => {
  const anomaly = findAlertType('Anomaly');
  const to = (group: number, alertType = anomaly): NotificationRequest => {
    if (alertType === undefined) throw new Error('no such alert type');
    return { alertType, waves: [[someNumber(group, 0)]] };
  };

  it('is one error a call that says what to look at; after two callees who is not urgent waits 2 minutes, an urgent one does not', async () => {
    const scene = { mode: { instances: 1, attempts: 1 }, request: to(0), passMs: 60_000 };
    await play('silence', 'speech fails', scene, async ({ view, world }) => {
      const { senders, instances, network } = world;
      // An attempt was used, as for anybody who answers.
      expect(statuses(view)).toEqual(['not_reached']);
      senders.send(to(1), 'second');
      await world.pass(60_000);
      const errors = instances.logs.filter(
        ({ level, event }) => level === 'error' && event !== 'recipient not reached',
      );
      expect(errors).toEqual([
        expect.objectContaining({
          event: 'speech not available',
          fields: expect.objectContaining({ sub_code: 8_565 }),
        }),
        expect.objectContaining({
          event: 'speech not available',
          fields: expect.objectContaining({ sub_code: 8_565 }),
        }),
      ]);
      const failedAt = network.calls[1]?.endedAt ?? Infinity;
      senders.send(to(2), 'third');
      senders.send(to(3, ALERT_TYPE), 'urgent');
      await world.pass(10_000);
      expect(network.calls.slice(2).map(numberOf)).toEqual([someNumber(3, 0)]);
      await world.pass(400_000);
      const third = network.calls.find((call) => numberOf(call) === someNumber(2, 0))?.placedAt ?? 0;
      expect(third - failedAt).toBeGreaterThan(118_000);
    });
  });
});
