import { it } from 'vitest';

import { setStage } from '../../harness/phone-stage.ts';

// The other answers of a full line are played in the world of calls.
it.concurrent.for(['429 with Retry-After', 'CreateCallFailed'] as const)(
  'reaches four people over two lines, each once, if ACS answers %s when both are taken',
  async (whenLinesAreTaken, { expect, onTestFinished }) => {
    const stage = await setStage({ acs: { lines: 2, whenLinesAreTaken }, pace: { ringMs: 300 } }, onTestFinished);
    const numbers = Array.from({ length: 4 }, (_, index) => `+1206555${index}100`);
    const headers = { 'idempotency-key': 'a-key' };
    const { notification_id } = await stage.alert('ConfirmedFire', numbers, { headers });
    const { recipients } = await stage.completed(notification_id, 25_000);
    expect(recipients).toMatchObject(numbers.map(() => ({ status: 'heard', attempts: [{ outcome: 'heard' }] })));
    for (const number of numbers) {
      const speeches = stage.callsTo(number).flatMap((call) => call.speeches);
      expect(speeches.map(({ isComplete }) => isComplete)).toEqual([true]);
    }
    // Who waited at first is told as called to a sender who asks again.
    const again = await stage.alert('ConfirmedFire', numbers, { headers });
    expect(again).toMatchObject({ notification_id, calls: numbers.map(() => ({ status: 'placed' })) });
    stage.endsWell();
  },
);
