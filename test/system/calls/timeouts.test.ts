import { once } from 'node:events';
import { createServer } from 'node:net';

import { describe, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';
import { until } from './until.ts';

// Concurrent: most of the time they wait for something that never comes.
describe.concurrent('every wait ends', { timeout: 90_000 }, () => {
  it('hangs up when the end of the message is never reported', async ({ expect, onTestFinished }) => {
    const stage = await setStage({}, onTestFinished);
    await stage.alert('Anomaly', ['+12065550324']);

    const call = await stage.callEnds('+12065550324', 60_000);
    expect(call.spoken).toEqual([messageOf('Anomaly')]);
    expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
    const record = { state: 'ended', outcome: 'cut_short', reason: 'the end of the message was not reported' };
    expect(await stage.record(call.id)).toMatchObject(record);
    expect(stage.logged('call overdue')).toHaveLength(1);
    stage.endsWell();
  });

  it('ends a request to call that is never answered', async ({ expect, onTestFinished }) => {
    const stage = await setStage({}, onTestFinished);
    const begun = performance.now();
    const answer = await stage.alert('ConfirmedFire', ['+12065550333']);
    expect(answer).toMatchObject({ status: 202, calls: [{ status: 'waiting', reason: 'no answer in time' }] });
    expect(performance.now() - begun).toBeLessThan(25_000);
    stage.endsWell();
  });

  it('repeats a request to call that is not answered, and calls once', async ({ expect, onTestFinished }) => {
    const stage = await setStage({}, onTestFinished);
    const answer = await stage.alert('ConfirmedFire', ['+12065550332']);
    expect(answer).toMatchObject({ status: 202, calls: [{ status: 'placed' }] });

    const call = await stage.callEnds('+12065550332');
    expect(call.spoken).toEqual([messageOf('ConfirmedFire')]);
    stage.endsWell();
  });

  it('ends a request to speak that is never answered, and hangs up', async ({ expect, onTestFinished }) => {
    const stage = await setStage({}, onTestFinished);
    await stage.alert('Custom', ['+12065550316']);

    const call = await stage.callEnds('+12065550316');
    expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
    const reason = 'message not played: no answer in time';
    expect(await stage.record(call.id)).toMatchObject({ state: 'ended', outcome: 'unknown', reason });
    stage.endsWell();
  });

  it('repeats a request to hang up that is not answered', async ({ expect, onTestFinished }) => {
    const stage = await setStage({}, onTestFinished);
    await stage.alert('Custom', ['+12065550342']);

    const call = await stage.callEnds('+12065550342');
    expect(await stage.record(call.id)).toMatchObject({ state: 'ended', outcome: 'heard' });
    stage.endsWell();
  });

  it('speaks and hangs up while table storage never answers', async ({ expect, onTestFinished }) => {
    const silence = createServer().listen(0, '127.0.0.1');
    await once(silence, 'listening');
    onTestFinished(() => void silence.close());
    const address = silence.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const tablesConnectionString = `DefaultEndpointsProtocol=http;AccountName=a;AccountKey=dGVzdA==;TableEndpoint=http://127.0.0.1:${port}/a`;
    const stage = await setStage({ tablesConnectionString }, onTestFinished);
    const begun = performance.now();
    expect((await stage.alert('Custom', ['+12065550300'])).status).toBe(202);
    const call = await stage.callEnds('+12065550300');
    expect(call.spoken).toEqual([messageOf('Custom')]);
    expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
    expect(performance.now() - begun).toBeLessThan(15_000);
    expect(stage.logged('call records unreachable')).toContainEqual(expect.objectContaining({ kind: 'deadline' }));
    stage.endsWell();
  });

  it('speaks when the instance that had claimed to speak is killed', async ({ expect, onTestFinished }) => {
    const stage = await setStage({ instances: 2, delivery: 'all' }, onTestFinished);
    const [first, second] = stage.apps;
    // ACS repeats an event that was not acknowledged, so the second instance gets it after the first was killed.
    stage.acs.mirrors.length = 0;
    await stage.alert('ReportOfFire', ['+12065550318']);
    await until(() => stage.callsTo('+12065550318')[0]?.requests.play === 1, 'the first instance asks to speak');
    first?.kill();
    await first?.exited;
    stage.acs.mirrors.push(second?.url ?? '');
    const [call] = stage.callsTo('+12065550318');
    const body = JSON.stringify([connectedEvent(call?.id ?? '')]);
    const authorization = `Bearer ${await stage.acs.signer.sign()}`;
    const answer = await stage.fetch(`${second?.url}/api/ReportOfFireCallback`, {
      method: 'POST',
      headers: { authorization },
      body,
    });
    expect(answer.status).toBe(200);

    await until(() => stage.callsTo('+12065550318')[0]?.state === 'ended', 'the line is closed');
    expect(stage.callsTo('+12065550318')[0]).toMatchObject({
      spoken: [messageOf('ReportOfFire')],
      requests: { createCall: 1, play: 2, hangUp: 1 },
    });
    stage.endsWell();
  });
});

const connectedEvent = (callConnectionId: string) => ({
  id: 'a-repeat',
  source: `calling/callConnections/${callConnectionId}`,
  type: 'Microsoft.Communication.CallConnected',
  specversion: '1.0',
  data: { callConnectionId },
});
