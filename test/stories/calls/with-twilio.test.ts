import twilio from 'twilio';
import { describe, it } from 'vitest';

import { messageOf, sharedStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';
import { CALLED_ONCE, numbersOf, PACE, PRESSERS, toldOf } from './people.ts';

describe.concurrent('calls through Twilio', () => {
  const environment = {
    CALL_ATTEMPTS: '1',
    TWILIO_SECONDARY_AUTH_TOKEN: 'the-next-one',
  };
  const stageOf = sharedStage({ provider: 'twilio', instances: 2, environment, network: { pace: PACE } });

  it('each phone behaves in its own way', async ({ expect }) => {
    const stage = stageOf();
    const numbers = numbersOf(CALLED_ONCE, '02');
    const { notification_id } = await stage.alert('ConfirmedFire', numbers);
    expect(toldOf(await stage.completed(notification_id), numbers, stage)).toEqual(CALLED_ONCE);
  });

  it('1 confirms, 2 repeats, 3 cannot go, whenever it is pressed', async ({ expect }) => {
    const stage = stageOf();
    const numbers = numbersOf(PRESSERS, '03');
    const { notification_id } = await stage.alert('ConfirmedFire', numbers, { confirm: true });
    expect(toldOf(await stage.completed(notification_id), numbers, stage)).toEqual(PRESSERS);
  });

  it('a call of another system hears the message once and is hung up; nothing is stored of it', async ({ expect }) => {
    const stage = stageOf();
    const { accountSid, authToken, number, url = '' } = stage.twilio ?? {};
    const client = twilio(accountSid, authToken);
    client.api.baseUrl = url;
    const to = '+12065550700';
    await client.calls.create({ to, from: number ?? '', url: `${stage.url}/api/AnomalyCallback?their=own` });
    await until(() => stage.callsTo(to)[0]?.state === 'ended', 'the call of the other system ends');
    expect(stage.callsTo(to)).toMatchObject([{ spoken: [messageOf('Anomaly')], endedBy: 'app' }]);
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
