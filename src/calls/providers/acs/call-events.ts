import * as z from 'zod';
import { parseCallContext, parseCallId } from '../../model/ids.ts';
import type { CallEvent, CallEventKind, PressedKey } from '../../model/phone-provider.ts';
import { resultOf } from './codes.ts';
import type { EventCallbacks } from '../callbacks.ts';

/** The ACS event types that are used here. Compared exactly: `Microsoft.Communication.playFailed` is another type. */
const KIND_OF_TYPE: ReadonlyMap<string, CallEventKind> = new Map([
  ['Microsoft.Communication.CallConnected', 'connected'],
  ['Microsoft.Communication.PlayStarted', 'play started'],
  ['Microsoft.Communication.PlayCompleted', 'play completed'],
  ['Microsoft.Communication.PlayFailed', 'play failed'],
  ['Microsoft.Communication.PlayCanceled', 'play canceled'],
  ['Microsoft.Communication.ContinuousDtmfRecognitionToneReceived', 'tone received'],
  ['Microsoft.Communication.ContinuousDtmfRecognitionToneFailed', 'tone failed'],
  ['Microsoft.Communication.CallDisconnected', 'disconnected'],
  ['Microsoft.Communication.CreateCallFailed', 'create failed'],
]);

const required = z.string().min(1);
// Null means absent (CloudEvents, JSON format, 2.2).
const optional = z.string().nullish();

/** A CloudEvent 1.0 in structured mode. */
const cloudEventSchema = z.object({
  specversion: z.literal('1.0'),
  id: required,
  source: required,
  type: required,
  time: optional,
  subject: optional,
  dataschema: optional,
  datacontenttype: optional,
  data: z.unknown().optional(),
});

// A row stores integers of 32 bits: a larger one would make the row unwritable. Real codes are far smaller.
const resultCode = z.int32().optional().catch(undefined);

// A wrong type in an optional part counts as missing.
const dataSchema = z.object({
  callConnectionId: z.unknown().optional(),
  operationContext: z.unknown().optional(),
  tone: z.unknown().optional(),
  // Keys without a number cannot be told apart: they count as one.
  sequenceId: z.int32().catch(0),
  resultInformation: z.object({ code: resultCode, subCode: resultCode }).catch({}),
});

/** The tones of ACS, in the order of {@link KEYS}. */
const TONES: readonly unknown[] = 'zero one two three four five six seven eight nine asterisk pound'.split(' ');
const KEYS = '0123456789*#';

export const parseCallEvents: EventCallbacks['parseEvents'] = (batch) => {
  const events: CallEvent[] = [];
  const malformed: number[] = [];
  let otherKinds = 0;
  let malformedIds = 0;
  for (const [index, element] of batch.entries()) {
    const { data: cloudEvent } = cloudEventSchema.safeParse(element);
    const kind = cloudEvent && KIND_OF_TYPE.get(cloudEvent.type);
    const event = kind && callEvent(kind, cloudEvent.data);
    if (cloudEvent === undefined) malformed.push(index);
    else if (kind === undefined) otherKinds += 1;
    else if (event === undefined) malformedIds += 1;
    else events.push(event);
  }
  return { events, otherKinds, malformedIds, malformed };
};

const callEvent = (kind: CallEventKind, untrusted: unknown): CallEvent | undefined => {
  const { data } = dataSchema.safeParse(untrusted);
  const callId = parseCallId(data?.callConnectionId);
  if (data === undefined || callId === undefined) return undefined;
  const context = parseCallContext(data.operationContext);
  return {
    kind,
    callId,
    result: resultOf(data.resultInformation),
    attempt: context?.attempt,
    ...(SPOKEN.has(kind) && context !== undefined ? { prompt: context.prompt } : {}),
    ...(kind === 'tone received' ? { key: pressedKey(data) } : {}),
  };
};

/** Events about a prompt: their context names it. */
const SPOKEN: ReadonlySet<CallEventKind> = new Set(['play started', 'play completed', 'play failed', 'play canceled']);

const pressedKey = ({ tone, sequenceId: sequence }: z.output<typeof dataSchema>): PressedKey | undefined => {
  const key = KEYS[TONES.indexOf(tone)];
  return key === undefined ? undefined : { key, sequence };
};
