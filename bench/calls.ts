import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { AzureTable } from '../src/storage/azure-table.ts';
import { Table } from '../src/storage/table.ts';
import { ask } from './client.ts';
import { bareClient } from './counters.ts';
import { percentile, report, rounded, sized, timed } from './measure.ts';
import type { Stage } from './stage.ts';

const WARM_UP = sized(30, 1);
const ROUNDS = sized(150, 2);
const QUIET_MS = 500;

const notify = async (url: string, to: string): Promise<unknown> => {
  const body = JSON.stringify({ channel: 'phone', alert_type: 'ConfirmedFire', recipients: [to] });
  return ask(`${url}/api/notifications`, { method: 'POST', body }, 202);
};

/**
 * How long it takes from the arrival of CallConnected to the request to speak leaving, against the two requests to the table that it takes. The
 * callback's time includes its way to the app and the request's way to the simulator, the token's verification, and both requests for a call that
 * nobody knows: looking for its rows, and inserting them with the claim. (A call of this service takes one commit, if its events come to the
 * instance that placed it.)
 */
export const callbacksBench = async (stage: Stage): Promise<void> => {
  const connectionString = await stage.azurite();
  const acs = await stage.acs({ ringMs: 0, eventMs: 1, speakMs: 1 });
  /** When the last request to speak arrived. */
  let playedAt = Number.NaN;
  const before = await stage.proxy(acs.connectionString, ({ path }, carryOut) => {
    if (path.includes(':play')) playedAt = performance.now();
    return carryOut();
  });
  const { url } = await stage.serve(
    connectionString,
    { ACS_CONNECTION_STRING: before.connectionString, ACS_RESOURCE_ID: acs.resourceId, ACS_TOKEN_ISSUER: acs.issuer },
    { runsSchedules: true },
  );
  const client = bareClient(connectionString, 'baseline');
  const table = new Table(new AzureTable(() => client), { format: 1 });

  /** Calls a number whose CallConnected is lost, posts that event itself, and sees when the request to speak arrives. */
  const callbackToPlay = async (round: number): Promise<number> => {
    const to = `+1${String(20_655_500 + round)}25`;
    await notify(url, to);
    const find = () => acs.log().calls.find((one) => one.to === to);
    while (find()?.state !== 'connected') await sleep(1);
    const callConnectionId = find()?.id;
    const type = 'Microsoft.Communication.CallConnected';
    const event = { id: randomUUID(), source: 'bench', type, specversion: '1.0', data: { callConnectionId } };
    const headers = { authorization: `Bearer ${await acs.signer.sign()}` };
    playedAt = Number.NaN;
    const begun = performance.now();
    await ask(`${url}/api/ConfirmedFireCallback`, { method: 'POST', headers, body: JSON.stringify([event]) });
    while (Number.isNaN(playedAt)) await sleep(1);
    return playedAt - begun;
  };

  /** What a call that nobody knows takes: to look for its rows, and to insert four of them in one transaction. */
  const twoRequests = async (round: number): Promise<number> =>
    timed(async () => {
      const id = `${round}-${randomUUID()}`;
      await table.all('calls', { from: id, before: `${id}~` });
      const properties = { state: 'speaking', claimedAt: new Date(), alertType: 'ConfirmedFire' };
      const inserts = ['', '|0', '|due', '|expired'].map(
        (end) => ({ kind: 'insert', rowKey: `${id}${end}`, properties }) as const,
      );
      await table.transact('calls', inserts);
    });

  const writes: number[] = [];
  const callbacks: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    writes.push(await twoRequests(round));
    callbacks.push(await callbackToPlay(round));
  }
  const rows = [0.5, 0.95].map((share) => {
    const [base, measured] = [percentile(writes.slice(WARM_UP), share), percentile(callbacks.slice(WARM_UP), share)];
    return {
      share: `p${share * 100}`,
      'two table requests, ms': rounded(base),
      'callback to play, ms': rounded(measured),
      'more, ms': rounded(measured - base),
      ratio: rounded(measured / base),
    };
  });
  report(`From CallConnected to the request to speak, ${ROUNDS} calls`, rows);
};

/** How many requests to storage and to ACS a call takes that goes well, on one instance, whose timer function does not run meanwhile. */
export const callRequestsBench = async (stage: Stage): Promise<void> => {
  const askedAt: number[] = [];
  const proxy = await stage.proxy(await stage.azurite(), (_, carryOut) => {
    askedAt.push(Date.now());
    return carryOut();
  });
  const acs = await stage.acs({ ringMs: 200, eventMs: 50, speakMs: 500 });
  const { url } = await stage.serve(proxy.connectionString, { ACS_CONNECTION_STRING: acs.connectionString });

  /** Calls a number, and waits until nothing more is asked for. */
  const call = async (to: string) => {
    const begun = Date.now();
    await notify(url, to);
    const find = () => acs.log().calls.find((one) => one.to === to);
    while (find()?.story.some(({ text }) => text === 'CallDisconnected') !== true) await sleep(50);
    await sleep(QUIET_MS);
    const endOfMessage = Date.parse(find()?.story.find(({ text }) => text === 'PlayCompleted')?.at ?? '');
    return { begun, endOfMessage, requests: find()?.requests };
  };

  // The first call of a process creates the table.
  await call('+12065550100');
  const { begun, endOfMessage, requests } = await call('+12065551100');
  report('Requests of a call that goes well', [
    {
      'to storage': askedAt.filter((at) => at >= begun).length,
      'of these from the end of the message on': askedAt.filter((at) => at >= endOfMessage).length,
      'to ACS': (requests?.createCall ?? 0) + (requests?.play ?? 0) + (requests?.listen ?? 0) + (requests?.hangUp ?? 0),
    },
  ]);
};
