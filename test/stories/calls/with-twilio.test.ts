import { describe, it } from 'vitest';

import { messageOf, sharedStage } from '../../harness/phone-stage.ts';

describe.concurrent('calls through Twilio', () => {
  const environment = { CALL_ATTEMPTS: '1', TWILIO_SECONDARY_AUTH_TOKEN: 'the-next-one' };
  const pace = { ringMs: 200, eventMs: 50, speakMs: 600 };
  const stageOf = sharedStage({ provider: 'twilio', instances: 2, environment, network: { pace } });

  it('speaks once when somebody answers, and hangs up after it', async ({ expect }) => {
    const stage = stageOf();
    const { notification_id } = await stage.alert('ConfirmedFire', ['+12065550200']);
    expect((await stage.completed(notification_id)).recipients).toMatchObject([{ status: 'heard' }]);
    expect((await stage.callEnds('+12065550200')).spoken).toEqual([messageOf('ConfirmedFire')]);
  });

  it('1 confirms, 2 repeats, 3 cannot go', async ({ expect }) => {
    const stage = stageOf();
    const [repeats, declines] = ['+12065550384', '+12065550385'];
    const { notification_id } = await stage.alert('ConfirmedFire', [repeats, declines], { confirm: true });
    const { recipients } = await stage.completed(notification_id);
    expect(recipients).toMatchObject([{ status: 'confirmed' }, { status: 'cannot_go' }]);
    const message = messageOf('ConfirmedFire', { confirm: true });
    expect((await stage.callEnds(repeats)).spoken).toEqual([message, message, 'Confirmed. Thank you.']);
    expect((await stage.callEnds(declines)).spoken).toEqual([message, 'Understood. Thank you.']);
  });

  it('a callback is believed by its signature alone, of this very address', async ({ expect }) => {
    const stage = stageOf();
    const form = { CallSid: `CA${'0'.repeat(32)}`, CallStatus: 'in-progress', To: '+12065550100' };
    const post = async (path: string, signature: string) =>
      stage.fetch(`${stage.url}/api/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': signature },
        body: new URLSearchParams(form).toString(),
      });
    const sign = (path: string) => stage.twilio?.sign(`${stage.url}/api/${path}`, form) ?? '';
    for (const signature of ['', 'x', sign('BurnJobCallback'), sign('AnomalyCallback?on=end')]) {
      expect((await post('AnomalyCallback', signature)).status, signature).toBe(401);
    }
    const answer = await post('AnomalyCallback', sign('AnomalyCallback'));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/xml; charset=utf-8']);
  });
});
