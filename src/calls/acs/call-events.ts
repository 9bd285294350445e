import { EventGridDeserializer } from '@azure/eventgrid';
import * as z from 'zod';

import { type CallContext, parseCallContext } from '../call-context.ts';
import { type CallId, parseCallId } from '../call-id.ts';
import type { CallResult } from './result-reason.ts';

/** The kinds of event that mean something here, by the exact type that ACS gives them. */
const KIND_OF_TYPE = {
  'Microsoft.Communication.CallConnected': 'connected',
  'Microsoft.Communication.PlayStarted': 'play started',
  'Microsoft.Communication.PlayCompleted': 'play completed',
  'Microsoft.Communication.PlayFailed': 'play failed',
  'Microsoft.Communication.PlayCanceled': 'play canceled',
  'Microsoft.Communication.CallDisconnected': 'disconnected',
  'Microsoft.Communication.CreateCallFailed': 'create failed',
} as const;

/** What an event reports. */
export type CallEventKind = (typeof KIND_OF_TYPE)[keyof typeof KIND_OF_TYPE];

/** An event about a call, as far as this service believes and uses it. */
export interface CallEvent {
  readonly kind: CallEventKind;
  readonly callId: CallId;
  readonly result: CallResult;
  /** Ours, come back; undefined where it is missing or was changed. */
  readonly context: CallContext | undefined;
}

/** A callback's events, sorted out. */
export interface CallEvents {
  /** In the order in which they came. */
  readonly events: readonly CallEvent[];
  /** How many were of another kind: accepted and ignored. */
  readonly otherKinds: number;
  /** How many were about no well-formed call id: ignored, and nothing is ever requested for them. */
  readonly malformedIds: number;
}

/** One element of a callback's array that is not a CloudEvent. */
export interface MalformedEvent {
  readonly index: number;
  readonly detail: string;
}

// `data` comes unchecked from the deserializer. Wrong types in what we can do without are forgiven.
const dataSchema = z.object({
  callConnectionId: z.unknown().optional(),
  operationContext: z.unknown().optional(),
  resultInformation: z
    .object({
      code: z.number().int().optional().catch(undefined),
      subCode: z.number().int().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});

const deserializer = new EventGridDeserializer();

/**
 * A callback's array → its events.
 *
 * @returns the events, or every element that is not a CloudEvent 1.0
 */
export const parseCallEvents = async (batch: readonly unknown[]): Promise<CallEvents | readonly MalformedEvent[]> => {
  const events: CallEvent[] = [];
  const malformed: MalformedEvent[] = [];
  let otherKinds = 0;
  let malformedIds = 0;
  for (const [index, element] of batch.entries()) {
    const cloudEvent = await deserialize(element);
    if (cloudEvent === undefined) malformed.push({ index, detail: NOT_A_CLOUD_EVENT });
    else if (!isKnownType(cloudEvent.type)) otherKinds += 1;
    else {
      const event = readEvent(KIND_OF_TYPE[cloudEvent.type], cloudEvent.data);
      if (event === undefined) malformedIds += 1;
      else events.push(event);
    }
  }
  return malformed.length > 0 ? malformed : { events, otherKinds, malformedIds };
};

const NOT_A_CLOUD_EVENT = 'is not a CloudEvent 1.0: id, source, type and specversion "1.0" are required';

const isKnownType = (type: string): type is keyof typeof KIND_OF_TYPE => Object.hasOwn(KIND_OF_TYPE, type);

// One at a time: given the whole array, the deserializer throws for all if one is bad, and does not say which. What it throws
// repeats parts of the event.
const deserialize = async (element: unknown): Promise<{ type: string; data?: unknown } | undefined> => {
  if (typeof element !== 'object' || element === null || Array.isArray(element)) return undefined;
  try {
    const [cloudEvent] = await deserializer.deserializeCloudEvents({ ...element });
    // The deserializer lets them be empty, CloudEvents does not.
    return cloudEvent?.id && cloudEvent.source && cloudEvent.type ? cloudEvent : undefined;
  } catch {
    return undefined;
  }
};

const readEvent = (kind: CallEventKind, untrusted: unknown): CallEvent | undefined => {
  const data = dataSchema.safeParse(untrusted);
  const callId = parseCallId(data.data?.callConnectionId);
  if (callId === undefined) return undefined;
  return {
    kind,
    callId,
    result: data.data?.resultInformation ?? {},
    context: parseCallContext(data.data?.operationContext),
  };
};
