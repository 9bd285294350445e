import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { CallAutomationClient, type TextSource, VoiceKind } from '@azure/communication-call-automation';
import type { TokenCredential } from '@azure/identity';

import type { Connection } from '../../settings.ts';
import { type AcsFailure, judgeAcsError, phoneLineError } from './acs-failure.ts';
import type { AlertType } from '../alert-types.ts';
import { type CallContext, formatCallContext } from '../call-context.ts';
import { type CallId, parseCallId } from '../call-id.ts';
import { LONGEST_REQUEST_MS, type PhoneLine, PhoneLineError } from '../phone-line.ts';
import type { PhoneNumber } from '../phone-number.ts';

/** A client of ACS Call Automation without the SDK's retries, which have no deadline and would speak a message twice. */
export const connectToAcs = (connection: Connection, credential: TokenCredential): CallAutomationClient => {
  const options = { retryOptions: { maxRetries: 0 } };
  return 'connectionString' in connection
    ? // The settings accept plain http for loopback addresses only.
      new CallAutomationClient(connection.connectionString, { ...options, allowInsecureConnection: true })
    : new CallAutomationClient(connection.endpoint, credential, options);
};

/** Limits of one request, in milliseconds. */
interface Bounds {
  /** For the answer to one attempt. */
  readonly attemptMs: number;
  /** For all attempts and the waiting between them. */
  readonly withinMs: number;
  /** How many attempts may fail. Throttled ones do not count. */
  readonly attempts: number;
}

const CALL_ATTEMPT = { attemptMs: 5_000, attempts: 3 };
// Without an answer it is not repeated, so one attempt may take longer.
const SPEAK: Bounds = { attemptMs: 10_000, withinMs: LONGEST_REQUEST_MS, attempts: 3 };
const HANG_UP: Bounds = { attemptMs: 4_000, withinMs: LONGEST_REQUEST_MS, attempts: 4 };

const FIRST_PAUSE_MS = 200;
// If ACS does not say how long to wait.
const FIRST_THROTTLE_PAUSE_MS = 1_000;
const LONGEST_FLOOR_MS = 2_000;

/** Settings of the line. */
export interface AcsLineOptions {
  /** The caller's number. */
  readonly sourcePhoneNumber: string;
  /** Text to speech. Without it, the call connects and stays silent. */
  readonly cognitiveServicesEndpoint: string;
  /** The callback paths are below it. Without a slash at its end. */
  readonly callbackBaseUrl: string;
}

/**
 * The telephone line of Azure Communication Services. All attempts to call, or to hang up, have the same repeatability id, with which ACS
 * acts once. Requests to speak cannot have one.
 */
export class AcsPhoneLine implements PhoneLine {
  readonly #client: () => CallAutomationClient;
  readonly #options: AcsLineOptions;

  constructor(client: () => CallAutomationClient, options: AcsLineOptions) {
    this.#client = client;
    this.#options = options;
  }

  async call(number: PhoneNumber, alertType: AlertType, context: CallContext, withinMs: number): Promise<CallId> {
    const { sourcePhoneNumber, cognitiveServicesEndpoint, callbackBaseUrl } = this.#options;
    const requestOptions = repeatable();
    const { callConnectionProperties } = await attempt(isSafeToRepeat, { ...CALL_ATTEMPT, withinMs }, (abortSignal) =>
      this.#client().createCall(
        { targetParticipant: { phoneNumber: number }, sourceCallIdNumber: { phoneNumber: sourcePhoneNumber } },
        `${callbackBaseUrl}/api/${alertType.callbackPath}`,
        {
          operationContext: formatCallContext(context),
          callIntelligenceOptions: { cognitiveServicesEndpoint },
          abortSignal,
          requestOptions,
        },
      ),
    );
    const callId = parseCallId(callConnectionProperties.callConnectionId);
    if (callId === undefined) throw new PhoneLineError('unanswered', 'unexpected answer');
    return callId;
  }

  async speak(callId: CallId, text: string, context?: CallContext): Promise<void> {
    const source: TextSource = { kind: 'textSource', text, sourceLocale: 'en-US', voiceKind: VoiceKind.Female };
    const media = this.#client().getCallConnection(callId).getCallMedia();
    const options = { loop: false, ...(context === undefined ? {} : { operationContext: formatCallContext(context) }) };
    await attempt(hadNoEffect, SPEAK, (abortSignal) => media.playToAll([source], { ...options, abortSignal }));
  }

  async hangUp(callId: CallId): Promise<void> {
    const connection = this.#client().getCallConnection(callId);
    const requestOptions = repeatable();
    try {
      await attempt(isSafeToRepeat, HANG_UP, (abortSignal) => connection.hangUp(true, { abortSignal, requestOptions }));
    } catch (error) {
      // 404/8522: an earlier hang-up, or the callee, has ended the call.
      if (!(error instanceof PhoneLineError) || error.failure !== 'gone') throw error;
    }
  }
}

// Replaces the SDK's own headers: it makes a new repeatability id for every attempt.
const repeatable = () => ({
  customHeaders: {
    'Repeatability-Request-ID': randomUUID(),
    'Repeatability-First-Sent': new Date().toUTCString(),
  },
});

const hadNoEffect = (failure: AcsFailure): boolean => failure.kind === 'throttled' || failure.kind === 'not sent';

const isSafeToRepeat = (failure: AcsFailure): boolean => hadNoEffect(failure) || failure.kind === 'unanswered';

/** Sends a request until it is answered, fails in a way that may not be repeated, or reaches its bounds. */
const attempt = async <Answer>(
  mayRepeat: (failure: AcsFailure) => boolean,
  { attemptMs, withinMs, attempts }: Bounds,
  send: (abortSignal: AbortSignal) => Promise<Answer>,
): Promise<Answer> => {
  const end = performance.now() + withinMs;
  for (let sent = 0, throttled = 0; ;) {
    const left = end - performance.now();
    try {
      return await send(AbortSignal.timeout(Math.max(1, Math.ceil(Math.min(attemptMs, left)))));
    } catch (error) {
      const failure = judgeAcsError(error, Date.now());
      if (failure.kind === 'throttled') throttled += 1;
      else sent += 1;
      const floorMs = Math.min(LONGEST_FLOOR_MS, FIRST_PAUSE_MS * 2 ** (sent + throttled - 1)) * (0.5 + Math.random());
      const pauseMs =
        failure.kind === 'throttled'
          ? Math.max(floorMs, failure.waitMs ?? FIRST_THROTTLE_PAUSE_MS * throttled)
          : floorMs;
      const isLast = sent >= attempts || performance.now() + pauseMs >= end;
      if (isLast || !mayRepeat(failure)) throw phoneLineError(failure);
      await sleep(pauseMs);
    }
  }
};
