import { expect, it } from 'vitest';

import { messageOf, ONE_CALL, setStage, type Stage } from '../../harness/phone-stage.ts';

const testCall = async (stage: Stage, numbers: readonly string[], query = ''): Promise<Response> =>
  stage.fetch(`${stage.url}/api/test-call${query}`, { method: 'POST', body: JSON.stringify(numbers) });

it('places test calls in a debug build: of type Custom, or of the requested type', async () => {
  const stage = await setStage();
  const answer = await testCall(stage, ['+12065550900', '+12065551900']);
  expect([answer.status, await answer.json()]).toEqual([
    202,
    {
      notification_id: expect.any(String),
      calls: ['+12065550900', '+12065551900'].map((recipient) => ({
        recipient,
        status: 'placed',
        call_connection_id: expect.any(String),
      })),
    },
  ]);
  expect((await testCall(stage, ['+12065552900'], '?alert_type=BurnJob')).status).toBe(202);
  for (const [number, alertType] of [
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
