import { describe, expect, it } from 'vitest';

import { setStage } from '../../harness/phone-stage.ts';

const event = (data: unknown, more: object = {}) => ({
  id: 'an-event',
  source: 'calling/callConnections/x',
  type: 'Microsoft.Communication.CallConnected',
  specversion: '1.0',
  data,
  ...more,
});

describe('hostile callbacks', () => {
  it('never cause a request about a call id that is not well-formed', async () => {
    const stage = await setStage();
    const ids: readonly unknown[] = [
      '',
      '/',
      'a/b',
      '../../admin',
      '..',
      '.',
      'a%2Fb',
      'a?b',
      'a#b',
      'a b',
      'a\n',
      'é',
      'a:terminate',
      'x'.repeat(10_000),
      null,
      7,
      true,
      {},
      ['a'],
    ];
    for (const kind of ['CallConnected', 'PlayCompleted', 'CallDisconnected', 'CreateCallFailed', 'PlayStarted']) {
      const type = `Microsoft.Communication.${kind}`;
      for (const callConnectionId of ids) {
        const answer = await stage.callback('AnomalyCallback', [event({ callConnectionId }, { type })]);
        expect(answer.status, `${kind} ${JSON.stringify(callConnectionId)?.slice(0, 30)}`).toBe(200);
      }
      for (const data of [undefined, null, 'text', 7, [], [{ callConnectionId: 'a' }], { data: {} }]) {
        expect((await stage.callback('AnomalyCallback', [event(data, { type })])).status).toBe(200);
      }
    }
    // The simulator refuses every request about these calls: they do not exist.
    expect(stage.acs.log()).toMatchObject({ calls: [], refused: [] });
    await stage.callback('AnomalyCallback', [event({ callConnectionId: 'well-formed' })]);
    expect(stage.acs.log().refused.map(({ request }) => request)).toEqual([
      'POST /calling/callConnections/well-formed:play',
    ]);
    expect(stage.logged('callback events without a call id').length).toBeGreaterThan(100);
  });

  it('are answered 400 if the body is no array of CloudEvents, and 413 if it is too large', async () => {
    const stage = await setStage();
    const malformed: readonly unknown[] = [
      '',
      'x',
      '{',
      '[',
      'null',
      '7',
      '"text"',
      event({ callConnectionId: 'a' }),
      [null],
      [7],
      ['text'],
      [[]],
      [{}],
      [event({}, { id: undefined })],
      [event({}, { id: 7 })],
      [event({}, { id: '' })],
      [event({}, { source: undefined })],
      [event({}, { source: {} })],
      [event({}, { type: undefined })],
      [event({}, { type: ['Microsoft.Communication.CallConnected'] })],
      [event({}, { specversion: '0.3' })],
      [event({}, { specversion: 1 })],
      [event({}, { subject: 7 })],
      [event({}, { time: 7 })],
      [event(undefined, { data_base64: 7 })],
      [event({ callConnectionId: 'a-good-one' }), {}],
      `${'['.repeat(200_000)}${']'.repeat(200_000)}`,
      `[${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}]`,
      Buffer.from([0x5b, 0xff, 0xfe, 0x5d]).toString('latin1'),
    ];
    for (const body of malformed) {
      const answer = await stage.callback('CustomCallback', body);
      const told = JSON.stringify(body).slice(0, 60);
      expect(answer.status, told).toBe(400);
      expect(answer.headers.get('content-type'), told).toBe('application/problem+json');
    }
    expect((await stage.callback('CustomCallback', `"${'x'.repeat(10_000_000)}"`)).status).toBe(413);
    expect(stage.acs.log()).toMatchObject({ calls: [], refused: [] });
    expect(stage.logged('unexpected error')).toEqual([]);
  });

  it('are accepted with wrong types in optional fields', async () => {
    const stage = await setStage();
    const junk: readonly unknown[] = [
      null,
      7,
      'text',
      true,
      [],
      {},
      [[]],
      { code: 'x', subCode: {} },
      'x'.repeat(100_000),
    ];
    for (const kind of ['CallDisconnected', 'CreateCallFailed', 'PlayStarted']) {
      for (const [index, wrong] of junk.entries()) {
        const callConnectionId = `junk-${kind}-${index}`;
        const data = { callConnectionId, resultInformation: wrong, operationContext: wrong, version: wrong };
        const type = `Microsoft.Communication.${kind}`;
        expect((await stage.callback('AnomalyCallback', [event(data, { type, time: 'once' })])).status).toBe(200);
      }
    }
    expect(stage.logged('unexpected error')).toEqual([]);
  });

  it('with hundreds of events are handled in bounded time: one request to speak a call', async () => {
    const stage = await setStage();
    const short = { id: '1', source: 's' };
    const distinct = Array.from({ length: 100 }, (_, index) => event({ callConnectionId: `nobody-${index}` }, short));
    const repeated = Array.from({ length: 500 }, () => event({ callConnectionId: 'always-the-same' }, short));
    const others = Array.from({ length: 500 }, () => event({}, { ...short, type: 'Microsoft.Communication.Nonsense' }));
    for (const batch of [distinct, repeated, others]) {
      expect((await stage.callback('AnomalyCallback', batch)).status).toBe(200);
    }
    expect((await stage.fetch(`${stage.url}/api/health`)).status).toBe(200);
    // All are refused: the simulator knows none of these calls. A call that is gone is not hung up.
    const asked = stage.acs.log().refused.map((refused) => refused.request);
    expect(new Set(asked).size).toBe(asked.length);
    expect(asked.length).toBe(101);
  });

  it('about a ringing call that is not spoken to do not make it heard', async () => {
    const stage = await setStage({ pace: { ringMs: 60_000 }, environment: { CALL_ATTEMPTS: '1' } });
    const { notification_id, calls } = await stage.alert('ConfirmedFire', ['+12065550100']);
    const callConnectionId = calls?.[0]?.call_connection_id;
    for (const kind of ['PlayStarted', 'ContinuousDtmfRecognitionToneReceived', 'PlayCompleted']) {
      const type = `Microsoft.Communication.${kind}`;
      const answer = await stage.callback('ConfirmedFireCallback', [event({ callConnectionId }, { type })]);
      expect(answer.status).toBe(200);
    }
    const { recipients } = await stage.completed(notification_id);
    expect(recipients[0]?.status).toBe('not_reached');
    // It is hung up, as the contract says.
    expect((await stage.callEnds('+12065550100')).endedBy).toBe('app');
    expect(stage.logged('recipient not reached')).toHaveLength(1);
    stage.endsWell();
  });
});
