import { describe, expect, it, vi } from 'vitest';

import type { SimulatedCall } from '../../../infra/emulators/twilio-simulator/simulated-call.ts';
import { type CallId, parseCallId } from '../../../src/calls/model/ids.ts';
import { hashOfNumber, parsePhoneNumber } from '../../../src/calls/model/phone-number.ts';
import type { PhoneLine } from '../../../src/calls/model/phone-line.ts';
import { createPhone } from '../../../src/calls/phone.ts';
import { phoneOff } from '../../../src/calls/run/phone-off.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import type { NotificationView } from '../../../src/calls/state/view.ts';
import { Table } from '../../../src/storage/table.ts';
import { BEGINNING, SERVICE_NAME } from './ground.ts';
import { type Mode, QUIET } from './modes.ts';
import { inTwilioWorld, type TwilioWorld, type TwilioWorldOptions } from './twilio-world.ts';

// Time is virtual: how long it takes tells of the machine alone.
vi.setConfig({ testTimeout: 600_000 });

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Numbers that end so, in this order. */
const numbers = (endings: readonly string[], from = 100): readonly string[] =>
  endings.map((ending, index) => `+120655${String(from + index).padStart(3, '0')}${ending}`);
const listeners = (count: number, from = 100) =>
  numbers(
    Array.from({ length: count }, () => '00'),
    from,
  );

const play = <Result>(
  name: string,
  mode: Partial<Mode>,
  options: TwilioWorldOptions,
  look: (world: TwilioWorld) => Promise<Result>,
): Promise<Result> => inTwilioWorld(name, { ...QUIET, lines: 50, callsPerDay: 500, ...mode }, options, look);

const toldOf = (view: NotificationView | undefined): readonly string[] =>
  (view?.recipients ?? []).map(
    ({ status, attempts }) => `${status}: ${attempts.map(({ outcome }) => outcome).join(' ')}`,
  );

const callsTo = ({ calls }: TwilioWorld, number = ''): readonly SimulatedCall[] =>
  calls.filter(({ to }) => to === number);

const creates = ({ asked }: TwilioWorld, number = '') =>
  asked.filter(({ request, form }) => request === 'POST /Calls.json' && form.get('To') === number);
const lists = ({ asked }: TwilioWorld, number = '') =>
  asked.filter(({ request, form }) => request === 'GET /Calls.json' && form.get('To') === number);
const endedBy = ({ asked }: TwilioWorld, call: SimulatedCall | undefined) =>
  asked.filter(({ request }) => request.includes(call?.sid ?? '?')).map(({ form }) => form.get('Status'));

describe('a request for a call whose answer is lost', () => {
  it.each([
    ['was not carried out: another is sent when the list has shown none', '32', 2],
    ['was carried out: its events, or the list, tell of the call', '34', 1],
  ] as const)('%s', async (_, ending, sent) => {
    const [number = ''] = numbers([ending]);
    await play('lost', { instances: 2 }, {}, async (world) => {
      const sending = world.send('ConfirmedFire', [number], false, 'key');
      await world.pass(180_000);
      expect(toldOf(await world.view(await sending))).toEqual(['heard: heard']);
      const [first, second] = creates(world, number);
      expect(creates(world, number)).toHaveLength(sent);
      expect(callsTo(world, number)).toHaveLength(1);
      if (second === undefined) return;
      expect(second.at - (first?.at ?? 0)).toBeGreaterThanOrEqual(20_000);
      const [looked] = lists(world, number);
      expect(looked?.at).toSatisfy((at: number) => at - (first?.at ?? 0) >= 20_000 && at < second.at);
    });
  });

  it('was carried out, and waits at Twilio: the list tells of it, nothing is sent again', async () => {
    const [number = '', other = ''] = numbers(['34', '00']);
    // The account starts one call a minute: the other one first.
    await play('lost and queued', { instances: 2 }, { callsPerSecond: 2, startsPerSecond: 1 / 45 }, async (world) => {
      const sending = world.send('ConfirmedFire', [other, number], false, 'key');
      await world.pass(240_000);
      expect(toldOf(await world.view(await sending))).toEqual(['heard: heard', 'heard: heard']);
      expect([creates(world, number).length, callsTo(world, number).length]).toEqual([1, 1]);
      expect(lists(world, number)).toHaveLength(1);
    });
  });
});

describe('the pace of the account', () => {
  it('is kept by two instances together; fifty people at ten a second take at most half as long again as they must', async () => {
    await play('pace', { instances: 2 }, { callsPerSecond: 10 }, async (world) => {
      const sending = world.send('ConfirmedFire', listeners(50), false, 'key');
      await world.pass(40_000);
      expect(toldOf(await world.view(await sending))).toEqual(Array(50).fill('heard: heard'));
      const at = world.calls.map(({ createdAt }) => createdAt).toSorted((one, other) => one - other);
      expect((at.at(-1) ?? 0) - (at[0] ?? 0)).toBeLessThanOrEqual(4_900 * 1.5);
      // Their clocks differ by up to two seconds, which is made up for once.
      const mostWithin = Math.max(...at.map((from) => at.filter((one) => one >= from && one < from + 1_000).length));
      expect(mostWithin).toBeLessThanOrEqual(20);
    });
  });

  it('lets a fire pass before an anomaly that was reported first', async () => {
    await play('fire first', { instances: 2 }, { callsPerSecond: 1 }, async (world) => {
      void world.send('Anomaly', listeners(20), false, 'anomaly');
      await world.pass(3_000);
      const before = world.calls.length;
      const fires = listeners(3, 200);
      void world.send('ConfirmedFire', fires, false, 'fire');
      await world.pass(60_000);
      const next = world.calls.slice(before).map(({ to }) => fires.includes(to));
      expect(next.slice(0, 4).filter(Boolean)).toHaveLength(3);
    });
  });

  it('is no queue at Twilio: who waits there is called off by a stop, or when a phone would have rung long enough', async () => {
    const options = { callsPerSecond: 10, startsPerSecond: 1 / 3_600 };
    await play('queued', { instances: 2, attempts: 1, ringMs: 60_000 }, options, async (world) => {
      const stopped = world.send('ConfirmedFire', listeners(3), false, 'stopped');
      await world.pass(1_000);
      const left = world.send('ConfirmedFire', listeners(1, 200), false, 'left');
      await world.pass(10_000);
      expect(world.calls.slice(1).map(({ status }) => status)).toEqual(['queued', 'queued', 'queued']);
      void world.stop(await stopped);
      await world.pass(3_000);
      expect(world.calls.slice(1, 3).map(({ status }) => status)).toEqual(['canceled', 'canceled']);
      await world.pass(120_000);
      expect(world.calls[3]?.status).toBe('canceled');
      expect(endedBy(world, world.calls[3])[0]).toBe('canceled');
      expect(toldOf(await world.view(await left))).toEqual(['not_reached: no_answer']);
    });
  });
});

it('too many calls at once (10004) cost nobody an attempt', async () => {
  await play('lines', { lines: 3, instances: 2 }, { callsPerSecond: 10 }, async (world) => {
    const sending = world.send('ConfirmedFire', listeners(9), false, 'key');
    await world.pass(300_000);
    expect(world.account.turnedAway.length).toBeGreaterThan(0);
    expect(toldOf(await world.view(await sending))).toEqual(Array(9).fill('heard: heard'));
  });
});

it.each([
  [true, 'not_reached: no_answer'],
  [false, 'heard: heard'],
])('a mailbox has not heard it where machines are detected (%s)', async (detectsMachines, told) => {
  await play('mailbox', { attempts: 1 }, { detectsMachines }, async (world) => {
    const sending = world.send('ConfirmedFire', numbers(['75', '00']), false, 'key');
    await world.pass(120_000);
    expect(toldOf(await world.view(await sending))).toEqual([told, 'heard: heard']);
    expect(creates(world, numbers(['75'])[0])[0]?.form.get('MachineDetection')).toBe(detectsMachines ? 'Enable' : null);
  });
});

it('a good call takes at most nine requests to storage, and one to Twilio', async () => {
  await play('good', { instances: 1, destinations: [] }, {}, async (world) => {
    // The first one creates the table, which happens once.
    void world.send('ConfirmedFire', listeners(1), false, 'first');
    await world.pass(120_000);
    const before = world.requests.length;
    void world.send('ConfirmedFire', listeners(1, 200), false, 'second');
    await world.pass(85_000);
    const own = world.requests.slice(before).filter(({ at }) => (at - BEGINNING) % 30_000 !== 0);
    expect(own.filter(({ to }) => to === 'table').length).toBeLessThanOrEqual(9);
    expect(own.filter(({ to }) => to === 'line')).toHaveLength(1);
  });
});

describe('an instance dies', () => {
  it.each(['carried out', 'not carried out'] as const)(
    'of any of its requests, which is %s: both hear it, and once',
    async (when) => {
      const people = numbers(['06', '00']);
      const mode = { instances: 2, retryMs: 30_000 };
      const tryAt = (at: number) =>
        play(`death ${at}`, mode, { death: { at, when } }, async (world) => {
          const sending = world.send('ConfirmedFire', people, false, 'key');
          await world.pass(600_000);
          const heard = people.map(
            (number) =>
              callsTo(world, number).filter((call) => call.told().speeches.some(({ isComplete }) => isComplete)).length,
          );
          const { recipients = [] } = (await world.view(await sending)) ?? {};
          expect({ at, heard, told: recipients.map(({ status }) => status) }).toEqual({
            at,
            heard: [1, 1],
            told: ['heard', 'heard'],
          });
        });
      for (let at = 1; at <= MOST_REQUESTS; at += STEP) await tryAt(at);
    },
  );
});

/** Two calls, one of which is busy at first, take fewer. */
const MOST_REQUESTS = 34;
/** `npm run soak` tries each of them. */
const STEP = process.env['WORLD_SEEDS'] === undefined ? 3 : 1;

/** The line of another provider, which notes whom it calls; nobody answers. */
const otherLine = (called: string[]): PhoneLine => ({
  name: 'other',
  isIdempotent: true,
  refusesSurely: true,
  call: async ({ number, attempt }): Promise<CallId> => {
    called.push(number);
    const callId = parseCallId(`call-${attempt.attemptId}`);
    if (callId === undefined) throw new RangeError('not an id');
    return Promise.resolve(callId);
  },
  speak: async () => Promise.resolve(undefined),
  listen: async () => Promise.resolve(),
  hangUp: async () => Promise.resolve(),
});

it('another provider: what is under way ends as unknown and is dialled again, its hold on a number ended', async () => {
  // One rings for ever, one was requested and never answered, one has heard it.
  const people = numbers(['09', '33', '00']);
  await play('changed', { instances: 1, ringMs: 60_000 }, {}, async (world) => {
    const sending = world.send('ConfirmedFire', people, false, 'key');
    await world.pass(25_000);
    world.end();
    const called: string[] = [];
    const table = new Table(world.table, { format: CALLS_FORMAT });
    const parts = { line: otherLine(called), table, serviceName: SERVICE_NAME, rules: world.rules, log: SILENT };
    const phone = createPhone(parts);
    const sweeps = setInterval(() => void phone.runDue(SILENT), 30_000);
    await world.pass(150_000);
    clearInterval(sweeps);
    const { recipients = [] } = (await world.view(await sending)) ?? {};
    expect(recipients.map(({ attempts }) => attempts[0]?.outcome)).toEqual(['unknown', 'unknown', 'heard']);
    expect(new Set(called)).toEqual(new Set(people.slice(0, 2)));
  });
});

it('the phone is switched off: what Twilio was asked for leaves no hash of a number behind', async () => {
  const people = numbers(['09', '33', '00', '01']);
  await play('off', { instances: 1, ringMs: 60_000 }, {}, async (world) => {
    void world.send('ConfirmedFire', people, false, 'key');
    await world.pass(8_000);
    const rows = () => JSON.stringify(world.table.partitions().flatMap((partition) => world.table.rows(partition)));
    expect(people.some((number) => rows().includes(hashOf(number)))).toBe(true);
    world.end();
    const off = phoneOff({
      table: new Table(world.table, { format: CALLS_FORMAT }),
      retentionMs: world.rules.retentionMs,
    });
    for (let turn = 0; turn < 4; turn += 1) {
      void off(SILENT);
      await world.pass(30_000);
    }
    expect(people.filter((number) => rows().includes(hashOf(number)) || rows().includes(number))).toEqual([]);
  });
});

const hashOf = (number: string): string => {
  const hash = hashOfNumber(parsePhoneNumber(number));
  if (hash === undefined) throw new RangeError('not a number');
  return hash;
};
