import { describe, expect, vi } from 'vitest';

import { ALERT_TYPES } from '../../../src/calls/model/alert-types.ts';
import { parseCallId } from '../../../src/calls/model/ids.ts';
import type { OutcomeEvent } from '../../../src/calls/model/outcomes.ts';
import { type CallEvent, ProviderError } from '../../../src/calls/model/phone-provider.ts';
import type { Phone } from '../../../src/calls/phone.ts';
import { phoneOff } from '../../../src/calls/run/housekeeping.ts';
import type { Receiver } from '../../../src/calls/state/outcomes.ts';
import { CALLS, LINES_KEY, liveKey, outcomesKey, outcomesProperties } from '../../../src/calls/store/rows.ts';
import { DamagedRow } from '../../../src/storage/errors.ts';
import { must } from '../../calls/new-case.ts';
import { BEGINNING } from './ground.ts';
import { ROOM, scene, SOON } from './scene.ts';
import { idOf, type SentRequest, someNumber, people } from './senders.ts';
import { WHOLE_NUMBER } from './promises.ts';
import { UnreliableProvider } from './unreliable-provider.ts';
import type { World } from './world.ts';

// Alerts to operators, and the rows that are kept for them.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Whether calls can be placed, as any instance answers. */
const standing = async (world: World) => {
  const instance = world.instances.any();
  let answer: Awaited<ReturnType<Phone['needingAttention']>> | undefined;
  void instance?.life.do(async () => instance.phone.needingAttention()).then((value) => (answer = value));
  await world.until(() => answer !== undefined);
  return answer?.phone;
};

describe('the provider', () => {
  scene('is checked hourly, without calling anybody', { instances: 3 }, async (world) => {
    const check = vi.spyOn(UnreliableProvider.prototype, 'check');
    await world.pass(5 * HOUR_MS + MINUTE_MS);
    expect(check.mock.calls.length).toBeGreaterThanOrEqual(5);
    // Instances that are due at the same moment all check.
    expect(check.mock.calls.length).toBeLessThanOrEqual(6 * 3);
    // An alert reads that each process looks for due calls, which it says every five minutes.
    expect(world.logged('calls checked').length).toBeGreaterThan(50 * 3);
    expect(world.logged('calls checked').length).toBeLessThanOrEqual(61 * 3);
    expect(world.network.calls).toEqual([]);
    expect(await standing(world)).toEqual({ usable: true });
  });

  scene(
    'is checked each minute while it refuses, which is told and answered until a check succeeds',
    {},
    async (world) => {
      await world.pass(10 * MINUTE_MS);
      world.conditions.breakSetUp(2 * HOUR_MS);
      await world.pass(HOUR_MS);
      const [first] = world.logged('phone service not usable');
      expect(first?.level).toBe('error');
      const { since = '', ...others } = (await standing(world)) ?? {};
      expect(others).toEqual({ usable: false, reason: 'no permission' });
      expect(Math.abs(Date.parse(since) - (first?.at ?? 0))).toBeLessThan(2_000);
      const check = vi.spyOn(UnreliableProvider.prototype, 'check');
      await world.pass(10 * MINUTE_MS);
      // At the turns of the timers, each 30 s.
      expect(check.mock.calls.length).toBeGreaterThanOrEqual(6);
      expect(check.mock.calls.length).toBeLessThanOrEqual(11);
      await world.pass(2 * HOUR_MS);
      expect(await standing(world)).toEqual({ usable: true });
    },
  );

  scene('that refuses a call is answered to be unusable before the next check', {}, async (world) => {
    await world.pass(MINUTE_MS);
    world.conditions.breakSetUp(HOUR_MS);
    world.fire();
    await world.pass(2_000);
    const since = expect.any(String);
    expect(await standing(world)).toEqual({ usable: false, since, reason: 'no permission' });
  });
});

for (const [request, event] of [
  ['call', 'call not placed'],
  ['speak', 'message not played'],
  ['hangUp', 'hang-up failed'],
] as const) {
  scene(`a request to ${request} that the provider refuses is an error in the log: ${event}`, {}, async (world) => {
    vi.spyOn(world.network, request).mockImplementationOnce(() => {
      throw new ProviderError({ failure: 'rejected', reason: 'rejected (400)', code: 400 });
    });
    world.fire();
    await world.pass(200_000);
    const fields = { code: 400, reason: 'rejected (400)' };
    expect(world.logged(event)).toMatchObject([{ level: 'error', fields }]);
    expect(world.openCalls).toEqual([]);
  });
}

scene('a callback with too many events is worked on for a minute, and an error reports the rest', {}, async (world) => {
  const events = Array.from({ length: 10_000 }, (_, index): CallEvent => {
    const callId = must(parseCallId(`other-${index}`));
    return { kind: 'connected', callId, result: {}, attempt: undefined };
  });
  const [instance] = world.instances.living;
  void instance?.life.do(async () => instance.phone.handle(events, ALERT_TYPES[0], instance.log));
  await world.pass(55_000);
  expect(world.logged('callback events left')).toEqual([]);
  await world.pass(10_000);
  expect(world.logged('callback events left')).toMatchObject([
    { level: 'error', fields: { events: expect.any(Number), reason: 'no time left' } },
  ]);
});

const silent = (world: World) => world.logged('urgent notification silent');

describe('an urgent notification is told to be silent after two minutes', () => {
  for (const [name, fate, alertType, lines, isTold] of [
    ['if no line is free all the time', 'listens', 'ConfirmedFire', 0, true],
    ['if phones were busy, and rang for less than 6 s', 'busy', 'ReportOfFire', 2, true],
    ['but not if a phone has rung for 6 s', 'no answer', 'ConfirmedFire', 2, false],
    ['but not if somebody has answered', 'hangs up early', 'ConfirmedFire', 2, false],
    ['and others are not', 'busy', 'Anomaly', 2, false],
  ] as const) {
    scene(name, { lines, attempts: 10, callees: () => fate }, async (world) => {
      world.send(alertType, people(2));
      await world.pass(200_000);
      expect(silent(world)).toHaveLength(isTold ? 1 : 0);
      for (const { at } of silent(world)) expect(Math.abs(at - BEGINNING - 120_500)).toBeLessThan(2_500);
    });
  }

  scene(
    'with the number of its phones that are busy with other calls of the service',
    { ...ROOM, ringMs: 110_000, callees: () => 'rings out' },
    async (world) => {
      world.fire();
      await world.pass(1_000);
      world.fire();
      await world.pass(1_000);
      const last = world.fire();
      await world.pass(131_000);
      const told = silent(world).map(({ fields }) => fields);
      expect(told).toMatchObject([{ notification_id: idOf(last), busy_with_our_calls: 1 }]);
    },
  );
});

for (const [what, downMs, logs] of [
  ['for less than two minutes is no alert', 160_000, []],
  ['for two minutes is told to be late, once', 180_000, [{ level: 'error', fields: { seconds: expect.any(Number) } }]],
] as const) {
  // Its check is due 60 s after it began to ring.
  scene(`a call that no instance has checked ${what}`, { callees: { 0: 'rings out' } }, async (world) => {
    world.fire();
    await world.pass(1_000);
    world.instances.end();
    await world.pass(downMs);
    world.instances.start(1);
    await world.pass(120_000);
    expect(world.logged('call is late')).toMatchObject(logs);
  });
}

/** The id of an event without the id of its notification. */
const about = ({ id }: OutcomeEvent) => id.split('/').slice(1).join('/');

/** A process died some time ago before it delivered outcomes: each says that a recipient was not reached. */
const leaveOutcomes = async (world: World, sent: SentRequest, to: readonly Receiver[], count: number, agoMs = 0) => {
  const notificationId = must(idOf(sent));
  for (let nth = 0; nth < count; nth += 1) {
    const entry = { kind: 'recipient', index: 0, status: 'not_reached' } as const;
    const outcomes = { notificationId, at: world.now - agoMs, entries: [entry], to };
    const rowKey = outcomesKey(outcomes, String(nth));
    await world.table.transact(CALLS, [{ kind: 'insert', rowKey, properties: outcomesProperties(outcomes) }]);
  }
};

scene(
  'an alert that no process has logged for a day is logged before its outcomes are dropped',
  SOON,
  async (world) => {
    const sent = world.fire();
    await world.pass(MINUTE_MS);
    await leaveOutcomes(world, sent, ['topic', 'log'], 1, DAY_MS);
    await world.pass(3 * MINUTE_MS);
    expect([world.logged('recipient not reached').length, world.logged('outcomes never published').length]).toEqual([
      1, 1,
    ]);
  },
);

describe('a destination of outcomes', () => {
  scene(
    'that fails delays no alert, however many outcomes wait for it',
    { ...SOON, topicFaults: 1, destinations: ['webhook'] },
    async (world) => {
      const sent = world.fire();
      await world.pass(MINUTE_MS);
      await leaveOutcomes(world, sent, ['webhook'], 100);
      await world.pass(1);
      await leaveOutcomes(world, sent, ['webhook', 'log'], 1);
      await world.until(() => world.logged('recipient not reached').length > 0, 3 * MINUTE_MS);
      await world.pass(HOUR_MS);
      expect(world.logged('recipient not reached')).toHaveLength(1);
    },
  );

  scene(
    'may hang for an hour while a fire is called: nothing waits for it, and one process tells it of all afterwards',
    { ...SOON, instances: 3, topicFaults: 1 },
    async (world) => {
      const early = world.anomaly(people(2));
      await world.pass(MINUTE_MS);
      const before = world.tableRequests;
      const late = world.fire(people(2, 1));
      await world.pass(HOUR_MS);
      expect(world.rangAt(someNumber(1, 0)) - MINUTE_MS).toBeLessThan(2_000);
      expect(await world.statuses(late)).toEqual(['heard', 'heard']);
      // Three of each look, twice a minute and by each process, and the tries, whose pauses grow.
      expect(world.tableRequests - before).toBeLessThan(1_200);
      world.conditions.calmDown();
      const publishedBefore = world.published.length;
      for (let seconds = 0; seconds < 660; seconds += 10) {
        // All processes find the same outcomes.
        for (const { life, phone, log } of world.instances.living) void life.do(async () => phone.runDue(log));
        await world.pass(10_000);
      }
      for (const sent of [early, late]) {
        for (const to of world.mode.destinations) {
          const own = world.published
            .slice(publishedBefore)
            .filter((event) => event.to === to && event.subject === idOf(sent));
          expect(own.map(about).toSorted()).toEqual(['0/heard', '1/heard', 'completed']);
        }
      }
    },
  );

  scene(
    'that fails is tried again by the process that wrote the outcomes: after a second, and after longer pauses',
    { lines: 3, callsAtOnce: 3, topicFaults: 1, destinations: ['webhook'], timerNeverRuns: true },
    async (world) => {
      for (let group = 0; group < 3; group += 1) world.fire(people(1, group));
      const failed = () => world.logged('outcomes not published');
      await world.until(() => failed().length > 0);
      await world.pass(35_000);
      // After pauses of 1, 2, 4 … s. The process that wrote them tries before another process may.
      expect(failed().length).toBeGreaterThan(3);
      expect(failed().length).toBeLessThanOrEqual(18);
      const calls = world.network.calls.length;
      world.conditions.calmDown();
      const publishedBefore = world.published.length;
      const told = () => new Set(world.published.slice(publishedBefore).map(({ subject }) => subject)).size;
      // A pause doubles once, however many requests fail together.
      await world.until(() => told() > 0, 33_000);
      await world.until(() => told() === 3, 65_000);
      expect(calls).toBe(3);
    },
  );

  scene(
    'that fails once is tried again after a second',
    { topicFaults: 1, destinations: ['webhook'], timerNeverRuns: true },
    async (world) => {
      world.fire();
      const [failed, taken] = [() => world.logged('outcomes not published'), () => world.logged('outcomes published')];
      await world.until(() => failed().length > 0);
      world.conditions.calmDown();
      await world.until(() => taken().length > 0, 10_000);
      expect((taken()[0]?.at ?? 0) - (failed()[0]?.at ?? 0)).toBeLessThan(1_200);
    },
  );

  scene(
    'does not delay the end of a process: it is told once of one notification, and by another process of the rest',
    { lines: 3, callsAtOnce: 3, topicFaults: 1, destinations: ['webhook'] },
    async (world) => {
      for (let group = 0; group < 3; group += 1) world.fire(people(1, group));
      await world.pass(2 * MINUTE_MS);
      world.conditions.calmDown();
      const lost = world.published.length;
      const published = () => world.published.slice(lost);
      const told = () => new Set(published().map(({ subject }) => subject)).size;
      await world.until(() => told() > 0, HOUR_MS);
      const [instance] = world.instances.living;
      let toldAtEnd = 0;
      void instance?.life
        .do(async () => instance.phone.end())
        .then(() => {
          toldAtEnd = told();
          instance.life.end();
        });
      await world.pass(HOUR_MS);
      expect([toldAtEnd, told()]).toEqual([1, 3]);
      expect(published()).toHaveLength(6);
    },
  );
});

scene('an acknowledged notification goes on, and each destination is told who handles it', {}, async (world) => {
  const sent = world.fire(people(2));
  await world.pass(15_000);
  world.senders.acknowledge(sent, 'Ana');
  await world.pass(5_000);
  world.senders.acknowledge(sent, 'Ben');
  await world.pass(200_000);
  expect(await world.bodyOf(sent)).toMatchObject({ acknowledged_by: 'Ben', status: 'completed', reached: 2 });
  for (const to of world.mode.destinations) {
    const told = world.published.filter((one) => one.to === to && one.type === 'Notification.Acknowledged');
    expect(told.map((one) => [about(one), one.data['acknowledged_by']])).toEqual([
      ['acknowledged', 'Ana'],
      ['acknowledged/2', 'Ben'],
    ]);
  }
});

scene(
  'a notification whose row is damaged: an operator reads, stops and acknowledges it in vain, for the same reason',
  SOON,
  async (world) => {
    const sent = world.fire();
    await world.pass(2_000);
    const id = must(idOf(sent));
    await world.table.transact(CALLS, [{ kind: 'merge', rowKey: liveKey(id), etag: '*', properties: { about: '{}' } }]);
    world.instances.end();
    world.instances.start(1);
    await world.pass(5_000);
    const reasons: unknown[] = [];
    const { life, phone, log } = must(world.instances.living[0]);
    for (const ask of [
      async () => phone.read(id),
      async () => phone.stop(id, log),
      async () => phone.acknowledge(id, 'Ana', log),
      async () => phone.stop(id, log),
    ]) {
      void life.do(async () => ask().catch((error: unknown) => reasons.push(error)));
      await world.pass(5_000);
    }
    expect(reasons).toEqual(Array(4).fill(expect.any(DamagedRow)));
  },
);

const ignore = () => undefined;

/** The app runs with `PHONE=off`. */
const switchOff = async (
  { instances, faultlessTable: table, rules }: World,
  error: (event: string) => void = ignore,
): Promise<void> => {
  instances.end();
  void phoneOff({ table, retentionMs: rules.retentionMs })({ info: ignore, warn: ignore, error });
};

for (const phone of ['on', 'off'] as const) {
  const setting = { ...SOON, destinations: [] };
  scene(`PHONE=${phone}: rows are deleted when they expire, and not two days early`, setting, async (world) => {
    const sent = world.fire(people(2));
    await world.pass(5 * MINUTE_MS);
    expect(await world.statuses(sent)).toEqual(['heard', 'heard']);
    world.instances.end();
    const rowsAfterWork = async (forMs = MINUTE_MS) => {
      if (phone === 'on') world.instances.start(1);
      else await switchOff(world);
      await world.pass(forMs);
      world.instances.end();
      return world.rows.filter(({ rowKey }) => /^(!live|done|key)/.test(rowKey)).length;
    };
    await world.pass(world.rules.retentionMs - 2 * DAY_MS);
    expect(await rowsAfterWork()).toBe(2);
    // A process that starts before they expire deletes them within an hour.
    const earlyMs = phone === 'on' ? 30 * MINUTE_MS : 0;
    await world.pass(2 * DAY_MS - earlyMs);
    expect(await rowsAfterWork(MINUTE_MS + 4 * earlyMs)).toBe(0);
  });
}

scene('PHONE=off: alerts that a process has left are logged once', { ...SOON, topicFaults: 1 }, async (world) => {
  const sent = world.fire();
  await world.pass(MINUTE_MS);
  await leaveOutcomes(world, sent, ['webhook', 'log'], 1);
  const alerts = vi.fn<(event: string) => void>();
  for (let run = 0; run < 2; run += 1) {
    await world.pass(MINUTE_MS);
    await switchOff(world, alerts);
  }
  await world.pass(MINUTE_MS);
  expect(alerts.mock.calls.map(([event]) => event)).toEqual(['recipient not reached']);
});

scene(
  'PHONE=off: what was under way ends unreached, alerts, and is published when the phone is on; nobody is called, the count of the day stays, and lines are free',
  { retryMs: 60_000, callsAtOnce: 3, lines: 6, callees: { 0: 'busy', 1: 'rings out', 2: 'rings out', 3: 'rings out' } },
  async (world) => {
    const sent = world.fire(people(5));
    await world.pass(20_000);
    expect(world.openCalls).toHaveLength(3);
    const before = world.dialled.length;
    const lines = () => world.table.rows(CALLS).find(({ rowKey }) => rowKey === LINES_KEY)?.properties['lines'];
    const day = () => /"day":{[^}]*}/.exec(String(lines()))?.[0];
    const counted = day();
    const alerts = vi.fn<(event: string) => void>();
    await switchOff(world, alerts);
    await world.pass(30_000);
    expect((await world.bodyOf(sent)).status).toBe('completed');
    expect(await world.statuses(sent)).toEqual(Array(5).fill('not_reached'));
    expect(alerts.mock.calls.map(([event]) => event)).toEqual(Array(5).fill('recipient not reached'));
    expect(JSON.stringify(world.rows)).not.toMatch(WHOLE_NUMBER);
    expect(counted).toContain('"calls":');
    expect([world.dialled.length, day()]).toEqual([before, counted]);
    world.instances.start(1);
    world.fire(people(1, 1));
    await world.until(() => world.callsTo(someNumber(1, 0)).length > 0, 5_000);
    await world.pass(2 * MINUTE_MS);
    const ends = world.published.filter(
      ({ type, subject }) => type === 'Notification.Completed' && subject === idOf(sent),
    );
    expect(ends.map(({ to }) => to).toSorted()).toEqual([...world.mode.destinations].toSorted());
  },
);
