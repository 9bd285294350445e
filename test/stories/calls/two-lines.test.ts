import { it } from 'vitest';

import { setStage } from '../../harness/phone-stage.ts';

it.concurrent.for(['429', '429 with Retry-After', '403', 'CreateCallFailed', '603'] as const)(
  'reaches six people over two lines, each once, if ACS answers %s when both are taken',
  { timeout: 60_000 },
  async (whenLinesAreTaken, { expect, onTestFinished }) => {
    const stage = await setStage({ acs: { lines: 2, whenLinesAreTaken }, pace: { ringMs: 300 } }, onTestFinished);
    const numbers = Array.from({ length: 6 }, (_, index) => `+1206555${index}100`);
    const answer = await stage.alert('ConfirmedFire', numbers);
    expect(answer.status).toBe(202);

    const { recipients } = await stage.completed(answer.notification_id, 50_000);
    const told = recipients.map(({ status, attempts }) => [status, attempts.length]);
    expect(told).toEqual(numbers.map(() => ['heard', 1]));
    for (const number of numbers) {
      const speeches = stage.callsTo(number).flatMap((call) => call.speeches);
      expect(speeches.map(({ isComplete }) => isComplete)).toEqual([true]);
    }
    stage.endsWell();
  },
);
