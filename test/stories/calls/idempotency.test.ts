import { expect, it } from 'vitest';

import { messageOf, setStage } from '../../harness/phone-stage.ts';

const key = { 'idempotency-key': '6d5f3e1c-9d5a-4a55-8d6c-0f9b1d2e7a41' };

it('finds the same notification for the same request with the same key, as it stands, and calls nobody anew', async () => {
  const stage = await setStage();
  const numbers = ['+12065550800', '+12065550836'];
  const first = await stage.alert('ConfirmedFire', numbers, { headers: key });
  expect(first.calls?.map((call) => call.status)).toEqual(['placed', 'failed']);
  expect(await stage.alert('ConfirmedFire', numbers, { headers: key })).toEqual(first);
  // Spaces and repeated numbers do not make it another request.
  expect(await stage.alert('ConfirmedFire', [' +12065550800 ', ...numbers], { headers: key })).toEqual(first);
  await stage.completed(first.notification_id);
  expect(await stage.alert('ConfirmedFire', numbers, { headers: key })).toEqual(first);

  // Another request with the key is a 422; with another key it is a new request.
  expect((await stage.alert('Anomaly', numbers, { headers: key })).status).toBe(422);
  expect((await stage.alert('ConfirmedFire', [...numbers].reverse(), { headers: key })).status).toBe(422);
  await stage.callEnds('+12065550800');
  const another = await stage.alert('ConfirmedFire', ['+12065550800'], {
    headers: { 'idempotency-key': 'another' },
  });
  expect(another).toMatchObject({ status: 202 });
  expect(another.notification_id).not.toBe(first.notification_id);
  expect(stage.callsTo('+12065550800')).toHaveLength(2);
});

it('calls once when the same key comes many times at the same time, to two instances', async () => {
  const stage = await setStage({ instances: 2 });
  const urls = stage.apps.map((app) => app.url);
  const body = JSON.stringify({ channel: 'phone', alert_type: 'Custom', recipients: ['+12065550800'] });
  const answers = await Promise.all(
    Array.from({ length: 12 }, async (_, index) => {
      const answer = await stage.fetch(`${urls[index % 2]}/api/notifications`, { method: 'POST', headers: key, body });
      return { status: answer.status, id: /"notification_id":"([^"]+)"/.exec(await answer.text())?.[1] };
    }),
  );
  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([202]));
  expect(new Set(answers.map((answer) => answer.id)).size).toBe(1);
  const call = await stage.callEnds('+12065550800');
  expect(call.spoken).toEqual([messageOf('Custom')]);
  stage.endsWell();
});

it('does not keep a "no" for 24 hours: who could not be called is called when a line is free', async () => {
  const stage = await setStage({ acs: { lines: 1 }, pace: { ringMs: 1_500 } });
  await stage.alert('Custom', ['+12065551800']);
  const first = await stage.alert('Custom', ['+12065550800'], { headers: key });
  expect(first).toMatchObject({ status: 202, calls: [{ status: 'waiting', reason: expect.any(String) }] });

  const call = await stage.callEnds('+12065550800');
  expect(call.spoken).toEqual([messageOf('Custom')]);
  const again = await stage.alert('Custom', ['+12065550800'], { headers: key });
  expect(again.calls).toEqual([{ recipient: '+12065550800', status: 'placed', call_connection_id: call.id }]);
  expect(again.notification_id).toBe(first.notification_id);
  stage.endsWell();
});

it('answers 502 where nobody can ever be called, and that again', async () => {
  const stage = await setStage();
  const first = await stage.alert('Custom', ['+12065550836'], { headers: key });
  expect(first).toMatchObject({ status: 502, calls: [{ status: 'failed', reason: 'refused (400)' }] });
  expect(await stage.alert('Custom', ['+12065550836'], { headers: key })).toEqual(first);
  expect(await stage.completed(first.notification_id)).toMatchObject({
    recipients: [{ status: 'failed', attempts: [{ outcome: 'refused', code: 400, reason: 'refused (400)' }] }],
  });
});

it('refuses a malformed key', async () => {
  const stage = await setStage();
  for (const wrong of [' ', 'two words', 'x'.repeat(256), 'ключ']) {
    const headers = { 'idempotency-key': Buffer.from(wrong).toString('latin1') };
    expect((await stage.alert('Custom', ['+12065550800'], { headers })).status, wrong).toBe(400);
  }
  expect(stage.acs.log().calls).toEqual([]);
});
