import { expect, it } from 'vitest';

import { setStage } from './stage.ts';

const key = { 'idempotency-key': '6d5f3e1c-9d5a-4a55-8d6c-0f9b1d2e7a41' };

it('gives the same request with the same key the first answer, and calls nobody again', async () => {
  const stage = await setStage();
  const numbers = ['+12065550800', '+12065550836'];
  const first = await stage.alert('ConfirmedFire', numbers, key);
  expect(first.calls?.map((call) => call.status)).toEqual(['placed', 'failed']);
  expect(await stage.alert('ConfirmedFire', numbers, key)).toEqual(first);
  // Spaces and repeated numbers do not make it another request.
  expect(await stage.alert('ConfirmedFire', [' +12065550800 ', ...numbers], key)).toEqual(first);

  // Another request with the key is a 422; with another key it is a new request.
  expect((await stage.alert('Anomaly', numbers, key)).status).toBe(422);
  expect((await stage.alert('ConfirmedFire', [...numbers].reverse(), key)).status).toBe(422);
  await stage.callEnds('+12065550800');
  expect((await stage.alert('ConfirmedFire', ['+12065550800'], { 'idempotency-key': 'another' })).status).toBe(202);
  expect(stage.callsTo('+12065550800')).toHaveLength(2);
});

it('calls once when the same key comes many times at the same time, to two instances', async () => {
  const stage = await setStage({ instances: 2 });
  const urls = stage.apps.map((app) => app.url);
  const body = JSON.stringify({ channel: 'phone', alert_type: 'Custom', recipients: ['+12065550830'] });
  // The line is throttled for a second, so the first request is in progress when the others come.
  const answers = await Promise.all(
    Array.from({ length: 12 }, async (_, index) => {
      const answer = await fetch(`${urls[index % 2]}/api/notifications`, { method: 'POST', headers: key, body });
      return { status: answer.status, text: await answer.text() };
    }),
  );
  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([202]));
  expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
  await stage.callEnds('+12065550830');
  stage.endsWell();
});

it('repeats the first answer when nobody could be called', async () => {
  const stage = await setStage();
  const first = await stage.alert('Custom', ['+12065550836'], key);
  expect(first.status).toBe(502);
  expect(await stage.alert('Custom', ['+12065550836'], key)).toEqual(first);
  expect(await stage.requestRecords()).toHaveLength(1);
});

it.each([' ', 'two words', 'x'.repeat(256), 'ключ'])('refuses a malformed key: %j', async (wrong) => {
  const stage = await setStage();
  const headers = { 'idempotency-key': Buffer.from(wrong).toString('latin1') };
  expect((await stage.alert('Custom', ['+12065550800'], headers)).status).toBe(400);
  expect(stage.acs.log().calls).toEqual([]);
});
