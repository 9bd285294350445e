import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it.each([true, false])(
  'calls everybody it can, and answers in the order of the request; tokens: %s',
  async (verifies) => {
    const stage = await setStage({ verifiesCallbacks: verifies });
    const numbers = ['+12065550400', '+12065550436', '+12065550402', '+12065551400'];
    const answer = await stage.alert('ConfirmedFire', [numbers[0] ?? '', ` ${numbers[1]} `, ...numbers.slice(1)]);
    expect(answer.status).toBe(202);
    expect(answer.calls?.map((call) => [call.recipient, call.status, call.reason])).toEqual([
      ['+12065550400', 'placed', undefined],
      ['+12065550436', 'failed', 'refused (400)'],
      ['+12065550402', 'placed', undefined],
      ['+12065551400', 'placed', undefined],
    ]);

    const [first, busy, last] = await Promise.all(
      ['+12065550400', '+12065550402', '+12065551400'].map((number) => stage.callEnds(number)),
    );
    expect(first?.spoken).toEqual([messageOf('ConfirmedFire')]);
    expect(busy?.spoken).toEqual([]);
    expect(last?.spoken).toEqual([messageOf('ConfirmedFire')]);
    stage.endsWell();
  },
);
