import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

const failures = [
  { number: '+12065550310', sub: 8_565, reason: 'speech refused' },
  { number: '+12065550311', sub: 8_567, reason: 'speech not configured' },
];

it('hangs up when the message fails, and records and logs why', async () => {
  const stage = await setStage();
  const numbers = failures.map(({ number }) => number);
  await stage.alert('ReportOfFire', numbers);

  for (const { number, sub, reason } of failures) {
    const call = await stage.callEnds(number);
    expect(call.spoken).toEqual([]);
    expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
    const known = { state: 'ended', outcome: 'unknown', code: 400, reason };
    expect(await stage.record(call.id)).toMatchObject({ subCode: sub, ...known });
    const line = expect.objectContaining({ call_id: call.id, code: 400, sub_code: sub, reason });
    expect(stage.logged('message not played')).toContainEqual(line);
    expect(stage.logged('call hung up')).toContainEqual(line);
  }
  expect(stage.logged('message not played')).toHaveLength(failures.length);
  stage.endsWell();
});
