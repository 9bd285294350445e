import { it } from 'vitest';

import { setStage } from '../../harness/phone-stage.ts';

const UNREACHABLE = [
  { number: '+12065550301', code: 480, sub_code: 560_480, outcome: 'no_answer', reason: 'no answer' },
  { number: '+12065551302', code: 486, sub_code: 560_486, outcome: 'busy', reason: 'busy' },
  { number: '+12065552303', code: 487, sub_code: 10_024, outcome: 'declined', reason: 'declined' },
  { number: '+12065554304', code: 484, sub_code: 560_484, outcome: 'refused', reason: 'invalid number' },
] as const;

it.concurrent(
  'tells in one word, with code and reason, why somebody was not reached',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({ environment: { CALL_ATTEMPTS: '1' } }, onTestFinished);
    // One after the other: who declines beside another call may have had no line.
    for (const { number, ...told } of UNREACHABLE) {
      const { notification_id } = await stage.alert('Anomaly', [number]);
      const { recipients } = await stage.completed(notification_id);
      const call = await stage.callEnds(number);
      expect(call.requests).toEqual({ createCall: 1, play: 0, listen: 0, hangUp: 0 });
      const recipient = `+1206•••••${number.slice(-2)}`;
      const status = told.outcome === 'refused' ? 'failed' : 'not_reached';
      expect(recipients).toMatchObject([{ recipient, status, attempts: [{ call_connection_id: call.id, ...told }] }]);
      const line = { notification_id, recipient, ...told };
      expect(stage.logged('recipient not reached')).toContainEqual(expect.objectContaining(line));
    }
    stage.endsWell();
  },
);

it.concurrent('hangs up a line on which nothing can be said', async ({ expect, onTestFinished }) => {
  const stage = await setStage({ environment: { CALL_ATTEMPTS: '1' } }, onTestFinished);
  const numbers = ['+12065550310', '+12065551311', '+12065552313'];
  const { notification_id } = await stage.alert('ReportOfFire', numbers);
  const { recipients } = await stage.completed(notification_id);
  for (const [index, number] of numbers.entries()) {
    const call = await stage.callEnds(number);
    expect({ number, spoken: call.spoken, play: call.requests.play }).toEqual({ number, spoken: [], play: 1 });
    expect(recipients[index]).toMatchObject({ status: 'not_reached', attempts: [{ outcome: 'unknown' }] });
  }
  const reasons = recipients.map(({ attempts }) => attempts[0]?.reason).join(', ');
  expect(reasons).toMatch(/speech refused.*, .*speech not configured.*, .*speech in a bad format/);
  const told = stage.logged('speech not available').map(({ sub_code, look_at }) => [sub_code, look_at]);
  expect(new Map(told.map(([code, lookAt]) => [code, lookAt]))).toEqual(
    new Map([
      [8_565, expect.stringContaining('Cognitive Services User')],
      [8_567, expect.stringContaining('ACS_COGNITIVE_SERVICES_ENDPOINT')],
    ]),
  );
  stage.endsWell();
});

it.concurrent(
  'fails numbers at once that cannot exist by the length of their country, and calls the others',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({}, onTestFinished);
    // Too short and too long for North America, too long for Britain; the last one may exist.
    const impossible = ['+1206555010', '+120655501000', '+442079460000123'];
    const { status, notification_id, calls } = await stage.alert('Custom', [...impossible, '+12065550100']);
    const code = 'impossible_number';
    expect([status, calls]).toEqual([
      202,
      [
        ...impossible.map(() => expect.objectContaining({ status: 'failed', code })),
        expect.objectContaining({ status: expect.stringMatching(/^(placed|waiting)$/) }),
      ],
    ]);
    const { recipients } = await stage.completed(notification_id);
    expect(recipients.map((one) => one.status)).toEqual(['failed', 'failed', 'failed', 'heard']);
    expect(recipients[0]?.attempts).toEqual([
      expect.objectContaining({ reason: 'no number of this country has this length' }),
    ]);
    expect(stage.acs.log().calls.map(({ to }) => to)).toEqual(['+12065550100']);
    stage.endsWell();
  },
);
