import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('ignores unknown kinds of events', async () => {
  const stage = await setStage();
  const call = await stage.alertOnce('BurnJob', '+12065550326', messageOf('BurnJob'));
  expect(call.story.filter((line) => line.kind === 'event').every((line) => line.answer === '200')).toBe(true);
  expect(call.story.map((line) => line.text)).toContain('CallTimeTravelled');
  expect(await stage.record(call.id)).toMatchObject({ state: 'ended', outcome: 'heard' });
  stage.endsWell();
});
