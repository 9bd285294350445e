import { expect, it } from 'vitest';

import { messageOf, ONE_CALL, setStage } from '../../harness/phone-stage.ts';

const NUMBERS: Readonly<Record<string, string>> = {
  usual: '+12065550500',
  'CallConnected three times': '+12065550520',
  'every event twice': '+12065550521',
  'in another order': '+12065550522',
  'before the answer to the call request': '+12065550523',
  'kinds that nobody knows in between': '+12065550526',
  'without PlayStarted': '+12065550527',
};

it('speaks once and hangs up once, whatever ACS does with its callbacks, with two instances', async () => {
  const stage = await setStage({ instances: 2 });
  const { status, notification_id } = await stage.alert('ConfirmedFire', Object.values(NUMBERS));
  expect(status).toBe(202);
  const { recipients } = await stage.completed(notification_id);
  for (const [index, [what, number]] of Object.entries(NUMBERS).entries()) {
    const { spoken, requests, story } = await stage.callEnds(number);
    expect({ what, spoken, requests }).toEqual({ what, spoken: [messageOf('ConfirmedFire')], requests: ONE_CALL });
    const answered = story.filter((line) => line.kind === 'event' && line.answer !== 'lost');
    expect([what, ...new Set(answered.map(({ answer }) => answer))]).toEqual([what, '200']);
    expect(recipients[index], what).toMatchObject({ status: 'heard', attempts: [{ outcome: 'heard' }] });
  }
  // Both instances have had a part in it.
  expect(new Set(stage.frontDoor.carriedOut.map(({ to }) => to)).size).toBe(2);
  stage.endsWell();
});
