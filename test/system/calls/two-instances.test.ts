import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it.each([
  ['one of two instances gets each event', 'one', '200', [0, 1]],
  ['two instances get every event', 'all', '200, 200', []],
] as const)('speaks once and hangs up once when %s', async (_, delivery, answer, chosen) => {
  const stage = await setStage({ instances: 2, delivery });
  const numbers = ['+12065550500', '+12065551500', '+12065552500', '+12065550520', '+12065550521', '+12065550522'];
  expect((await stage.alert('ConfirmedFire', numbers)).status).toBe(202);

  for (const number of numbers) {
    const call = await stage.callEnds(number);
    expect(call.spoken, number).toEqual([messageOf('ConfirmedFire')]);
    expect(call.requests, number).toEqual({ createCall: 1, play: 1, hangUp: 1 });
    const answers = new Set(call.story.filter((line) => line.kind === 'event').map((line) => line.answer));
    expect([...answers]).toEqual([answer]);
    expect(stage.callees().get(number)).toEqual({ calls: 1, pickedUp: 1, heardWhole: 1, heardPart: 0, openLines: 0 });
  }
  // Both have had a part in it.
  expect(new Set(stage.frontDoor?.passages.map(({ instance }) => instance))).toEqual(new Set(chosen));
  stage.endsWell();
});
