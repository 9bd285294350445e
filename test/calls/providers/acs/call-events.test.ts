import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { parseCallEvents } from '../../../../src/calls/providers/acs/call-events.ts';

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
const ofKind = (kind: string) => ({ ...recorded, type: `Microsoft.Communication.${kind}` });
const withData = (more: object) => ({ ...recorded, data: { ...recorded.data, ...more } });

/** What an event of a kind says of its attempt, its speech and its key. */
const told = (kind: string, more: object) => {
  const parsed = parseCallEvents([{ ...withData(more), type: `Microsoft.Communication.${kind}` }]);
  const [event] = 'events' in parsed ? parsed.events : [];
  return { attempt: event?.attempt?.index, speech: event?.speech, key: event?.key };
};

describe("a callback's events", () => {
  it('are parsed as ACS sends them', () => {
    expect(parseCallEvents([recorded])).toEqual({
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

  it('need only a call id', () => {
    const bare = { id: '1', source: 's', type: recorded.type, specversion: '1.0', data: { callConnectionId: 'a' } };
    expect(parseCallEvents([bare])).toMatchObject({
      events: [{ kind: 'connected', callId: 'a', result: {}, attempt: undefined }],
    });
  });

  it.each([
    ['without an id', { id: undefined }],
    ['with an empty id', { id: '' }],
    ['with an empty source', { source: '' }],
    ['with a type that is no text', { type: 7 }],
    ['of another version', { specversion: '0.3' }],
    ['with a time that is no text', { time: 7 }],
    ['with a subject that is null', { subject: null }],
  ])('%s are malformed, and the batch with them', (_, change) => {
    expect(parseCallEvents([recorded, { ...recorded, ...change }])).toEqual([{ index: 1, detail: expect.any(String) }]);
  });

  it('are of these kinds, compared exactly, and keep their order', () => {
    const kinds = [
      ['CallConnected', 'connected'],
      ['PlayStarted', 'play started'],
      ['ContinuousDtmfRecognitionToneReceived', 'tone received'],
      ['ContinuousDtmfRecognitionToneFailed', 'tone failed'],
      ['PlayCompleted', 'play completed'],
      ['PlayFailed', 'play failed'],
      ['PlayCanceled', 'play canceled'],
      ['CallDisconnected', 'disconnected'],
      ['CreateCallFailed', 'create failed'],
    ] as const;
    // A sample of Microsoft's compares with `playFailed`, which never matches.
    const others = ['playFailed', 'callconnected', 'ParticipantsUpdated', 'toString', ''];
    const parsed = parseCallEvents([...kinds.map(([type]) => type), ...others].map(ofKind));
    expect(parsed).toMatchObject({ events: kinds.map(([, kind]) => ({ kind })), otherKinds: others.length });
  });

  it('about speeches name which one, and keys have their tone and number', () => {
    const { operationContext: context } = recorded.data;
    expect(told('PlayCompleted', {})).toEqual({ attempt: 3, speech: 0, key: undefined });
    expect(told('PlayCanceled', { operationContext: `${context}/9` })).toMatchObject({ attempt: 3, speech: 9 });
    expect(told('PlayCanceled', { operationContext: `${context}/7` })).toMatchObject({ attempt: undefined });
    const tone = 'ContinuousDtmfRecognitionToneReceived';
    expect(told(tone, { tone: 'one', sequenceId: 4 })).toEqual({
      attempt: 3,
      speech: undefined,
      key: { key: '1', sequence: 4 },
    });
    expect(told(tone, { tone: 'pound' })).toMatchObject({ key: { key: '#', sequence: 0 } });
    expect(told(tone, { tone: 'One', sequenceId: 4 })).toMatchObject({ key: undefined });
  });

  it.each([
    [486, 560_486, { code: 486, subCode: 560_486, reason: 'busy', failure: 'busy' }],
    // No row can store these.
    [2 ** 31, -(2 ** 31) - 1, { code: undefined, subCode: undefined }],
    [480.5, '480', { code: undefined, subCode: undefined }],
  ])('have the codes %s and %s in words', (code, subCode, result) => {
    const parsed = parseCallEvents([withData({ resultInformation: { code, subCode, message: 'Busy here.' } })]);
    expect('events' in parsed && parsed.events[0]?.result).toEqual(result);
  });

  it('have no context unless this service wrote it, and are parsed without an exception, whatever the body', () => {
    fc.assert(
      fc.property(fc.anything(), fc.oneof(fc.string(), fc.anything()), (data, operationContext) => {
        const parsed = parseCallEvents([withData({ operationContext }), { ...recorded, data }]);
        expect(parsed).toHaveProperty('events.0.attempt', undefined);
        expect(parseCallEvents([data, recorded])).toEqual([{ index: 0, detail: expect.any(String) }]);
      }),
      { numRuns: 300 },
    );
  });
});
