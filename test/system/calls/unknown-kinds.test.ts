import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('ignores kinds of event that it does not know', async () => {
  const stage = await setStage();
  await stage.alert('BurnJob', ['+12065550326']);

  const call = await stage.callEnds('+12065550326');
  expect(call.spoken).toEqual([messageOf('BurnJob')]);
  expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
  expect(call.story.filter((line) => line.kind === 'event').every((line) => line.answer === '200')).toBe(true);
  expect(call.story.map((line) => line.text)).toContain('CallTimeTravelled');
  expect(await stage.record(call.id)).toMatchObject({ state: 'hung_up' });
  stage.endsWell();
});
