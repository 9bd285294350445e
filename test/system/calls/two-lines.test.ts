import { it } from 'vitest';

import { setStage } from './stage.ts';

it.concurrent.for(['429', '429 with Retry-After', '403', 'CreateCallFailed'] as const)(
  'reaches eight people over two lines, each once, where ACS answers %s when both are taken',
  { timeout: 90_000 },
  async (whenLinesAreTaken, { expect, onTestFinished }) => {
    const stage = await setStage({ acs: { lines: 2, whenLinesAreTaken }, pace: { ringMs: 1_500 } }, onTestFinished);
    const numbers = Array.from({ length: 8 }, (_, index) => `+1206555${index}100`);
    const answer = await stage.alert('ConfirmedFire', numbers);
    expect(answer.status).toBe(202);

    const { recipients } = await stage.completed(answer.notification_id, 60_000);
    const told = recipients.map(({ status, attempts }) => [status, attempts.length]);
    expect(told).toEqual(numbers.map(() => ['heard', 1]));
    for (const number of numbers) {
      expect(stage.callees().get(number)).toMatchObject({ pickedUp: 1, heardWhole: 1, heardPart: 0, openLines: 0 });
    }
  },
);
