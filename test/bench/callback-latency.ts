/**
 * How long it takes from the arrival of CallConnected to the request to speak leaving, against two writes to the same table, in one
 * run: `node --import tsx test/bench/callback-latency.ts`. The callback's time includes its way to the app and the request's way
 * to the simulator, the token's verification, and both requests for a call that nobody knows: looking for its rows, and inserting them with
 * the claim. (A call of this service takes one commit, if its events come to the instance that placed it.)
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { TableClient } from '@azure/data-tables';

import { bundle } from '../../infra/bundle.ts';
import { startAcsSimulator } from '../../infra/local/acs-simulator/simulator.ts';
import { startAzurite } from '../../infra/local/azurite.ts';
import { percentile, report, rounded, timed } from './measure.ts';
import { sized } from './size.ts';
import { serve } from './serve.ts';

const WARM_UP = sized(30, 1);
const ROUNDS = sized(150, 2);

const directory = await mkdtemp(join(tmpdir(), 'callback-latency-'));
const outfile = join(directory, 'main.cjs');
await bundle({ outfile, debug: false });
const azurite = await startAzurite();
const acs = await startAcsSimulator({ pace: { ringMs: 0, eventMs: 1, speakMs: 1 } });
const app = await serve(outfile, {
  TABLES_CONNECTION_STRING: azurite.connectionString,
  ACS_CONNECTION_STRING: acs.connectionString,
  ACS_RESOURCE_ID: acs.resourceId,
  ACS_TOKEN_ISSUER: acs.issuer,
});
const table = TableClient.fromConnectionString(azurite.connectionString, 'baseline', {
  allowInsecureConnection: true,
  retryOptions: { maxRetries: 0 },
});
await table.createTable();

const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${app.url}/api/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });

/** Calls a number whose CallConnected is lost, posts that event itself, and sees when the request to speak arrives. */
const callbackToPlay = async (round: number): Promise<number> => {
  const to = `+1${String(2_065_550_000 + round)}25`;
  await post('notifications', { channel: 'phone', alert_type: 'ConfirmedFire', recipients: [to] });
  const find = () => acs.log().calls.find((one) => one.to === to);
  while (find()?.state !== 'connected') await sleep(1);
  const callConnectionId = find()?.id;
  const type = 'Microsoft.Communication.CallConnected';
  const event = { id: randomUUID(), source: 'bench', type, specversion: '1.0', data: { callConnectionId } };
  const authorization = `Bearer ${await acs.signer.sign()}`;
  const begun = performance.timeOrigin + performance.now();
  await post('ConfirmedFireCallback', [event], { authorization });
  return (acs.playsAt.get(callConnectionId ?? '') ?? Number.NaN) - begun;
};

/** What the record of a call costs at the least: its first write, and a second one that names the first. */
const twoWrites = (round: number) =>
  timed(async () => {
    const row = {
      partitionKey: String(round % 256),
      rowKey: randomUUID(),
      state: 'establishing',
      placedAt: new Date(),
    };
    const { etag = '' } = await table.createEntity(row);
    await table.updateEntity({ ...row, state: 'playing' }, 'Replace', { etag });
  });

try {
  const writes: number[] = [];
  const callbacks: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    const [write, callback] = [await twoWrites(round), await callbackToPlay(round)];
    if (round < WARM_UP) continue;
    writes.push(write);
    callbacks.push(callback);
  }
  const row = (share: number) => {
    const [base, measured] = [percentile(writes, share), percentile(callbacks, share)];
    return {
      'two table writes, ms': rounded(base),
      'callback to play, ms': rounded(measured),
      'more, ms': rounded(measured - base),
      ratio: rounded(measured / base),
    };
  };
  report(`From CallConnected to the request to speak, ${ROUNDS} calls`, [
    { share: 'p50', ...row(0.5) },
    { share: 'p95', ...row(0.95) },
  ]);
} finally {
  await app.stop();
  await acs.stop();
  await azurite.stop();
  await rm(directory, { recursive: true, force: true });
}
