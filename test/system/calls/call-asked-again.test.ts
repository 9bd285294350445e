import { expect, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';

it('repeats a request to call when ACS throttles it, fails or its answer is lost, and calls everybody once', async () => {
  const stage = await setStage();
  const numbers = {
    'throttled, with Retry-After': '+12065550330',
    'throttled by its code alone': '+12065550337',
    'the answer is lost': '+12065550334',
    'answered 500 twice': '+12065550335',
  };
  const begun = Date.now();
  const answer = await stage.alert('ConfirmedFire', Object.values(numbers));
  expect(answer.status).toBe(202);
  // Whoever was throttled waits, and is called as soon as there is a line: perhaps before the answer is given.
  const early = expect.stringMatching(/^(waiting|placed)$/);
  expect(answer.calls?.map((call) => call.status)).toEqual([early, early, 'placed', 'placed']);

  for (const [what, number] of Object.entries(numbers)) {
    const call = await stage.callEnds(number);
    expect(call.spoken, what).toEqual([messageOf('ConfirmedFire')]);
  }
  // Waiting for a line costs no attempt.
  const { recipients } = await stage.completed(answer.notification_id);
  expect(recipients.map(({ status, attempts }) => [status, attempts.length])).toEqual([
    ['heard', 1],
    ['heard', 1],
    ['heard', 1],
    ['heard', 1],
  ]);
  // The Retry-After of one second or until the first call ends, whatever comes first, and not much longer.
  const [throttled] = stage.callsTo(numbers['throttled, with Retry-After']);
  const calledAgainAt = Date.parse(throttled?.story[0]?.at ?? '');
  const firstEnd = Math.min(...stage.acs.log().calls.map(({ endedAt }) => Date.parse(endedAt ?? '')));
  expect(calledAgainAt).toBeGreaterThanOrEqual(Math.min(begun + 1_000, firstEnd));
  expect(calledAgainAt).toBeLessThan(begun + 5_000);
  stage.endsWell();
});
