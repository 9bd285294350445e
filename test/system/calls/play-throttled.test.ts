import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('waits as long as ACS asks when it throttles a request to speak, then speaks once', async () => {
  const stage = await setStage();
  await stage.alert('Custom', ['+12065550317']);

  const call = await stage.callEnds('+12065550317');
  expect(call.spoken).toEqual([messageOf('Custom')]);
  const plays = call.story.filter((line) => line.text === 'play');
  expect(plays.map((line) => line.answer)).toEqual(['429', '202']);
  const [first = 0, second = 0] = plays.map((line) => Date.parse(line.at));
  expect(second - first).toBeGreaterThanOrEqual(990);
  stage.endsWell();
});
