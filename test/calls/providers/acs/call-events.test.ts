import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { parseCallEvents } from '../../../../src/calls/providers/acs/call-events.ts';
import { attempt, ATTEMPT } from '../stage.ts';

const CALL_ID = '401f3500-fcf2-4f3c-8e5b-1a2b3c4d5e6f';
/** As recorded from ACS, ids shortened. */
const recorded = {
  id: 'f2a2a1e4-8d3e-4a44-9a3b-2b9a5a3c8d10',
  source: `calling/callConnections/${CALL_ID}`,
  type: 'Microsoft.Communication.CallConnected',
  data: {
    version: '2026-03-12',
    operationContext: ATTEMPT,
    callConnectionId: CALL_ID,
    resultInformation: { code: 200, subCode: 0, message: '' },
    serverCallId: 'aHR0cHM6Ly9hcGkuZmxpZ2h0cHJveHkuc2t5cGUuY29t',
    correlationId: '4c6f8a0e-1b2d-4e3f-9a8b-7c6d5e4f3a2b',
    publicEventType: 'Microsoft.Communication.CallConnected',
  },
  time: '2026-09-15T11:35:34.1590127+00:00',
  specversion: '1.0',
  datacontenttype: 'application/json',
  subject: `calling/callConnections/${CALL_ID}`,
};
const eventOf = (kind: string, data: object = {}) => ({
  ...recorded,
  type: `Microsoft.Communication.${kind}`,
  data: { ...recorded.data, ...data },
});
const parsed = (...batch: unknown[]) => parseCallEvents(batch);

it('an event of ACS is parsed as ACS sends it, and needs only a call id', () => {
  const event = { kind: 'connected', callId: CALL_ID, result: { code: 200, subCode: 0 }, attempt };
  expect(parseCallEvents([recorded])).toEqual({ events: [event], otherKinds: 0, malformedIds: 0, malformed: [] });
  const bare = { id: '1', source: 's', type: recorded.type, specversion: '1.0', data: { callConnectionId: 'a' } };
  const without = { ...bare, data: {} };
  expect(parseCallEvents([bare, without])).toMatchObject({
    events: [{ kind: 'connected', callId: 'a', result: {}, attempt: undefined }],
    malformedIds: 1,
  });
});

it.each([
  [{ id: undefined }],
  [{ id: '' }],
  [{ source: '' }],
  [{ type: 7 }],
  [{ specversion: '0.3' }],
  [{ id: null }],
  [{ time: 7 }],
])('an event with %j is malformed, and another event of its batch is not', (change) => {
  expect(parseCallEvents([{ ...recorded, ...change }, recorded])).toMatchObject({
    events: [{ callId: CALL_ID }],
    malformed: [0],
  });
});

it('an optional attribute that is null is absent', () => {
  const nulls = { time: null, subject: null, dataschema: null, datacontenttype: null };
  expect(parsed({ ...recorded, ...nulls })).toEqual(parsed(recorded));
});

it('the kinds of events are compared exactly, and keep their order', () => {
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
  const found = parsed(...[...kinds.map(([type]) => type), ...others].map((kind) => eventOf(kind)));
  expect(found).toMatchObject({ events: kinds.map(([, kind]) => ({ kind })), otherKinds: others.length });
});

const NO_CODES = { code: undefined, subCode: undefined };
const TONE = 'ContinuousDtmfRecognitionToneReceived';

it.each([
  ['PlayCompleted', {}, { attempt, prompt: 0 }],
  ['PlayCanceled', { operationContext: `${ATTEMPT}/9` }, { attempt, prompt: 9 }],
  ['PlayCanceled', { operationContext: `${ATTEMPT}/7` }, { attempt: undefined }],
  [TONE, { tone: 'one', sequenceId: 4 }, { attempt, key: { key: '1', sequence: 4 } }],
  [TONE, { tone: 'pound' }, { key: { key: '#', sequence: 0 } }],
  [TONE, { tone: 'One', sequenceId: 4 }, { key: undefined }],
  ['CreateCallFailed', { resultInformation: { code: 486, subCode: 560_486 } }, { result: { reason: 'busy' } }],
  // No row can store these.
  ['CallDisconnected', { resultInformation: { code: 2 ** 31, subCode: -(2 ** 31) - 1 } }, { result: NO_CODES }],
  ['CallDisconnected', { resultInformation: { code: 480.5, subCode: '480' } }, { result: NO_CODES }],
])('%s with %j reports %j', (kind, data, expected) => {
  expect(parsed(eventOf(kind, data)).events).toMatchObject([expected]);
});

it('an event has no context unless this service wrote it, and is parsed without an exception, for any body', () => {
  fc.assert(
    fc.property(fc.anything(), fc.oneof(fc.string(), fc.anything()), (data, operationContext) => {
      const events = parseCallEvents([eventOf('CallConnected', { operationContext }), { ...recorded, data }]);
      expect(events).toHaveProperty('events.0.attempt', undefined);
      expect(parseCallEvents([data, recorded])).toMatchObject({ events: [{}], malformed: [0] });
    }),
    { numRuns: 300 },
  );
});
