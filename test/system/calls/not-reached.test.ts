import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

const NO_MORE = { CALL_ATTEMPTS: '1' };

const unreachable = [
  { number: '+12065550301', code: 480, subCode: 560_480, outcome: 'no_answer', reason: 'no answer' },
  { number: '+12065551302', code: 486, subCode: 560_486, outcome: 'busy', reason: 'busy' },
  { number: '+12065552303', code: 487, subCode: 10_024, outcome: 'declined', reason: 'declined' },
  { number: '+12065553304', code: 484, subCode: 560_484, outcome: 'refused', reason: 'invalid number' },
  { number: '+12065554305', code: 403, subCode: 510_403, outcome: 'refused', reason: 'blocked as spam' },
] as const;

it('tells in one word, with code and reason, why somebody was not reached: in the table, the log and the answer', async () => {
  const stage = await setStage({ environment: NO_MORE });
  const numbers = unreachable.map(({ number }) => number);
  const { status, notification_id } = await stage.alert('Anomaly', numbers);
  expect(status).toBe(202);

  const { recipients } = await stage.completed(notification_id);
  for (const [index, { number, code, subCode, outcome, reason }] of unreachable.entries()) {
    const call = await stage.callEnds(number);
    expect(call.spoken).toEqual([]);
    expect(call.requests).toEqual({ createCall: 1, play: 0, hangUp: 0 });
    const recipient = `+1206•••••${number.slice(-2)}`;
    const record = { state: 'ended', alertType: 'Anomaly', recipient, outcome, code, subCode, reason };
    expect(await stage.record(call.id)).toMatchObject(record);
    const told = { outcome, code, sub_code: subCode, reason };
    expect(recipients[index]).toMatchObject({
      recipient,
      status: outcome === 'refused' ? 'failed' : 'not_reached',
      attempts: [{ call_connection_id: call.id, ...told }],
    });
    const ofRecipient = { notification_id, recipient_index: index, recipient };
    const attempt = { call_id: call.id, attempt: 1, ...told, ...ofRecipient };
    expect(stage.logged('attempt ended')).toContainEqual(expect.objectContaining(attempt));
    expect(stage.logged('recipient not reached')).toContainEqual(expect.objectContaining({ ...told, ...ofRecipient }));
  }
  expect(stage.logged('recipient not reached')).toHaveLength(unreachable.length);
  stage.endsWell();
});
