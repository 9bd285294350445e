import { describe, expect, it, vi } from 'vitest';

import type { TwilioCall } from '../../../infra/emulators/twilio-simulator/twilio-call.ts';
import { type Mode, QUIET } from './modes.ts';
import { ROOM } from './scene.ts';
import { phoneNumber } from '../../calls/new-case.ts';
import { SPEAK_MS, TwilioWorld } from './twilio-world.ts';
import { inWorld } from './world.ts';

// Only with Twilio: the message goes with the call request, instructions answer keys, and a repeated request is a second call.

const MINUTE_MS = 60_000;

/** Numbers by their end: the last two digits choose what the callee does. */
const numbers = (endings: readonly string[], from = 100) =>
  endings.map((ending, index) => phoneNumber(`+120655${from + index}${ending}`));

const scene = (name: string, mode: Partial<Mode>, run: (world: TwilioWorld) => Promise<void>): void =>
  it(name, () =>
    inWorld(TwilioWorld, name, { ...QUIET, ...ROOM, ...mode }, {}, async (world) => {
      await run(world);
      expect(world.logged('unexpected error')).toEqual([]);
      expect(mistakesOf(world)).toEqual([]);
    }),
  );

/** The requests that Twilio refused. A webhook without an answer (11200) is not a mistake of the app. */
const mistakesOf = ({ account }: TwilioWorld) =>
  account.log().refused.filter(({ reason }) => !reason.startsWith('11200'));

/** For each text, whether the callee heard it to its end. */
const heard = (call: TwilioCall | undefined): readonly boolean[] =>
  call?.logEntry().speeches.map(({ isComplete }) => isComplete) ?? [];
const spoken = (call: TwilioCall | undefined): readonly string[] => call?.logEntry().spoken ?? [];
const isOpen = ({ state }: TwilioCall) => state !== 'ended';

describe('a call request whose answer is lost', () => {
  for (const [what, ending, sent] of [
    ['was not carried out: it is sent once more', '32', 2],
    ['was carried out: its events tell of the call, and it is not sent again', '34', 1],
  ] as const) {
    scene(what, { instances: 2 }, async (world) => {
      const people = numbers([ending]);
      const alert = world.fire(people);
      await world.pass(2 * MINUTE_MS);
      expect(await world.outcomes(alert)).toEqual([['heard']]);
      expect(world.askedFor('POST /Calls.json', people[0])).toHaveLength(sent);
      expect(world.callsTo(people[0])).toHaveLength(1);
    });
  }

  scene(
    'was carried out, and its events come late: it is sent once more, two phones ring, and a stop hangs up both',
    { ringMs: 110_000 },
    async (world) => {
      const reply = world.account.reply.bind(world.account);
      vi.spyOn(world.account, 'reply').mockImplementation((asked) => {
        const answer = reply(asked);
        return world.account.calls.length === 1 ? 'answer lost' : answer;
      });
      world.isHeld = true;
      const alert = world.fire(numbers(['09']));
      await world.until(() => world.account.calls.length === 2);
      world.isHeld = false;
      await world.pass(3_000);
      world.senders.stop(alert);
      await world.pass(5_000);
      expect(world.account.calls.map(({ status }) => status)).toEqual(['canceled', 'canceled']);
    },
  );
});

scene('a stop does not cut the message of a callee who has just answered', {}, async (world) => {
  const people = numbers(['00']);
  const alert = world.fire(people);
  await world.until(() => world.callsTo(people[0])[0]?.state === 'connected', MINUTE_MS, 1);
  world.senders.stop(alert);
  await world.pass(MINUTE_MS);
  const [call] = world.callsTo(people[0]);
  expect(world.askedFor('POST /Calls/', call?.id)[0]?.form.get('Status')).toBe('canceled');
  expect([heard(call), call?.state]).toEqual([[true], 'ended']);
  expect(await world.statuses(alert)).toEqual(['heard']);
});

describe('a callee, once', () => {
  for (const [ending, confirm, status, outcome, said] of [
    ['00', false, 'heard', 'heard', 'You'],
    ['01', false, 'not_reached', 'no_answer', ''],
    ['02', false, 'not_reached', 'busy', ''],
    ['04', false, 'failed', 'refused', ''],
    ['12', false, 'not_reached', 'cut_short', 'You'],
    ['21', false, 'heard', 'heard', 'You'],
    ['22', false, 'heard', 'heard', 'You'],
    ['36', false, 'failed', 'refused', ''],
    ['00', true, 'not_reached', 'unconfirmed', 'You'],
    ['73', true, 'confirmed', 'confirmed', 'You Confirmed'],
    ['83', true, 'confirmed', 'confirmed', 'You Confirmed'],
    ['84', true, 'confirmed', 'confirmed', 'You You Confirmed'],
    ['88', true, 'confirmed', 'confirmed', 'You Understood Confirmed'],
    ['92', true, 'not_reached', 'unconfirmed', 'You You You'],
  ] as const) {
    const name = `number …${ending}, ${confirm ? 'asked for a key' : 'not asked for a key'}: ${outcome}, after “${said}”`;
    scene(name, { attempts: 1, instances: 2 }, async (world) => {
      const people = numbers([ending]);
      const alert = world.fire(people, { confirm });
      await world.pass(3 * MINUTE_MS);
      expect([await world.statuses(alert), await world.outcomes(alert)]).toEqual([[status], [[outcome]]]);
      const [call] = world.callsTo(people[0]);
      expect(
        spoken(call)
          .map((text) => /^\w+/.exec(text)?.[0])
          .join(' '),
      ).toBe(said);
      expect(world.account.calls.filter(isOpen)).toEqual([]);
    });
  }
});

describe('while storage is away', () => {
  scene('for 12 s at the end of a call, its end is kept: the callee is not called again', {}, async (world) => {
    const people = numbers(['00']);
    const alert = world.fire(people);
    await world.until(() => world.callsTo(people[0])[0]?.state === 'connected');
    await world.pass(SPEAK_MS - 1_000);
    world.conditions.stopTable(12_000);
    await world.pass(5 * MINUTE_MS);
    expect(world.callsTo(people[0]).map(heard)).toEqual([[true]]);
    expect(await world.statuses(alert)).toEqual(['heard']);
  });

  for (const [what, isRestarted] of [
    ['that remembers the notification', false],
    ['that has never seen the notification', true],
  ] as const) {
    scene(`a key is not thanked for, and asked for again by a process ${what}`, {}, async (world) => {
      const people = numbers(['70']);
      const alert = world.fire(people, { confirm: true, details: 'Antelope Ridge' });
      const calls = () => world.callsTo(people[0]);
      await world.until(() => calls()[0]?.status === 'ringing');
      world.conditions.stopTable(MINUTE_MS);
      if (isRestarted) {
        world.instances.end();
        world.instances.start(1);
      }
      await world.until(() => spoken(calls()[0]).length === 2);
      const again = spoken(calls()[0])[1];
      expect(again).toContain('Press 1 to confirm');
      if (!isRestarted) expect(again).toContain('Antelope Ridge');
      expect(
        calls()[0]
          ?.logEntry()
          .steps.filter(({ text }) => text === 'listen'),
      ).toHaveLength(2);
      await world.pass(5 * MINUTE_MS);
      expect(calls().map((call) => spoken(call).join().includes('Confirmed.'))).toEqual([false, true]);
      expect(await world.statuses(alert)).toEqual(['confirmed']);
    });
  }
});

scene(
  'an app that is stopped right after the call request: the message is heard whole, and once',
  {},
  async (world) => {
    const people = numbers(['00', '00']);
    world.fire(people);
    await world.until(() => world.account.calls.length === 2);
    world.instances.end();
    await world.pass(MINUTE_MS);
    for (const number of people) {
      const [call] = world.callsTo(number);
      expect(heard(call)).toEqual([true]);
      expect(
        spoken(call)
          .join()
          .match(/You've received/g),
      ).toHaveLength(3);
    }
    world.instances.start(1);
    await world.pass(20 * MINUTE_MS);
    for (const call of world.account.calls) expect([heard(call).length, isOpen(call)]).toEqual([1, false]);
    expect(world.logged('notification completed')).toHaveLength(1);
  },
);

scene(
  'the pace of the account is kept by two instances together',
  { instances: 2, callsPerSecond: 10 },
  async (world) => {
    const alert = world.fire(numbers(Array<string>(50).fill('00')));
    await world.pass(MINUTE_MS);
    expect(await world.statuses(alert)).toEqual(Array(50).fill('heard'));
    const at = world.account.calls.map(({ createdAt }) => createdAt);
    expect(Math.max(...at) - Math.min(...at)).toBeLessThanOrEqual(4_900 * 1.5);
    // Their clocks differ by up to two seconds, which is made up for once.
    const within = (from: number) => at.filter((one) => one >= from && one < from + 1_000).length;
    expect(Math.max(...at.map(within))).toBeLessThanOrEqual(20);
  },
);
