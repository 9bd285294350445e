/**
 * How many requests to storage and to ACS a call takes that goes well, on one instance: `node --import tsx test/bench/call-requests.ts`. The first
 * call of a process creates the table, so the second one is counted; the timer function does not run meanwhile.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { bundle } from '../../infra/bundle.ts';
import { startAcsSimulator } from '../../infra/local/acs-simulator/simulator.ts';
import { startAzurite } from '../../infra/local/azurite.ts';
import { Between } from '../harness/between.ts';
import { report } from './measure.ts';
import { serve } from './serve.ts';

const QUIET_MS = 500;

const directory = await mkdtemp(join(tmpdir(), 'call-requests-'));
const outfile = join(directory, 'main.cjs');
await bundle({ outfile, debug: false });
const azurite = await startAzurite();
const proxy = await Between.start(azurite.connectionString);
const acs = await startAcsSimulator({ pace: { ringMs: 200, eventMs: 50, speakMs: 500 } });
const environment = {
  TABLES_CONNECTION_STRING: proxy.connectionString,
  ACS_CONNECTION_STRING: acs.connectionString,
};
const app = await serve(outfile, environment, { runsSchedules: false });
const askedAt: number[] = [];
proxy.rule = (_, carryOut) => {
  askedAt.push(Date.now());
  return carryOut();
};

/** Calls a number, and waits until nothing more is asked for. */
const call = async (to: string) => {
  const body = JSON.stringify({ channel: 'phone', alert_type: 'ConfirmedFire', recipients: [to] });
  const begun = Date.now();
  await fetch(`${app.url}/api/notifications`, { method: 'POST', body });
  const find = () => acs.log().calls.find((one) => one.to === to);
  while (find()?.story.some(({ text }) => text === 'CallDisconnected') !== true) await sleep(50);
  await sleep(QUIET_MS);
  const endOfMessage = find()?.story.find(({ text }) => text === 'PlayCompleted')?.at ?? '';
  return { begun, endOfMessage: Date.parse(endOfMessage), requests: find()?.requests };
};

try {
  await call('+12065550100');
  const { begun, endOfMessage, requests } = await call('+12065551100');
  report('Requests of a call that goes well', [
    {
      'to storage': askedAt.filter((at) => at >= begun).length,
      'of these from the end of the message on': askedAt.filter((at) => at >= endOfMessage).length,
      'to ACS': (requests?.createCall ?? 0) + (requests?.play ?? 0) + (requests?.listen ?? 0) + (requests?.hangUp ?? 0),
    },
  ]);
} finally {
  await app.stop();
  await acs.stop();
  await proxy.stop();
  await azurite.stop();
  await rm(directory, { recursive: true, force: true });
}
