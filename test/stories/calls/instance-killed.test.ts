import { expect, it } from 'vitest';

import { splitOver } from '../../harness/between.ts';
import { messageOf, setStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

// Every other moment of a death is played in the world of calls.
it('has the line hung up by another instance than the one that spoke and was killed', async () => {
  const environment = { SWEEP_SCHEDULE: '*/1 * * * * *' };
  const stage = await setStage({ instances: 2, environment, pace: { speakMs: 1_500 } });
  const [first] = stage.apps;
  // The first one that is alive.
  stage.frontDoor.rule = splitOver(stage.apps, () => 0);
  const { notification_id } = await stage.alert('Anomaly', ['+12065550100', '+12065551106']);
  await until(() => stage.callsTo('+12065550100')[0]?.spoken.length === 1, 'the message is spoken');
  first?.kill();
  const call = await stage.callEnds('+12065550100');
  expect(call).toMatchObject({ spoken: [messageOf('Anomaly')], speeches: [{ isComplete: true }] });
  const isHeard = async () => (await stage.notification(notification_id)).recipients[0]?.status === 'heard';
  await until(isHeard, 'the other instance knows that it was heard');
  expect(stage.callsTo('+12065550100')).toHaveLength(1);
});
