import { expect, it, vi } from 'vitest';

import type { Sent } from '../../../src/calls/phone.ts';
import { QUIET } from './modes.ts';
import { inTwilioWorld, PACE, type TwilioWorld } from './twilio-world.ts';

// Time is virtual: how long it takes tells of the machine alone.
vi.setConfig({ testTimeout: 3_600_000 });

/** `npm run soak` plays a hundred times as many. */
const FIRST_SEED = Number(process.env['WORLD_SEED'] ?? 1);
const SEEDS = Math.ceil(Number(process.env['WORLD_SEEDS'] ?? 1) / 10);

const MODES = [
  { ...QUIET, name: 'quiet', lines: 5, instances: 2, callsPerDay: 500 },
  { ...QUIET, name: 'lost answers', lines: 5, instances: 2, lineFaults: 0.4, eventLoss: 0.5, callsPerDay: 500 },
  { ...QUIET, name: 'deaths', lines: 5, instances: 3, deathsAtRequests: 0.03, callsPerDay: 500 },
  { ...QUIET, name: 'storage outages', lines: 5, instances: 2, outages: 3, callsPerDay: 500 },
  {
    ...QUIET,
    name: 'every fault',
    lines: 4,
    instances: 3,
    lineFaults: 0.15,
    deathsAtRequests: 0.02,
    tableFaults: 0.03,
    eventLoss: 0.1,
    eventRepeat: 0.2,
    callsPerDay: 500,
  },
] as const;

const ENDINGS = ['00', '00', '21', '01', '02', '03', '06', '07', '12', '19', '34', '22'];
const KEYS = ['70', '71', '75', '83', '84', '85', '86', '92', '88'];

/** What was promised and did not hold. */
const brokenPromises = async (world: TwilioWorld, sent: readonly Sent[]): Promise<readonly string[]> => {
  const broken: string[] = [];
  for (const one of sent) {
    const view = await world.view(one);
    if (view?.status !== 'completed') broken.push(`not over: ${JSON.stringify(view)}`);
    for (const { status, recipient, attempts } of view?.recipients ?? []) {
      const own = world.calls
        .filter(({ sid }) => attempts.some(({ callId }) => callId === sid))
        .map((call) => call.told());
      // A third of the message is one unit.
      const hasHeard = own.some(({ speeches }) => speeches.some(({ spokenMs }) => spokenMs >= PACE.speakMs / 3));
      // Who hung up is known only from a report. Where that was lost, the time since the start counts.
      const isEndLost = attempts.some(({ reason }) => reason === 'the end of the message was not reported');
      if (status === 'heard' && !hasHeard && !isEndLost) broken.push(`heard without hearing: ${recipient}`);
      const isAnswered = own.some(({ spoken }) => spoken.some((text) => /^(Confirmed|Understood)/.test(text)));
      const isKey = status === 'confirmed' || status === 'cannot_go';
      if (isAnswered && !isKey) broken.push(`${status} after a key: ${recipient}`);
    }
  }
  const calls = world.calls.map((call) => call.told());
  for (const call of calls) if (call.state !== 'ended') broken.push(`open: ${call.id} to ${call.to}`);
  for (const { request, reason } of world.account.refused) {
    // If nobody answers, Twilio cannot be told what to say.
    if (!reason.startsWith('11200')) broken.push(`refused: ${request}: ${reason}`);
  }
  for (const [number, own] of Map.groupBy(calls, ({ to }) => to)) {
    own.forEach((call, index) => {
      const earlier = own.slice(0, index);
      const at = Date.parse(call.rangAt);
      if (earlier.some(({ endedAt = '' }) => !(Date.parse(endedAt) <= at)))
        broken.push(`two calls at once to ${number}`);
      const wasHeard = earlier.some(({ speeches, scenario }) => {
        const isMenu = /press|mailbox/.test(scenario);
        return speeches.some(({ isComplete, text }) => isComplete && (!isMenu || /^(Confirmed|Understood)/.test(text)));
      });
      if (wasHeard) broken.push(`called again who heard: ${number}`);
    });
  }
  for (const { event, level } of world.logs) if (level === 'error' && event === 'unexpected error') broken.push(event);
  return broken;
};

const numbers = (endings: readonly string[], from: number) =>
  endings.map((ending, index) => `+120655${String(from + index).padStart(3, '0')}${ending}`);

it.each(MODES)('everybody is called as promised through Twilio: $name', async (mode) => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
    const play = (isTold: boolean) =>
      inTwilioWorld(`${mode.name} ${seed}`, mode, { callsPerSecond: 2, isTold }, async (world) => {
        const sending = [
          world.send('Anomaly', numbers(ENDINGS.slice(0, 6), 100), false, 'one'),
          world.send('ConfirmedFire', numbers(ENDINGS.slice(6), 200), false, 'two'),
          world.send('ReportOfFire', numbers(KEYS, 300), true, 'three'),
        ];
        await world.pass(15 * 60_000);
        world.conditions.calmDown();
        await world.pass(40 * 60_000);
        const sent = await Promise.all(sending);
        const broken = await brokenPromises(world, sent);
        return { broken, story: world.story.text };
      });
    const { broken } = await play(false);
    if (broken.length === 0) continue;
    const { story } = await play(true);
    expect(broken, `${story}\nseed ${seed}`).toEqual([]);
  }
});
