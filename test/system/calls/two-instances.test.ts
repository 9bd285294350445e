import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('speaks once and hangs up once when two instances get every event', async () => {
  const stage = await setStage({ instances: 2 });
  const numbers = ['+12065550500', '+12065551500', '+12065552500', '+12065550520', '+12065550521', '+12065550522'];
  expect((await stage.alert('ConfirmedFire', numbers)).status).toBe(202);

  for (const number of numbers) {
    const call = await stage.callEnds(number);
    expect(call.spoken, number).toEqual([messageOf('ConfirmedFire')]);
    expect(call.requests, number).toEqual({ createCall: 1, play: 1, hangUp: 1 });
    expect(call.story.filter((line) => line.kind === 'event').every((line) => line.answer === '200, 200')).toBe(true);
  }
  stage.endsWell();
});
