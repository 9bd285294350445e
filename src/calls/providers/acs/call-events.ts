import * as z from 'zod';

import { lazily } from '../../../azure/lazily.ts';
import { parseCallContext } from '../../model/call-context.ts';
import type { CallEvent, CallEventKind, PressedKey } from '../../model/call-event.ts';
import { parseCallId } from '../../model/ids.ts';
import type { MalformedEvent, ParseCallEvents } from '../callbacks.ts';
import { meaningOfResult } from './result-meaning.ts';

/** The ACS event types that are used here. Compared exactly: `Microsoft.Communication.playFailed` is another type. */
const KIND_OF_TYPE = {
  'Microsoft.Communication.CallConnected': 'connected',
  'Microsoft.Communication.PlayStarted': 'play started',
  'Microsoft.Communication.PlayCompleted': 'play completed',
  'Microsoft.Communication.PlayFailed': 'play failed',
  'Microsoft.Communication.PlayCanceled': 'play canceled',
  'Microsoft.Communication.ContinuousDtmfRecognitionToneReceived': 'tone received',
  'Microsoft.Communication.ContinuousDtmfRecognitionToneFailed': 'tone failed',
  'Microsoft.Communication.CallDisconnected': 'disconnected',
  'Microsoft.Communication.CreateCallFailed': 'create failed',
} as const satisfies Readonly<Record<string, CallEventKind>>;

// A row stores integers of 32 bits: with a larger one the table refuses the call's row, again and again. Real codes are far smaller.
const resultCode = z.int32().optional().catch(undefined);

// The deserializer does not check `data`. A wrong type in an optional part counts as missing.
const dataSchema = z.object({
  callConnectionId: z.unknown().optional(),
  operationContext: z.unknown().optional(),
  tone: z.unknown().optional(),
  // Keys without a number cannot be told apart: they count as one.
  sequenceId: z.int32().catch(0),
  resultInformation: z
    .object({
      code: resultCode,
      subCode: resultCode,
    })
    .catch({}),
});

/** The tones of ACS. */
const KEY_OF_TONE: ReadonlyMap<unknown, string> = new Map([
  ['zero', '0'],
  ['one', '1'],
  ['two', '2'],
  ['three', '3'],
  ['four', '4'],
  ['five', '5'],
  ['six', '6'],
  ['seven', '7'],
  ['eight', '8'],
  ['nine', '9'],
  ['asterisk', '*'],
  ['pound', '#'],
]);

// The SDK is loaded with the first callback: it is a part of the time that the app takes to start.
const deserializer = lazily(async () =>
  import('@azure/eventgrid').then(({ EventGridDeserializer }) => new EventGridDeserializer()),
);

/** The array in a callback's body → its events, or all elements that are not CloudEvents 1.0. */
export const parseCallEvents: ParseCallEvents = async (batch) => {
  const events: CallEvent[] = [];
  const malformed: MalformedEvent[] = [];
  let otherKinds = 0;
  let malformedIds = 0;
  for (const [index, element] of batch.entries()) {
    const cloudEvent = await deserialize(element);
    if (cloudEvent === undefined)
      malformed.push({ index, detail: 'is not a CloudEvent 1.0: id, source, type and specversion "1.0" are required' });
    else if (!isKnownType(cloudEvent.type)) otherKinds += 1;
    else {
      const event = readEvent(KIND_OF_TYPE[cloudEvent.type], cloudEvent.data);
      if (event === undefined) malformedIds += 1;
      else events.push(event);
    }
  }
  return malformed.length > 0 ? malformed : { events, otherKinds, malformedIds };
};

const isKnownType = (type: string): type is keyof typeof KIND_OF_TYPE => Object.hasOwn(KIND_OF_TYPE, type);

// Given the whole array, the deserializer throws for all if one is bad, and does not say which. Its error repeats parts of the
// event, so it is dropped.
const deserialize = async (element: unknown): Promise<{ type: string; data?: unknown } | undefined> => {
  if (typeof element !== 'object' || element === null || Array.isArray(element)) return undefined;
  try {
    const [cloudEvent] = await (await deserializer()).deserializeCloudEvents({ ...element });
    // CloudEvents demands that they are not empty; the deserializer does not check that.
    return cloudEvent?.id && cloudEvent.source && cloudEvent.type ? cloudEvent : undefined;
  } catch {
    return undefined;
  }
};

const readEvent = (kind: CallEventKind, untrusted: unknown): CallEvent | undefined => {
  const { data } = dataSchema.safeParse(untrusted);
  const callId = parseCallId(data?.callConnectionId);
  if (data === undefined || callId === undefined) return undefined;
  const { resultInformation: codes, operationContext, tone, sequenceId } = data;
  const context = parseCallContext(operationContext);
  return {
    kind,
    callId,
    result: { ...codes, ...meaningOfResult(codes) },
    attempt: context?.attempt,
    ...(SPOKEN.has(kind) && context !== undefined ? { speech: context.speech } : {}),
    ...(kind === 'tone received' ? { key: keyOf(tone, sequenceId) } : {}),
  };
};

/** Events about what is spoken: their context names the speech. */
const SPOKEN: ReadonlySet<CallEventKind> = new Set(['play started', 'play completed', 'play failed', 'play canceled']);

const keyOf = (tone: unknown, sequence: number): PressedKey | undefined => {
  const key = KEY_OF_TONE.get(tone);
  return key === undefined ? undefined : { key, sequence };
};
