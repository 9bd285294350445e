import { expect, it } from 'vitest';

import { setStage } from './stage.ts';
import { until } from './until.ts';

it.each([
  ['verified', true],
  ['not verified', false],
] as const)(
  'calls, speaks once when somebody answers, and hangs up after it; callbacks are %s',
  async (_, verifies) => {
    const stage = await setStage({ verifiesCallbacks: verifies });
    expect((await stage.callback('AnomalyCallback', [], null)).status).toBe(verifies ? 401 : 200);
    const answer = await stage.alert('ConfirmedFire', ['+12065550100']);
    expect(answer).toEqual({
      status: 202,
      notification_id: expect.any(String),
      calls: [{ recipient: '+12065550100', status: 'placed', call_connection_id: expect.any(String) }],
    });

    const call = await stage.callEnds('+12065550100');
    expect(call.id).toBe(answer.calls?.[0]?.call_connection_id);
    expect(call.from).toBe('+12065550199');
    expect(call.callbackUri).toBe(`${stage.url}/api/ConfirmedFireCallback`);
    // Word for word, with the space at its end, as the contract says.
    const unit = "You've received a new Alert from Test Watch. Confirmed fire has been reported. ";
    expect(call.spoken).toEqual([unit + unit + unit]);
    expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
    // ParticipantsUpdated may come at any time and is ignored.
    const steps = call.story.filter((line) => line.kind !== 'speech' && line.text !== 'ParticipantsUpdated');
    expect(steps.map((line) => line.text)).toEqual([
      'createCall',
      'CallConnected',
      'play',
      'PlayStarted',
      'PlayCompleted',
      'hangUp',
      'CallDisconnected',
    ]);
    expect(call.story.filter((line) => line.kind === 'event').map((line) => line.answer)).toEqual(Array(5).fill('200'));

    expect(await stage.record(call.id)).toMatchObject({
      state: 'ended',
      outcome: 'heard',
      alertType: 'ConfirmedFire',
      recipient: '+1206•••••00',
      placedAt: expect.any(Date),
      playingAt: expect.any(Date),
      playAcceptedAt: expect.any(Date),
      playStartedAt: expect.any(Date),
      playCompletedAt: expect.any(Date),
      hangingUpAt: expect.any(Date),
      endedAt: expect.any(Date),
      disconnectedAt: expect.any(Date),
    });
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(await stage.completed(answer.notification_id)).toEqual({
      notification_id: answer.notification_id,
      alert_type: 'ConfirmedFire',
      created_at: time,
      status: 'completed',
      recipients: [
        {
          recipient: '+1206•••••00',
          status: 'heard',
          attempts: [{ call_connection_id: call.id, placed_at: time, ended_at: time, outcome: 'heard' }],
        },
      ],
    });
    // The whole number is kept no longer.
    await until(async () => !(await stage.tableText()).includes('+12065550100'), 'the number is masked in the table');
    stage.endsWell();
  },
);
