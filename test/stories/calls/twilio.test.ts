import { it } from 'vitest';

import { splitOver } from '../../harness/between.ts';
import { messageOf, setStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

const MESSAGE = messageOf('ConfirmedFire', { confirm: true });

it.concurrent(
  'a callback is believed by its signature alone, of this very address',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({ provider: 'twilio' }, onTestFinished);
    const post = async (path: string, form: Readonly<Record<string, string>>, signature: string | undefined) =>
      stage.fetch(`${stage.url}/api/${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          ...(signature === undefined ? {} : { 'x-twilio-signature': signature }),
        },
        body: new URLSearchParams(form).toString(),
      });
    const form = { CallSid: `CA${'0'.repeat(32)}`, CallStatus: 'in-progress', To: '+12065550100' };
    const sign = (path: string, signed = form) => stage.twilio?.sign(`${stage.url}/api/${path}`, signed) ?? '';
    for (const signature of [
      undefined,
      '',
      'x',
      sign('BurnJobCallback'),
      sign('AnomalyCallback?on=start'),
      sign('AnomalyCallback', { ...form, To: '+1' }),
    ]) {
      expect((await post('AnomalyCallback', form, signature)).status, signature).toBe(401);
    }
    // A call of the account that no attempt knows is spoken to, and hung up at the end.
    const answer = await post('AnomalyCallback', form, sign('AnomalyCallback'));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/xml']);
    const twiml = await answer.text();
    expect(twiml).toContain(messageOf('Anomaly').trim());
    expect(twiml).toContain('<Say voice="Polly.Joanna" language="en-US">');
    const [, next = ''] = /AnomalyCallback(\?[^#<]*)/.exec(twiml.replaceAll('&amp;', '&')) ?? [];
    const end = await post(`AnomalyCallback${next}`, form, sign(`AnomalyCallback${next}`));
    expect(await end.text()).toContain('<Hangup/>');
  },
);

it.concurrent(
  'a key without a meaning has the message said again three times, a third 2 as well; then the line is hung up',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage(
      { provider: 'twilio', environment: { CALL_ATTEMPTS: '1' }, pace: { eventMs: 50, speakMs: 400 } },
      onTestFinished,
    );
    const { notification_id } = await stage.alert('ConfirmedFire', ['+12065550186', '+12065550192'], { confirm: true });
    const state = await stage.completed(notification_id);
    expect(state.recipients.map(({ attempts }) => attempts[0]?.outcome)).toEqual(['unconfirmed', 'unconfirmed']);
    expect((await stage.callEnds('+12065550186')).spoken).toEqual([MESSAGE, MESSAGE]);
    expect((await stage.callEnds('+12065550192')).spoken).toEqual([MESSAGE, MESSAGE, MESSAGE, MESSAGE]);
    stage.endsWell();
  },
);

it.concurrent(
  'another instance answers when one dies while it is asked what to say',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({ provider: 'twilio', instances: 2, pace: { speakMs: 300 } }, onTestFinished);
    const [first, second] = stage.apps;
    // The first one that is alive.
    const rule = splitOver(stage.apps, () => 0);
    let isKilled = false;
    stage.frontDoor.rule = async (request, carryOut) => {
      if (isKilled || !request.path.includes('on=start')) return rule(request, carryOut);
      // Carried out, but nobody learns of the answer.
      await rule(request, carryOut);
      first?.kill();
      isKilled = true;
      return { status: 502 };
    };
    const { notification_id } = await stage.alert('ConfirmedFire', ['+12065550100'], { url: second?.url ?? '' });
    await until(() => isKilled, 'the first one is killed');
    await until(async () => {
      const [recipient] = (await stage.notification(notification_id)).recipients;
      return recipient?.status === 'heard';
    }, 'somebody has heard');
    expect((await stage.callEnds('+12065550100')).speeches).toMatchObject([{ isComplete: true }]);
    stage.endsWell();
  },
);

it.concurrent('a service with an ampersand in its name is named', async ({ expect, onTestFinished }) => {
  const stage = await setStage(
    { provider: 'twilio', environment: { SERVICE_NAME: 'Fire & <Smoke> "Watch"' } },
    onTestFinished,
  );
  await stage.alert('Custom', ['+12065550100']);
  const [text = ''] = (await stage.callEnds('+12065550100')).spoken;
  expect(text).toBe(
    `You've received a new Alert from Fire & <Smoke> "Watch". Custom Alert has been reported. `.repeat(3),
  );
  stage.endsWell();
});
