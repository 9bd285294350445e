import { describe, it } from 'vitest';

import { messageOf, setStage } from './stage.ts';
import { until } from './until.ts';

// Concurrent: most of the time they wait for the end of a message.
describe.concurrent('with several instances, a call', { timeout: 90_000 }, () => {
  it('does not cut a message short whose start is reported to the instance that placed the call', async ({
    expect,
    onTestFinished,
  }) => {
    const stage = await setStage({ instances: 2, pace: { speakMs: 5_000 } }, onTestFinished);
    // The one places the call and hears of the start; the other one speaks, and its answer gets lost.
    if (stage.frontDoor === undefined) throw new Error('no front door');
    stage.frontDoor.choose = ({ path, body }) => (!path.includes('Callback') || body.includes('PlayStarted') ? 0 : 1);
    await stage.alert('ConfirmedFire', ['+12065550115']);
    const call = await stage.callEnds('+12065550115');
    expect(call.spoken).toEqual([messageOf('ConfirmedFire')]);
    expect(stage.callees().get('+12065550115')).toMatchObject({ heardWhole: 1, heardPart: 0, openLines: 0 });
    stage.endsWell();
  });

  it('believes that somebody answered, although a stolen token had reported that nobody was reached', async ({
    expect,
    onTestFinished,
  }) => {
    const stage = await setStage({ pace: { ringMs: 2_000 } }, onTestFinished);
    const { notification_id } = await stage.alert('ConfirmedFire', ['+12065550100']);
    const id = stage.callsTo('+12065550100')[0]?.id ?? '';
    const refs = [...(await stage.tableText()).matchAll(/"attempt":"([^"]+)"/g)].map(([, ref]) => ref);
    for (const operationContext of [undefined, ...refs]) {
      const data = { callConnectionId: id, operationContext, resultInformation: { code: 480, subCode: 560_480 } };
      const source = `calling/callConnections/${id}`;
      const type = 'Microsoft.Communication.CreateCallFailed';
      expect(
        (await stage.callback('ConfirmedFireCallback', [{ id: '1', source, type, specversion: '1.0', data }])).status,
      ).toBe(200);
    }
    expect((await stage.notification(notification_id)).recipients[0]?.status).toBe('waiting');

    const call = await stage.callEnds('+12065550100');
    expect(call.spoken).toEqual([messageOf('ConfirmedFire')]);
    expect(await stage.completed(notification_id)).toMatchObject({
      recipients: [{ status: 'heard', attempts: [{ call_connection_id: id, outcome: 'heard' }] }],
    });
    stage.endsWell();
  });

  it('has a line that nobody hears of hung up by another instance than the one that spoke', async ({
    expect,
    onTestFinished,
  }) => {
    const stage = await setStage({ instances: 2, environment: { SWEEP_SCHEDULE: '*/5 * * * * *' } }, onTestFinished);
    const [first, second] = stage.apps;
    if (stage.frontDoor === undefined) throw new Error('no front door');
    stage.frontDoor.choose = () => 0;
    const { notification_id } = await stage.alert('Anomaly', ['+12065550124']);
    await until(() => stage.callsTo('+12065550124')[0]?.spoken.length === 1, 'the message is spoken');
    const isWatched = async () => {
      const [, due = ''] = /"due\|([^|"]+)\|look\|/.exec(await stage.tableText()) ?? [];
      return Date.parse(due) < Date.now() + 60_000;
    };
    await until(isWatched, 'it is written down when the message should be over');
    first?.kill();
    stage.frontDoor.choose = () => 1;
    const call = await stage.callEnds('+12065550124', 60_000);
    expect(call.requests).toEqual({ createCall: 1, play: 1, hangUp: 1 });
    expect(second?.output()).toContain('call overdue');
    const { recipients } = await stage.completed(notification_id);
    expect(recipients).toMatchObject([
      { status: 'heard', attempts: [{ outcome: 'cut_short', reason: 'the end of the message was not reported' }] },
    ]);
    stage.endsWell();
  });

  it('asks storage once where nothing is due', async ({ expect, onTestFinished }) => {
    const stage = await setStage({ isProxied: true, runsSchedules: false }, onTestFinished);
    const [app] = stage.apps;
    const { notification_id } = await stage.alert('Custom', ['+12065550100']);
    await stage.callEnds('+12065550100');
    await stage.completed(notification_id);
    const idle = async () => {
      const before = app?.requests.length;
      await new Promise((resolve) => setTimeout(resolve, 500));
      return app?.requests.length === before;
    };
    await until(idle, 'nothing is under way');
    const before = app?.requests.length ?? 0;
    await stage.sweep();
    await until(() => (app?.requests.length ?? 0) > before, 'the timer has asked');
    await until(idle, 'nothing is under way');
    expect(app?.requests.slice(before).map(({ service, isQuery }) => [service, isQuery])).toEqual([['tables', true]]);
  });

  it('writes a line about refused callbacks, or a wrong ACS_RESOURCE_ID would look like silence', async ({
    expect,
    onTestFinished,
  }) => {
    const stage = await setStage({}, onTestFinished);
    const wrong = await stage.acs.signer.sign({ audience: 'another' });
    for (let index = 0; index < 5; index += 1) {
      expect((await stage.callback('AnomalyCallback', [], `Bearer ${wrong}`)).status).toBe(401);
    }
    expect((await stage.callback('AnomalyCallback', [], null)).status).toBe(401);
    expect(stage.logged('callback refused')).toMatchObject([
      { reason: 'token not valid', refused: 1 },
      { reason: 'no token', refused: 1 },
    ]);
  });
});
