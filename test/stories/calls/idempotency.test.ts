import { it } from 'vitest';

import { messageOf, setStage } from '../../harness/phone-stage.ts';

const key = { 'idempotency-key': '6d5f3e1c-9d5a-4a55-8d6c-0f9b1d2e7a41' };

it.concurrent(
  'finds the same notification for the same request with the same key, as it stands, and calls nobody anew',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({}, onTestFinished);
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
  },
);

it.concurrent(
  'calls once when the same key comes many times at the same time, to two instances',
  async ({ expect, onTestFinished }) => {
    const stage = await setStage({ instances: 2 }, onTestFinished);
    const urls = stage.apps.map((app) => app.url);
    const answers = await Promise.all(
      Array.from({ length: 12 }, async (_, index) =>
        stage.alert('Custom', ['+12065550800'], { headers: key, url: urls[index % 2] }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(answers.map((answer) => answer.notification_id)).size).toBe(1);
    expect((await stage.callEnds('+12065550800')).spoken).toEqual([messageOf('Custom')]);
    stage.endsWell();
  },
);
