import { expect, it } from 'vitest';

import { messageOf, setStage } from '../../harness/phone-stage.ts';

it('Twilio speaks when somebody answers, and hangs up after it; 1 confirms, 2 repeats, 3 cannot go', async () => {
  const pace = { ringMs: 200, eventMs: 50, speakMs: 600 };
  const stage = await setStage({ provider: 'twilio', instances: 2, network: { pace } });
  const listens = '+12065550200';
  const { notification_id: heard } = await stage.alert('ReportOfFire', [listens]);
  const [repeats, declines] = ['+12065550384', '+12065550385'];
  const { notification_id: answered } = await stage.alert('ConfirmedFire', [repeats, declines], { confirm: true });
  expect((await stage.completed(heard)).recipients).toMatchObject([{ status: 'heard' }]);
  expect((await stage.callEnds(listens)).spoken).toEqual([messageOf('ReportOfFire')]);
  const { recipients } = await stage.completed(answered);
  expect(recipients).toMatchObject([{ status: 'confirmed' }, { status: 'cannot_go' }]);
  const message = messageOf('ConfirmedFire', { confirm: true });
  expect((await stage.callEnds(repeats)).spoken).toEqual([message, message, 'Confirmed. Thank you.']);
  expect((await stage.callEnds(declines)).spoken).toEqual([message, 'Understood. Thank you.']);
});
