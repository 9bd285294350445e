import { setTimeout as sleep } from 'node:timers/promises';

import { it } from 'vitest';

import { messageOf, setStage, type Stage } from './stage.ts';
import { until } from './until.ts';

// One call makes about 20 requests to the tables and to ACS.
const MOST_REQUESTS = 30;

/** Asks an instance to notify a number, always with the same key. */
const ask = async (stage: Stage, url: string, number: string) => {
  const headers = { 'idempotency-key': number };
  const body = JSON.stringify({ channel: 'phone', alert_type: 'ConfirmedFire', recipients: [number] });
  const answer = await stage.fetch(`${url}/api/notifications`, { method: 'POST', headers, body });
  return { status: answer.status, id: /"notification_id":"([^"]+)"/.exec(await answer.text())?.[1] };
};

it.concurrent.for(['before the request', 'before its answer'] as const)(
  'has everybody hear the message once when the instance that took the request is killed, %s, at each of its requests in turn',
  { timeout: 480_000 },
  async (death, { expect, onTestFinished }) => {
    const environment = { SWEEP_SCHEDULE: '*/5 * * * * *' };
    const stage = await setStage({ instances: 2, isProxied: true, environment }, onTestFinished);
    const [victim, survivor] = stage.apps;
    if (victim === undefined || survivor === undefined || stage.frontDoor === undefined) throw new Error('no stage');
    stage.frontDoor.choose = (_, living) => living[0];
    const asked = new Map<string, string | undefined>();
    for (let request = 1; request <= MOST_REQUESTS; request += 1) {
      const number = `+1206555${String(request).padStart(2, '0')}00`;
      let died = false;
      void victim.diesAt(request, death).then(() => (died = true));
      const first = await ask(stage, victim.url, number).catch(() => undefined);
      await until(
        async () =>
          died ||
          (first?.id !== undefined && (await stage.notification(first.id, survivor.url)).status === 'completed'),
        `the instance dies at its request ${request}`,
      );
      // Its caller got no answer: it asks again, twice, a second apart, and another instance answers.
      const again = ask(stage, survivor.url, number);
      await sleep(1_000);
      const [second, third] = await Promise.all([again, ask(stage, survivor.url, number)]);
      expect([second.status, third.status]).toEqual([202, 202]);
      expect(new Set([second.id, third.id, first?.id ?? second.id]).size).toBe(1);
      asked.set(number, second.id);
      if (!died) break;
      await victim.restart();
    }
    expect(asked.size).toBeGreaterThan(8);
    for (const [number, id] of asked) {
      const { recipients } = await stage.completed(id, 120_000);
      expect(recipients, number).toMatchObject([{ status: 'heard' }]);
      // A call in which nobody spoke, because whoever was to speak died, may be made up for by another one; but none follows the message.
      const calls = stage.callsTo(number);
      expect(calls.at(-1)?.spoken, number).toEqual([messageOf('ConfirmedFire')]);
      expect(calls.flatMap(({ spoken }) => spoken).length, number).toBe(1);
      expect(stage.callees().get(number), number).toMatchObject({ heardWhole: 1, heardPart: 0, openLines: 0 });
    }
  },
);
