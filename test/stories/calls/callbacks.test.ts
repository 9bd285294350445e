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

it.each([1, 2])(
  'speaks once and hangs up once, whatever ACS does with its callbacks, with %i instances',
  async (instances) => {
    const stage = await setStage({ instances });
    const numbers = Object.values(NUMBERS);
    const { status, notification_id } = await stage.alert('ConfirmedFire', numbers);
    expect(status).toBe(202);

    const { recipients } = await stage.completed(notification_id);
    for (const [index, [what, number]] of Object.entries(NUMBERS).entries()) {
      const { spoken, requests, story } = await stage.callEnds(number);
      expect({ what, spoken, requests }).toEqual({ what, spoken: [messageOf('ConfirmedFire')], requests: ONE_CALL });
      const answers = new Set(
        story.filter((line) => line.kind === 'event' && line.answer !== 'lost').map((line) => line.answer),
      );
      expect([what, ...answers]).toEqual([what, '200']);
      expect(recipients[index], what).toMatchObject({ status: 'heard', attempts: [{ outcome: 'heard' }] });
    }
    // All instances have had a part in it.
    const chosen = new Set(stage.frontDoor?.carriedOut.map(({ to }) => to));
    expect(chosen.size).toBe(instances === 1 ? 0 : instances);
    stage.endsWell();
  },
);

it('speaks into a call that another system has placed, and hangs up', async () => {
  const stage = await setStage({ pace: { ringMs: 1_000 } });
  // Nothing is known of the call here: its context is that of another service.
  const call = await stage.callOfAnotherSystem('+12065550500', 'PointOfInterestCallback');
  const { spoken, requests } = await stage.callEnds('+12065550500');
  expect(spoken).toEqual([messageOf('PointOfInterest')]);
  expect(requests).toEqual(ONE_CALL);
  expect(stage.callsTo('+12065550500').map(({ id }) => id)).toEqual([call]);
  stage.endsWell();
});
