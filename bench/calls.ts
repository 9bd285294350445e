import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { z } from 'zod';

import { ask } from './client.ts';
import { bareClient } from './counters.ts';
import { demandAtMost, percentile, report, rounded, sized, timed } from './measure.ts';
import { waitFor } from './movement.ts';
import type { Stage } from './stage.ts';

const WARM_UP = sized(30, 1);
const ROUNDS = sized(150, 2);
const QUIET_MS = 500;

/** The bound of a call that goes well, on one instance. */
const MAX_REQUESTS = 9;

/** The parts of a request that each event of its call repeats. */
const callRequest = z.object({
  operationContext: z.string(),
  targets: z.tuple([z.object({ phoneNumber: z.object({ value: z.string() }) })]),
});

const notify = async (url: string, to: string): Promise<unknown> => {
  const body = JSON.stringify({ channel: 'phone', alert_type: 'ConfirmedFire', recipients: [to] });
  return ask(`${url}/api/notifications`, { method: 'POST', body }, 202);
};

/**
 * How long it takes from the arrival of CallConnected to the request to speak leaving, against one bare write to the table. The time includes the
 * way to the app, the token's verification, the commit that claims the step, and the request's way to the simulator.
 */
const callbackToPlay = async (stage: Stage): Promise<void> => {
  const connectionString = await stage.azurite();
  const acs = await stage.acs({ ringMs: 0, eventMs: 1, speakMs: 1 });
  /** When the last request to speak arrived. */
  let playedAt: number | undefined;
  /** The contexts of the calls, by their numbers. */
  const contexts = new Map<string, string>();
  const before = await stage.proxy(acs.connectionString, ({ path, body }, carryOut) => {
    if (path.includes(':play')) playedAt = performance.now();
    if (path.startsWith('/calling/callConnections?')) {
      const { operationContext, targets } = callRequest.parse(JSON.parse(body.toString()));
      contexts.set(targets[0].phoneNumber.value, operationContext);
    }
    return carryOut();
  });
  const { url } = await stage.serve(connectionString, {
    ACS_CONNECTION_STRING: before.connectionString,
    ACS_RESOURCE_ID: acs.resourceId,
    ACS_TOKEN_ISSUER: acs.issuer,
    // A line is free again only some time after the end of its call.
    CALLS_AT_ONCE: '20',
  });
  const table = bareClient(connectionString, 'baseline');
  await table.createTable();

  /** Calls a number whose CallConnected is lost, posts that event itself, and sees when the request to speak arrives. */
  const callback = async (round: number): Promise<number> => {
    const to = `+1${String(20_655_500 + round)}25`;
    await notify(url, to);
    const callOf = (state: string) => acs.log().calls.find((one) => one.to === to && one.state === state);
    const { id: callConnectionId } = await waitFor('the callee answers', () => callOf('connected'));
    const type = 'Microsoft.Communication.CallConnected';
    const data = { callConnectionId, operationContext: contexts.get(to) };
    const event = { id: randomUUID(), source: 'bench', type, specversion: '1.0', data };
    const headers = { authorization: `Bearer ${await acs.signer.sign()}` };
    playedAt = undefined;
    const begun = performance.now();
    await ask(`${url}/api/ConfirmedFireCallback`, { method: 'POST', headers, body: JSON.stringify([event]) });
    const ms = (await waitFor('the request to speak arrives', () => playedAt)) - begun;
    // Its other requests must not disturb the next measurement.
    await waitFor('the line is hung up', () => callOf('ended'));
    return ms;
  };
  const entity = { partitionKey: 'calls', rowKey: 'row', calls: 'x'.repeat(1_000) };
  const write = async (): Promise<number> => timed(async () => table.upsertEntity(entity, 'Merge'));

  const writes: number[] = [];
  const callbacks: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    writes.push(await write());
    callbacks.push(await callback(round));
  }
  const rows = [0.5, 0.95].map((share) => {
    const [base, measured] = [percentile(writes.slice(WARM_UP), share), percentile(callbacks.slice(WARM_UP), share)];
    return {
      share: `p${share * 100}`,
      'one bare write, ms': rounded(base),
      'callback to play, ms': rounded(measured),
      ratio: rounded(measured / base),
    };
  });
  report(`From CallConnected to the request to speak, ${ROUNDS} calls`, rows);
};

/** The requests to storage and to ACS of one successful call, on one instance without timers. */
const requestsOfCall = async (stage: Stage): Promise<void> => {
  const askedAt: number[] = [];
  const proxy = await stage.proxy(await stage.azurite(), (_, carryOut) => {
    askedAt.push(Date.now());
    return carryOut();
  });
  const acs = await stage.acs({ ringMs: 200, eventMs: 50, speakMs: 500 });
  const { url } = await stage.serve(proxy.connectionString, { ACS_CONNECTION_STRING: acs.connectionString });

  /** Calls a number, and waits for the end of its requests. */
  const call = async (to: string) => {
    const begun = Date.now();
    await notify(url, to);
    const { steps } = await waitFor('the call ends', () =>
      acs.log().calls.find((one) => one.to === to && one.steps.some(({ text }) => text === 'CallDisconnected')),
    );
    await sleep(QUIET_MS);
    return { begun, toAcs: steps.filter(({ kind }) => kind === 'request').length };
  };

  // The first call of a process creates the table.
  await call('+12065550100');
  const { begun, toAcs } = await call('+12065551100');
  const toStorage = askedAt.filter((at) => at >= begun).length;
  report('Requests of a call that goes well', [{ 'to storage': toStorage, 'to ACS': toAcs }]);
  demandAtMost(['Requests to storage', toStorage, MAX_REQUESTS]);
};

/** Calls: the time that a callee waits for the message, and the requests of a call. */
export const callsBench = async (stage: Stage): Promise<void> => {
  await callbackToPlay(stage);
  await requestsOfCall(stage);
};
