import { text } from 'node:stream/consumers';

import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { LoopbackServer } from '../../harness/loopback-server.ts';
import { messageOf, sharedStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

const SECRET = `whsec_${Buffer.from('a key of this test, 32 bytes long').toString('base64')}`;

const eventSchema = z.looseObject({ id: z.string(), type: z.string(), subject: z.string(), data: z.looseObject({}) });
type Event = z.output<typeof eventSchema>;

describe.concurrent('calls through Communication Services', () => {
  /** The events that the webhook has accepted. */
  const received: Event[] = [];
  let receiver: LoopbackServer | undefined;
  const environment: Record<string, string> = { OUTCOME_WEBHOOK_SECRET: SECRET };
  beforeAll(async () => {
    receiver = await LoopbackServer.start((request, response) => {
      void text(request).then((body) => {
        const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
        received.push(eventSchema.parse(new Webhook(SECRET).verify(body, Object.fromEntries(headers))));
        response.writeHead(204).end();
      });
    });
    environment['OUTCOME_WEBHOOK_URL'] = `http://127.0.0.1:${receiver.port}/outcomes`;
  });
  afterAll(async () => receiver?.stop());
  const stageOf = sharedStage({
    instances: 2,
    environment,
    network: { pace: { ringMs: 200, eventMs: 50, speakMs: 600 } },
  });

  it('speaks once when somebody answers, and hangs up after it: word for word, and as the contract says', async () => {
    const stage = stageOf();
    const answer = await stage.alert('ConfirmedFire', ['+12065550100'], { reference: 'ridge-04' });
    expect(answer).toEqual({
      status: 202,
      notification_id: expect.any(String),
      calls: [{ recipient: '+12065550100', status: 'placed', call_connection_id: expect.any(String) }],
    });
    const call = await stage.callEnds('+12065550100');
    const unit = "You've received a new Alert from Test Watch. Confirmed fire has been reported. ";
    expect(call).toMatchObject({
      id: answer.calls?.[0]?.call_connection_id,
      from: '+12065550199',
      spoken: [unit + unit + unit],
    });
    const steps = call.steps.filter(({ kind, text: word }) => kind !== 'speech' && word !== 'ParticipantsUpdated');
    expect(steps.map(({ text: word }) => word).join(' ')).toBe(
      'createCall CallConnected play PlayStarted PlayCompleted hangUp CallDisconnected',
    );
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(await stage.completed(answer.notification_id)).toEqual({
      notification_id: answer.notification_id,
      alert_type: 'ConfirmedFire',
      reference: 'ridge-04',
      created_at: time,
      status: 'completed',
      reached: 1,
      confirmed_by: [],
      recipients: [
        {
          recipient: '+1206•••••00',
          status: 'heard',
          answered_at: time,
          attempts: [{ call_connection_id: call.id, placed_at: time, ended_at: time, outcome: 'heard' }],
        },
      ],
    });
  });

  it('calls wave after wave until enough have pressed 1; the topic and the webhook receive the same', async () => {
    const stage = stageOf();
    const waves = [
      ['+12065550485'],
      ['+12065550404', '+12065550470'],
      ['+12065550484'],
      ['+12065550400', '+12065551400'],
    ];
    const request = { confirm: true, details: 'Antelope Ridge, camera 4.', wave_seconds: 60, confirmations_needed: 2 };
    const { notification_id: id } = await stage.alert('ConfirmedFire', waves, request);
    const over = await stage.completed(id);
    expect(over.recipients.map(({ wave, status }) => `${wave} ${status}`)).toEqual([
      '1 cannot_go',
      '2 failed',
      '2 confirmed',
      '3 confirmed',
      '4 stopped',
      '4 stopped',
    ]);
    // The callee has pressed 2, and then 1.
    const message = messageOf('ConfirmedFire', request);
    const { spoken } = await stage.callEnds('+12065550484');
    expect(spoken).toEqual([message, message, 'Confirmed. Thank you.']);
    const last = { notification_id: id, wave: 2, status: 'confirmed', recipient: '+1206•••••70' };
    for (const events of [() => stage.acs.log().published, () => received]) {
      const told = (type: string) =>
        events()
          .filter((event) => event.subject === id && event.type === `Notification.${type}`)
          .map(({ data }) => data);
      await until(() => told('Completed').length > 0 && told('RecipientFinal').length >= 6, 'all is told');
      expect(told('Completed').at(-1)).toEqual(over);
      expect(told('RecipientFinal')).toContainEqual(expect.objectContaining(last));
    }
    expect(JSON.stringify([stage.acs.log().published, received])).not.toMatch(/\+\d{7}/);
  });
});
