import { it } from 'vitest';

import { startAzurite } from '../../../infra/local/azurite.ts';
import { messageOf, setStage } from './stage.ts';
import { until } from './until.ts';

it.concurrent('speaks and hangs up when table storage stops during a call', async ({ expect, onTestFinished }) => {
  const azurite = await startAzurite();
  onTestFinished(() => azurite.stop());
  const stage = await setStage(
    { tablesConnectionString: azurite.connectionString, pace: { ringMs: 3_000 } },
    onTestFinished,
  );
  expect((await stage.alert('ConfirmedFire', ['+12065550600', '+12065550620'])).status).toBe(202);
  await azurite.stop();
  expect(stage.acs.log().calls.map((call) => call.state)).toEqual(['ringing', 'ringing']);

  for (const number of ['+12065550600', '+12065550620']) {
    const call = await stage.callEnds(number);
    expect(call.spoken).toEqual([messageOf('ConfirmedFire')]);
    expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
    const line = { call_id: call.id, alert_type: 'ConfirmedFire', recipient: `+1206•••••${number.slice(-2)}` };
    expect(stage.logged('message playing')).toContainEqual(expect.objectContaining(line));
  }
  expect(stage.logged('call records unreachable').length).toBeGreaterThan(0);
  stage.endsWell();
});

it.concurrent('calls when table storage is down from the start', async ({ expect, onTestFinished }) => {
  const azurite = await startAzurite();
  await azurite.stop();
  const stage = await setStage({ tablesConnectionString: azurite.connectionString }, onTestFinished);
  const headers = { 'idempotency-key': 'once' };
  expect((await stage.alert('Anomaly', ['+12065550600'], headers)).status).toBe(202);
  const call = await stage.callEnds('+12065550600');
  expect(call.spoken).toEqual([messageOf('Anomaly')]);

  // The process itself remembers the key.
  expect((await stage.alert('Anomaly', ['+12065550600'], headers)).calls?.[0]?.call_connection_id).toBe(call.id);
  await until(() => stage.logged('call hung up').length === 1, 'the hang-up is logged');
  stage.endsWell();
});
