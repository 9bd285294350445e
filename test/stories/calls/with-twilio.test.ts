import twilio from 'twilio';
import { describe, it } from 'vitest';

import { messageOf, setStage, sharedStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';
import { LISTENERS, numbersOf, PACE, PRESSERS, toldOf } from './people.ts';

describe.concurrent('calls through Twilio', () => {
  const environment = {
    CALL_ATTEMPTS: '2',
    CALL_RETRY_SECONDS: '5',
    SERVICE_NAME: 'Test Watch',
    TWILIO_SECONDARY_AUTH_TOKEN: 'the-next-one',
  };
  const stageOf = sharedStage({ provider: 'twilio', instances: 2, environment, network: { pace: PACE } });

  it('reaches, redials and gives up people as their phones behave', async ({ expect }) => {
    const stage = stageOf();
    const numbers = numbersOf(LISTENERS, '02');
    const { notification_id } = await stage.alert('ConfirmedFire', numbers);
    expect(toldOf(await stage.completed(notification_id), numbers, stage)).toEqual(LISTENERS);
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

it.concurrent(
  'the app stops right after the call request: the message is heard whole, and nothing is said twice when it is back',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage(
      {
        provider: 'twilio',
        instances: 2,
        environment: { CALL_ATTEMPTS: '1' },
        network: { pace: { ...PACE, ringMs: 1_000, speakMs: 8_000 } },
      },
      onTestFinished,
    );
    const number = '+12065550100';
    const { notification_id, calls } = await stage.alert('ConfirmedFire', [number]);
    expect(calls).toMatchObject([{ status: 'placed' }]);
    for (const app of stage.apps) app.kill();
    await until(() => stage.callsTo(number)[0]?.spoken.length === 1, 'the message is said while nobody is there');
    await stage.startAnother();
    await until(() => stage.callsTo(number)[0]?.state === 'ended', 'the call ends');
    expect(stage.callsTo(number)).toMatchObject([
      { speeches: [{ text: messageOf('ConfirmedFire'), isComplete: true }] },
    ]);
    const [recipient] = (await stage.completed(notification_id)).recipients;
    expect([recipient?.status, stage.callsTo(number).length]).toEqual(['heard', 1]);
  },
);
