import { it } from 'vitest';

import { ONE_CALL, setStage } from '../../harness/phone-stage.ts';

it.concurrent('calls, speaks once when somebody answers, and hangs up after it', async ({ expect, onTestFinished }) => {
  const stage = await setStage({}, onTestFinished);
  const answer = await stage.alert('ConfirmedFire', ['+12065550100'], { reference: 'ridge-04' });
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
  expect(call.requests).toEqual(ONE_CALL);
  // ParticipantsUpdated may come at any time and is ignored.
  const steps = call.story.filter((line) => line.kind !== 'speech' && line.text !== 'ParticipantsUpdated');
  expect(steps.map((line) => line.text).join(' ')).toBe(
    'createCall CallConnected play PlayStarted PlayCompleted hangUp CallDisconnected',
  );
  const at = (text: string) => Date.parse(call.story.find((line) => line.text === text)?.at ?? '');
  expect(at('hangUp') - at('PlayCompleted'), 'no key is waited for').toBeLessThan(5_000);
  expect(call.story.filter((line) => line.kind === 'event').map((line) => line.answer)).toEqual(Array(5).fill('200'));

  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(await stage.completed(answer.notification_id)).toEqual({
    notification_id: answer.notification_id,
    alert_type: 'ConfirmedFire',
    reference: 'ridge-04',
    created_at: time,
    status: 'completed',
    reached: 1,
    confirmed_by: [],
    recipients: [
      {
        recipient: '+1206•••••00',
        status: 'heard',
        answered_at: time,
        attempts: [{ call_connection_id: call.id, placed_at: time, ended_at: time, outcome: 'heard' }],
      },
    ],
  });
  stage.endsWell();
});

it.concurrent('calls as a Teams resource account in place of a number', async ({ expect, onTestFinished }) => {
  const account = '11111111-2222-3333-4444-555555555555';
  const environment = { ACS_SOURCE_PHONE_NUMBER: '', ACS_TEAMS_RESOURCE_ACCOUNT_ID: account };
  const stage = await setStage({ environment }, onTestFinished);
  await stage.alert('Anomaly', ['+12065550100']);
  expect((await stage.callEnds('+12065550100')).from).toBe(account);
  stage.endsWell();
});
