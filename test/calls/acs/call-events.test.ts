import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { parseCallEvents } from '../../../src/calls/acs/call-events.ts';

/** As recorded from ACS, ids shortened. */
const recorded = {
  id: 'f2a2a1e4-8d3e-4a44-9a3b-2b9a5a3c8d10',
  source: 'calling/callConnections/401f3500-fcf2-4f3c-8e5b-1a2b3c4d5e6f',
  type: 'Microsoft.Communication.CallConnected',
  data: {
    version: '2026-03-12',
    operationContext: 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de/3/3f0c1d2e-4b5a-6978-8a9b-0c1d2e3f4a5b',
    callConnectionId: '401f3500-fcf2-4f3c-8e5b-1a2b3c4d5e6f',
    resultInformation: { code: 200, subCode: 0, message: '' },
    serverCallId: 'aHR0cHM6Ly9hcGkuZmxpZ2h0cHJveHkuc2t5cGUuY29t',
    correlationId: '4c6f8a0e-1b2d-4e3f-9a8b-7c6d5e4f3a2b',
    publicEventType: 'Microsoft.Communication.CallConnected',
  },
  time: '2026-09-15T11:35:34.1590127+00:00',
  specversion: '1.0',
  datacontenttype: 'application/json',
  subject: 'calling/callConnections/401f3500-fcf2-4f3c-8e5b-1a2b3c4d5e6f',
};

describe("a callback's events", () => {
  it('are parsed as ACS sends them', async () => {
    expect(await parseCallEvents([recorded])).toEqual({
      events: [
        {
          kind: 'connected',
          callId: '401f3500-fcf2-4f3c-8e5b-1a2b3c4d5e6f',
          result: { code: 200, subCode: 0 },
          attempt: {
            notificationId: 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de',
            index: 3,
            attemptId: '3f0c1d2e-4b5a-6978-8a9b-0c1d2e3f4a5b',
          },
        },
      ],
      otherKinds: 0,
      malformedIds: 0,
    });
  });

  it('need only a call id', async () => {
    const bare = { id: '1', source: 's', type: recorded.type, specversion: '1.0', data: { callConnectionId: 'a' } };
    expect(await parseCallEvents([bare])).toMatchObject({
      events: [{ kind: 'connected', callId: 'a', result: {}, attempt: undefined }],
    });
  });

  it.each([
    ['CallConnected', 'connected'],
    ['PlayStarted', 'play started'],
    ['PlayCompleted', 'play completed'],
    ['PlayFailed', 'play failed'],
    ['PlayCanceled', 'play canceled'],
    ['CallDisconnected', 'disconnected'],
    ['CreateCallFailed', 'create failed'],
  ])('%s means: %s', async (type, kind) => {
    const batch = [{ ...recorded, type: `Microsoft.Communication.${type}` }];
    expect(await parseCallEvents(batch)).toMatchObject({ events: [{ kind }] });
  });

  it('have their codes in words', async () => {
    const data = { ...recorded.data, resultInformation: { code: 486, subCode: 560_486, message: 'Busy here.' } };
    const batch = [{ ...recorded, type: 'Microsoft.Communication.CreateCallFailed', data }];
    expect(await parseCallEvents(batch)).toMatchObject({
      events: [{ kind: 'create failed', result: { code: 486, subCode: 560_486, reason: 'busy', meaning: 'busy' } }],
    });
  });

  it.each([2 ** 31, -(2 ** 31) - 1, 1e300, 480.5, '480'])('have no code %s, which no row can store', async (code) => {
    const data = { ...recorded.data, resultInformation: { code, subCode: code } };
    const parsed = await parseCallEvents([{ ...recorded, data }]);
    expect('events' in parsed && parsed.events[0]?.result).toEqual({ code: undefined, subCode: undefined });
  });

  // A sample of Microsoft's compares with `playFailed`, which never matches.
  it.each(['playFailed', 'callconnected', 'ParticipantsUpdated', 'toString', ''])(
    'of the kind %j are ignored',
    async (type) => {
      const batch = [{ ...recorded, type: `Microsoft.Communication.${type}` }];
      expect(await parseCallEvents(batch)).toEqual({ events: [], otherKinds: 1, malformedIds: 0 });
    },
  );

  it('keep their order', async () => {
    const batch = [
      { ...recorded, type: 'Microsoft.Communication.CallConnected' },
      { ...recorded, type: 'Microsoft.Communication.PlayStarted' },
      { ...recorded, type: 'Microsoft.Communication.PlayCompleted' },
    ];
    const parsed = await parseCallEvents(batch);
    expect('events' in parsed && parsed.events.map((event) => event.kind)).toEqual([
      'connected',
      'play started',
      'play completed',
    ]);
  });

  it('have no context unless this service wrote it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.anything()), async (operationContext) => {
        const parsed = await parseCallEvents([{ ...recorded, data: { ...recorded.data, operationContext } }]);
        expect(parsed).toMatchObject({ events: [{ attempt: undefined }] });
      }),
    );
  });

  it('are parsed without an exception, whatever the body', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.anything(), { maxLength: 5 }), async (batch) => {
        await parseCallEvents(batch);
      }),
      { numRuns: 300 },
    );
    await fc.assert(
      fc.asyncProperty(fc.anything(), async (data) => {
        const parsed = await parseCallEvents([{ ...recorded, data }]);
        expect(parsed).toHaveProperty('events');
      }),
      { numRuns: 300 },
    );
  });
});
