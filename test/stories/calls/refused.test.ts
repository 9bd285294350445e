import { it } from 'vitest';

import { messageOf, setStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

const UNREACHABLE = [
  { number: '+12065550301', code: 480, sub_code: 560_480, outcome: 'no_answer', reason: 'no answer' },
  { number: '+12065551302', code: 486, sub_code: 560_486, outcome: 'busy', reason: 'busy' },
  { number: '+12065552303', code: 487, sub_code: 10_024, outcome: 'declined', reason: 'declined' },
  { number: '+12065553347', code: 487, sub_code: 10_024, outcome: 'declined', reason: 'declined' },
  { number: '+12065554304', code: 484, sub_code: 560_484, outcome: 'refused', reason: 'invalid number' },
  { number: '+12065555349', code: 487, sub_code: 10_004, outcome: 'no_answer', reason: 'no answer' },
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
      expect(recipients).toMatchObject([
        {
          recipient,
          status: told.outcome === 'refused' ? 'failed' : 'not_reached',
          attempts: [{ call_connection_id: call.id, ...told }],
        },
      ]);
      const line = { notification_id, recipient, ...told };
      expect(stage.logged('recipient not reached')).toContainEqual(expect.objectContaining(line));
    }
    stage.endsWell();
  },
);

it.concurrent(
  'hangs up a line on which nothing can be said: speech refused, or the request to speak',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({ environment: { CALL_ATTEMPTS: '1' } }, onTestFinished);
    const numbers = ['+12065550310', '+12065551311', '+12065552313', '+12065553314'];
    const { notification_id } = await stage.alert('ReportOfFire', numbers);
    const { recipients } = await stage.completed(notification_id);
    for (const [index, number] of numbers.entries()) {
      const call = await stage.callEnds(number);
      expect({ number, spoken: call.spoken, play: call.requests.play }).toEqual({ number, spoken: [], play: 1 });
      expect(recipients[index]).toMatchObject({ status: 'not_reached', attempts: [{ outcome: 'unknown' }] });
    }
    expect(recipients.map(({ attempts }) => attempts[0]?.reason)).toEqual([
      expect.stringContaining('speech refused'),
      expect.stringContaining('speech not configured'),
      expect.stringContaining('speech in a bad format'),
      expect.stringContaining('not answered'),
    ]);
    stage.endsWell();
  },
);

it.concurrent(
  'takes a refusal that passes for no refusal: everybody waits, an operator is told at once, and then they are called',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({ environment: { SWEEP_SCHEDULE: '*/1 * * * * *' } }, onTestFinished);
    const numbers = ['+12065550350', '+12065551351', '+12065552352', '+12065553353'];
    const answer = await stage.alert('ConfirmedFire', numbers, { headers: { 'idempotency-key': 'a-key' } });
    expect(answer).toMatchObject({ status: 202, calls: numbers.map(() => ({ status: 'waiting' })) });
    expect(await stage.notification(answer.notification_id)).toMatchObject({
      status: 'in_progress',
      recipients: numbers.map(() => ({ status: 'waiting', attempts: [] })),
    });
    expect(stage.logged('call not placed').map(({ code }) => code)).toEqual(expect.arrayContaining([403, 401, 404]));
    stage.endsWell();
  },
);

it.concurrent(
  'asks once more for a line that was not ready, and takes a line that has gone for hung up',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({}, onTestFinished);
    const notReady = ['+12065550355', '+12065551356', '+12065552317'];
    const gone = ['+12065553360', '+12065554361', '+12065555362', '+12065556363', '+12065557340', '+12065558341'];
    const { notification_id } = await stage.alert('BurnJob', [...notReady, ...gone]);
    const { recipients } = await stage.completed(notification_id);
    expect(recipients.map(({ status }) => status)).toEqual([...notReady, ...gone].map(() => 'heard'));
    for (const number of [...notReady, ...gone]) {
      const call = await stage.callEnds(number);
      expect({ number, spoken: call.spoken }).toEqual({ number, spoken: [messageOf('BurnJob')] });
      expect(call.requests.play).toBe(notReady.includes(number) ? 2 : 1);
    }
    await until(() => stage.acs.log().calls.every(({ state }) => state === 'ended'), 'all lines are closed');
    expect(stage.logged('hang-up failed')).toEqual([]);
    stage.endsWell();
  },
);
