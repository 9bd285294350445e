import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

const unreachable = [
  { number: '+12065550301', code: 480, subCode: 560_480, reason: 'no answer' },
  { number: '+12065550302', code: 486, subCode: 560_486, reason: 'busy' },
  { number: '+12065550303', code: 487, subCode: 10_024, reason: 'declined' },
  { number: '+12065550304', code: 484, subCode: 560_484, reason: 'invalid number' },
  { number: '+12065550305', code: 403, subCode: 510_403, reason: 'blocked as spam' },
];

it('records and logs why somebody was not reached, and sends no further requests', async () => {
  const stage = await setStage();
  const numbers = unreachable.map(({ number }) => number);
  expect((await stage.alert('Anomaly', numbers)).status).toBe(202);

  for (const { number, code, subCode, reason } of unreachable) {
    const call = await stage.callEnds(number);
    expect(call.spoken).toEqual([]);
    expect(call.requests).toEqual({ createCall: 1, play: 0, hangUp: 0 });
    const recipient = `+*******${number.slice(-4)}`;
    const record = { state: 'failed', alertType: 'Anomaly', recipient, code, subCode, reason };
    expect(await stage.record(call.id)).toMatchObject(record);
    const line = { call_id: call.id, alert_type: 'Anomaly', recipient, code, sub_code: subCode, reason };
    expect(stage.logged('call failed')).toContainEqual(expect.objectContaining(line));
  }
  expect(stage.logged('call failed')).toHaveLength(unreachable.length);
  stage.endsWell();
});
