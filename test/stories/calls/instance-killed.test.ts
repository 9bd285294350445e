import { it } from 'vitest';

import { killedAt, splitOver } from '../../harness/between.ts';
import { messageOf, setStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

const OFTEN = { SWEEP_SCHEDULE: '*/1 * * * * *' };

// Concurrent: most of the time they wait for the end of a message. Every other moment of a death is played in the world of calls.
it.concurrent(
  'has the line hung up by another instance than the one that spoke and was killed',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({ instances: 2, environment: OFTEN, pace: { speakMs: 1_500 } }, onTestFinished);
    const [first] = stage.apps;
    if (stage.frontDoor === undefined) throw new Error('no front door');
    stage.frontDoor.rule = splitOver(stage.apps, () => 0);
    const { notification_id } = await stage.alert('Anomaly', ['+12065550100', '+12065551106']);
    await until(() => stage.callsTo('+12065550100')[0]?.spoken.length === 1, 'the message is spoken');
    first?.kill();
    const call = await stage.callEnds('+12065550100');
    expect(call).toMatchObject({ spoken: [messageOf('Anomaly')], speeches: [{ isComplete: true }] });
    await until(
      async () => (await stage.notification(notification_id)).recipients[0]?.status === 'heard',
      'the other instance knows that it was heard',
    );
    expect(stage.callsTo('+12065550100')).toHaveLength(1);
  },
);

it.concurrent(
  'calls everybody once if the instance that took the request dies while it asks for the call',
  async ({ expect, onTestFinished }) => {
    const environment = { ...OFTEN, CALL_RETRY_SECONDS: '5' };
    const stage = await setStage({ instances: 2, isProxied: true, environment }, onTestFinished);
    const [victim, survivor] = stage.apps;
    if (victim === undefined || stage.frontDoor === undefined) throw new Error('no stage');
    stage.frontDoor.rule = splitOver(stage.apps, () => 0);
    victim.rule = killedAt(
      ({ service }) => service === 'acs',
      'before its answer',
      () => victim.kill(),
    );
    const headers = { 'idempotency-key': 'a-key' };
    await Promise.all([
      victim.exited,
      stage.alert('ConfirmedFire', ['+12065550100'], { headers }).catch(() => undefined),
    ]);
    // The caller asks again, and another instance answers.
    const again = await stage.alert('ConfirmedFire', ['+12065550100'], { headers });
    expect(again.status).toBe(202);
    const { recipients } = await stage.completed(again.notification_id, 50_000);
    expect(recipients).toMatchObject([{ status: 'heard' }]);
    expect(stage.callsTo('+12065550100').map(({ spoken }) => spoken)).toEqual([[messageOf('ConfirmedFire')]]);
    expect(survivor?.isAlive).toBe(true);
    stage.endsWell();
  },
);
