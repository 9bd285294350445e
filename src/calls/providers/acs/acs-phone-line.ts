import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  CallAutomationClient,
  type CallAutomationClientOptions,
  type CallInvite,
  type TextSource,
  VoiceKind,
} from '@azure/communication-call-automation';
import type { TokenCredential } from '@azure/identity';

import type { Connection } from '../../../azure/connection.ts';
import { callFailure, judgeAcsError } from './acs-failure.ts';
import { type Bounds, SAFE_TO_REPEAT, sendRepeatedly } from '../repeat.ts';
import { type AttemptRef, formatCallContext, formatSpeechContext, type SpeechRef } from '../../model/call-context.ts';
import { type CallId, parseCallId } from '../../model/ids.ts';
import {
  type CallRequest,
  LONGEST_REQUEST_MS,
  type PhoneLine,
  PhoneLineError,
  type PhoneLineFailure,
} from '../../model/phone-line.ts';
import type { PhoneNumber } from '../../model/phone-number.ts';
import { MESSAGE } from '../../model/speech.ts';

/** A client of ACS Call Automation without the SDK's retries, which have no deadline and would speak a message twice. */
export const connectToAcs = (connection: Connection, credential: TokenCredential): CallAutomationClient => {
  const options = {
    retryOptions: { maxRetries: 0 },
    additionalPolicies: [{ policy: listenDeadline, position: 'perCall' as const }],
  };
  return 'connectionString' in connection
    ? // The settings accept plain http for loopback addresses only.
      new CallAutomationClient(connection.connectionString, { ...options, allowInsecureConnection: true })
    : new CallAutomationClient(connection.endpoint, credential, options);
};

type AdditionalPolicy = NonNullable<CallAutomationClientOptions['additionalPolicies']>[number];

const LISTEN_MS = 5_000;

// The SDK drops the options of this request, the abort signal too: without a deadline of its own it may hang for ever.
const listenDeadline: AdditionalPolicy['policy'] = {
  name: 'listenDeadline',
  sendRequest: async (request, next) => {
    if (request.url.includes(':startContinuousDtmfRecognition')) request.timeout = LISTEN_MS;
    return next(request);
  },
};

const CALL: Bounds = { attemptMs: 4_500, withinMs: LONGEST_REQUEST_MS, attempts: 3 };
// Without an answer it is not repeated, so one attempt may take longer.
const SPEAK: Bounds = { attemptMs: 10_000, withinMs: LONGEST_REQUEST_MS, attempts: 3 };
// The policy above ends each of them.
const LISTEN: Bounds = { attemptMs: LISTEN_MS, withinMs: LONGEST_REQUEST_MS, attempts: 2 };
const HANG_UP: Bounds = { attemptMs: 4_000, withinMs: LONGEST_REQUEST_MS, attempts: 4 };

/** Who calls: an ACS number, or a Teams resource account (Teams Phone extensibility). */
export type Caller = { readonly phoneNumber: PhoneNumber } | { readonly teamsResourceAccountId: string };

/** Settings of the line. */
export interface AcsLineOptions {
  readonly caller: Caller;
  /** Text to speech. Without it, the call connects and stays silent. */
  readonly cognitiveServicesEndpoint: string;
  /** The callback paths are below it. Without a slash at its end. */
  readonly callbackBaseUrl: string;
}

/**
 * The telephone line of Azure Communication Services. All tries of one request to call, or to hang up, have the same repeatability id, with
 * which ACS acts once. Requests to speak cannot have one.
 */
export class AcsPhoneLine implements PhoneLine {
  readonly name = 'acs';
  readonly isIdempotent = true;
  readonly refusesSurely = false;
  readonly #client: () => CallAutomationClient;
  readonly #options: AcsLineOptions;

  constructor(client: () => CallAutomationClient, options: AcsLineOptions) {
    this.#client = client;
    this.#options = options;
  }

  async call({ number, alertType, attempt: ref, firstSentAt, callbackBaseUrl }: CallRequest): Promise<CallId> {
    const { caller, cognitiveServicesEndpoint } = this.#options;
    const requestOptions = repeatable(ref.attemptId, firstSentAt);
    const ask = (abortSignal: AbortSignal) =>
      this.#client().createCall(
        inviteTo(number, caller),
        `${callbackBaseUrl ?? this.#options.callbackBaseUrl}/api/${alertType.callbackPath}`,
        {
          operationContext: formatCallContext(ref),
          callIntelligenceOptions: { cognitiveServicesEndpoint },
          ...('teamsResourceAccountId' in caller
            ? { teamsAppSource: { teamsAppId: caller.teamsResourceAccountId } }
            : {}),
          abortSignal,
          requestOptions,
        },
      );
    // Throttled: whoever asked knows better when to ask again.
    const { callConnectionProperties } = await attempt(MAY_HAVE_FAILED, CALL, ask).catch(throwOfCall);
    const callId = parseCallId(callConnectionProperties.callConnectionId);
    if (callId === undefined) throw new PhoneLineError('unanswered', 'unexpected answer');
    return callId;
  }

  async speak(callId: CallId, text: string, ref?: SpeechRef): Promise<undefined> {
    const source: TextSource = { kind: 'textSource', text, sourceLocale: 'en-US', voiceKind: VoiceKind.Female };
    const media = this.#client().getCallConnection(callId).getCallMedia();
    const options = {
      loop: false,
      ...(ref === undefined ? {} : { operationContext: formatSpeechContext(ref) }),
      // Otherwise it would be spoken after what is being spoken.
      ...(ref === undefined || ref.speech === MESSAGE ? {} : { interruptCallMediaOperation: true }),
    };
    const speak = async () =>
      attempt(HAD_NO_EFFECT, SPEAK, (abortSignal) => media.playToAll([source], { ...options, abortSignal })).catch(
        throwGone,
      );
    try {
      await speak();
    } catch (error) {
      const subCode = error instanceof PhoneLineError ? error.subCode : undefined;
      if (subCode === undefined || !NOT_IN_THAT_STATE.has(subCode)) throw error;
      await sleep(STATE_PAUSE_MS);
      await speak();
    }
  }

  async listen(callId: CallId, number: PhoneNumber, ref: AttemptRef): Promise<void> {
    const media = this.#client().getCallConnection(callId).getCallMedia();
    const callee = { phoneNumber: number };
    const operationContext = formatCallContext(ref);
    await attempt(HAD_NO_EFFECT, LISTEN, async () =>
      media.startContinuousDtmfRecognition(callee, { operationContext }),
    );
  }

  async hangUp(callId: CallId): Promise<void> {
    const connection = this.#client().getCallConnection(callId);
    const requestOptions = repeatable(randomUUID(), Date.now());
    try {
      await attempt(SAFE_TO_REPEAT, HANG_UP, (abortSignal) => connection.hangUp(true, { abortSignal, requestOptions }));
    } catch (error) {
      // 404/8522 and the like: an earlier hang-up, or the callee, has ended the call.
      if (!(error instanceof PhoneLineError) || !isOver(error)) throw error;
    }
  }
}

/** Sub-codes of a request about a call that is over, and of one that is over or not in that state (yet). */
const CALL_IS_OVER: ReadonlySet<number> = new Set([8_522, 8_528]);
const NOT_IN_THAT_STATE: ReadonlySet<number> = new Set([8_500, 8_585]);
const HUNG_UP: ReadonlySet<number | undefined> = new Set([8_501, 8_522, 8_528, 8_585]);
const STATE_PAUSE_MS = 500;

const isOver = ({ failure, code, subCode }: PhoneLineError): boolean =>
  failure === 'gone' || code === 410 || HUNG_UP.has(subCode);

// Some of these are answered 400, not 404.
const throwGone = (error: unknown): never => {
  const subCode = error instanceof PhoneLineError ? error.subCode : undefined;
  if (subCode === undefined || !CALL_IS_OVER.has(subCode)) throw error;
  throw new PhoneLineError('gone', 'call not found', { subCode });
};

const throwOfCall = (error: unknown): never => {
  throw error instanceof PhoneLineError ? callFailure(error) : error;
};

const inviteTo = (number: PhoneNumber, caller: Caller): CallInvite => ({
  targetParticipant: { phoneNumber: number },
  ...('phoneNumber' in caller ? { sourceCallIdNumber: { phoneNumber: caller.phoneNumber } } : {}),
});

// Replaces the SDK's own headers: it makes a new repeatability id for every request.
const repeatable = (id: string, firstSentAt: number) => ({
  customHeaders: {
    'Repeatability-Request-ID': id,
    'Repeatability-First-Sent': new Date(firstSentAt).toUTCString(),
  },
});

const HAD_NO_EFFECT: ReadonlySet<PhoneLineFailure> = new Set(['throttled', 'not sent']);
const MAY_HAVE_FAILED: ReadonlySet<PhoneLineFailure> = new Set(['unanswered', 'not sent']);

const attempt = async <Answer>(
  repeated: ReadonlySet<PhoneLineFailure>,
  bounds: Bounds,
  send: (abortSignal: AbortSignal) => Promise<Answer>,
): Promise<Answer> => sendRepeatedly(repeated, bounds, (error) => judgeAcsError(error, Date.now()), send);
