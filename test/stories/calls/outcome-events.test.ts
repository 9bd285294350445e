import { text } from 'node:stream/consumers';

import { Webhook } from 'standardwebhooks';
import { it } from 'vitest';
import { z } from 'zod';

import { LoopbackServer } from '../../harness/loopback-server.ts';
import { setStage } from '../../harness/phone-stage.ts';
import { until } from '../../harness/until.ts';

it.concurrent('publishes what is final as CloudEvents, with masked numbers', async ({ expect, onTestFinished }) => {
  const stage = await setStage({ publishesOutcomes: true }, onTestFinished);
  const { notification_id } = await stage.alert('ConfirmedFire', ['+12065550100', '+12065550104'], {
    reference: 'ridge-04',
  });
  const over = await stage.completed(notification_id);
  await until(() => stage.acs.log().published.length >= 3, 'the outcomes are published');
  const { published } = stage.acs.log();
  expect(new Set(published.map(({ id }) => id)).size).toBe(3);
  const about = { source: '/Test%20Watch/notifications', subject: notification_id };
  for (const [index, { recipient, status }] of over.recipients.entries()) {
    const own = { notification_id, alert_type: 'ConfirmedFire', reference: 'ridge-04', index, recipient, status };
    const final = { ...about, type: 'Notification.RecipientFinal', data: expect.objectContaining(own) };
    expect(published).toContainEqual(expect.objectContaining(final));
  }
  const completed = { ...about, type: 'Notification.Completed', data: over };
  expect(published).toContainEqual(expect.objectContaining(completed));
  expect(JSON.stringify(published)).not.toMatch(/\+\d{7}/);
  stage.endsWell();
});

const SECRET = `whsec_${Buffer.from('a key of this test, 32 bytes long').toString('base64')}`;

const eventSchema = z.looseObject({ id: z.string(), type: z.string(), data: z.looseObject({}) });

it.concurrent(
  'posts them to a webhook, each by itself and signed, though a topic hangs, which holds up no call; who has it in hand is told as well',
  async ({ expect, onTestFinished }) => {
    const all: z.output<typeof eventSchema>[] = [];
    const receiver = await LoopbackServer.start((request, response) => {
      void text(request).then((body) => {
        const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
        all.push(eventSchema.parse(new Webhook(SECRET).verify(body, Object.fromEntries(headers))));
        response.end();
      });
    });
    onTestFinished(async () => receiver.stop());
    const url = `http://127.0.0.1:${receiver.port}/outcomes`;
    const environment = { SWEEP_SCHEDULE: '*/1 * * * * *', OUTCOME_WEBHOOK_URL: url, OUTCOME_WEBHOOK_SECRET: SECRET };
    const stage = await setStage({ publishesOutcomes: true, environment }, onTestFinished);
    stage.acs.topic.mood = 'hangs';
    const { notification_id: id } = await stage.alert('ConfirmedFire', ['+12065550104']);
    const heard = await stage.alert('Custom', ['+12065550100']);
    expect(await stage.completed(heard.notification_id)).toMatchObject({ recipients: [{ status: 'heard' }] });
    expect(stage.logged('outcomes not published'), 'publishing is not given up yet').toEqual([]);
    expect((await stage.callEnds('+12065550100')).endedBy).toBe('app');

    const listed = async (query: string): Promise<unknown> =>
      (await stage.fetch(`${stage.url}/api/notifications?${query}`)).json();
    expect(await listed('attention=true')).toMatchObject({ notifications: [{ notification_id: id, reached: 0 }] });

    const acknowledge = async (by: string): Promise<unknown> =>
      (
        await stage.fetch(`${stage.url}/api/notifications/${id}/acknowledge`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ by }),
        })
      ).json();
    const first = await acknowledge('Ana');
    expect(first).toMatchObject({ acknowledged_by: 'Ana', acknowledged_at: expect.any(String) });
    expect(await acknowledge('Ben')).toMatchObject({ acknowledged_by: 'Ana' });

    const ofFire = () => all.filter(({ subject }) => subject === id);
    await until(() => ofFire().length >= 3, 'the webhook has everything');
    const received = ofFire();
    expect(received.map(({ type }) => type).toSorted()).toEqual([
      'Notification.Acknowledged',
      'Notification.Completed',
      'Notification.RecipientFinal',
    ]);
    const over = await stage.completed(id);
    const about = { specversion: '1.0', source: '/Test%20Watch/notifications', subject: id };
    expect(received).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ...about, data: expect.objectContaining({ recipients: over.recipients }) }),
      ]),
    );
    expect(received.find(({ type }) => type === 'Notification.Acknowledged')).toMatchObject({
      ...about,
      id: `${id}/acknowledged`,
      data: { notification_id: id, acknowledged_by: 'Ana' },
    });
    const final = received.find(({ type }) => type === 'Notification.RecipientFinal');
    expect(Object.keys(final?.data ?? {})).not.toContain('wave');
    expect(await listed('alert_type=ConfirmedFire&limit=1')).toMatchObject({ notifications: [over] });

    stage.acs.topic.mood = 'takes';
    stage.endsWell();
  },
);

it.concurrent(
  'posts again what a webhook did not take, as it was and signed anew; the topic, which took it, hears of it once',
  async ({ expect, onTestFinished }) => {
    const deliveries = new Map<string, { readonly body: string; readonly signature: string }[]>();
    const receiver = await LoopbackServer.start((request, response) => {
      void text(request).then((body) => {
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        );
        const { id } = eventSchema.parse(new Webhook(SECRET).verify(body, headers));
        const earlier = deliveries.get(id) ?? [];
        deliveries.set(id, [...earlier, { body, signature: headers['webhook-signature'] ?? '' }]);
        expect(headers['webhook-id']).toBe(id);
        response.writeHead(earlier.length === 0 ? 500 : 204).end();
      });
    });
    onTestFinished(async () => receiver.stop());
    const url = `http://127.0.0.1:${receiver.port}/outcomes`;
    const environment = { SWEEP_SCHEDULE: '*/1 * * * * *', OUTCOME_WEBHOOK_URL: url, OUTCOME_WEBHOOK_SECRET: SECRET };
    const stage = await setStage({ publishesOutcomes: true, environment }, onTestFinished);
    const { notification_id } = await stage.alert('Custom', ['+12065550100']);
    await stage.completed(notification_id);
    await until(
      () => deliveries.size === 2 && [...deliveries.values()].every(({ length }) => length === 2),
      'the webhook gets both events twice',
    );
    for (const [first, second] of deliveries.values()) {
      // Id and time are in the body; the signature has the time of sending.
      expect(second?.body).toBe(first?.body);
      expect(second?.signature).not.toBe(first?.signature);
    }
    const { published } = stage.acs.log();
    expect(published.map(({ id }) => id).toSorted()).toEqual([...deliveries.keys()].toSorted());
    expect(stage.logged('outcomes not published')).toContainEqual(expect.objectContaining({ to: 'webhook' }));
    stage.endsWell();
  },
);
