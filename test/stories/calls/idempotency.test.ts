import { expect, it } from 'vitest';

import { setStage } from '../../harness/phone-stage.ts';

const key = { 'idempotency-key': '6d5f3e1c-9d5a-4a55-8d6c-0f9b1d2e7a41' };

it('finds the same notification for the same request with the same key, as it stands, and calls nobody anew', async () => {
  const stage = await setStage();
  const numbers = ['+12065550800', '+12065550836'];
  const again = async () => stage.alert('ConfirmedFire', numbers, { headers: key });
  const first = await again();
  expect(first.calls?.map((call) => call.status)).toEqual(['placed', 'failed']);
  // Spaces and repeated numbers do not make it another request.
  expect(await stage.alert('ConfirmedFire', [' +12065550800 ', ...numbers], { headers: key })).toEqual(first);
  await stage.completed(first.notification_id);
  expect(await again()).toEqual(first);

  // Another request with the key is a 422; with another key it is a new request.
  expect((await stage.alert('Anomaly', numbers, { headers: key })).status).toBe(422);
  expect((await stage.alert('ConfirmedFire', [...numbers].reverse(), { headers: key })).status).toBe(422);
  await stage.callEnds('+12065550800');
  const another = await stage.alert('ConfirmedFire', numbers, { headers: { 'idempotency-key': 'another' } });
  expect(another.notification_id).not.toBe(first.notification_id);
  expect(stage.callsTo('+12065550800')).toHaveLength(2);
});
