import { expect, it } from 'vitest';

import { messageOf, ONE_CALL, setStage, type Stage } from '../../harness/phone-stage.ts';

const testCall = async (stage: Stage, numbers: readonly string[], query = ''): Promise<Response> =>
  stage.fetch(`${stage.url}/api/test-call${query}`, { method: 'POST', body: JSON.stringify(numbers) });

it('places test calls in a debug build: of type Custom, or of the requested type', async () => {
  const stage = await setStage();
  const answer = await testCall(stage, ['+12065550900', '+12065551900']);
  expect(answer.status).toBe(202);
  expect(await answer.json()).toEqual({
    notification_id: expect.any(String),
    calls: [
      { recipient: '+12065550900', status: 'placed', call_connection_id: expect.any(String) },
      { recipient: '+12065551900', status: 'placed', call_connection_id: expect.any(String) },
    ],
  });
  expect((await testCall(stage, ['+12065552900'], '?alert_type=BurnJob')).status).toBe(202);

  for (const [number, alertType] of [
    ['+12065550900', 'Custom'],
    ['+12065551900', 'Custom'],
    ['+12065552900', 'BurnJob'],
  ] as const) {
    const call = await stage.callEnds(number);
    expect(call.callbackUri).toBe(`${stage.url}/api/${alertType}Callback`);
    expect(call.spoken).toEqual([messageOf(alertType)]);
    expect(call.requests).toEqual(ONE_CALL);
  }
  stage.endsWell();
});

it('has the events of test calls sent to TEST_CALLBACK_BASE_URL', async () => {
  // Stands for a public address that forwards to this machine.
  const stage = await setStage({ environment: { TEST_CALLBACK_BASE_URL: 'http://127.0.0.1:9/tunnel/' } });
  expect((await testCall(stage, ['+12065550900'])).status).toBe(202);
  expect(stage.callsTo('+12065550900')[0]?.callbackUri).toBe('http://127.0.0.1:9/tunnel/api/CustomCallback');
});

it('does not exist in a release build', async () => {
  const stage = await setStage({ bundle: 'release' });
  expect((await testCall(stage, ['+12065550900'])).status).toBe(404);
  // POST /api/notifications does exist, and does not accept a test call's body.
  const malformed = await stage.fetch(`${stage.url}/api/notifications`, { method: 'POST', body: '[]' });
  expect(malformed.status).toBe(400);
});
