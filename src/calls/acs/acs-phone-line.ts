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

/**
 * A client of ACS Call Automation that never retries by itself: the SDK's retries would repeat a play (it carries no
 * repeatability id) and know no deadline.
 */
export const connectToAcs = (connection: Connection, credential: TokenCredential): CallAutomationClient => {
  const options = { retryOptions: { maxRetries: 0 } };
  return 'connectionString' in connection
    ? // The settings admit plain http for loopback addresses alone.
      new CallAutomationClient(connection.connectionString, { ...options, allowInsecureConnection: true })
    : new CallAutomationClient(connection.endpoint, credential, options);
};

/** Bounds of one request, in milliseconds. */
interface Bounds {
  /** For one attempt to be answered. */
  readonly attemptMs: number;
  /** For all attempts and the waiting between them. */
  readonly withinMs: number;
  /** How often the request is sent at most, waiting for a throttle apart. */
  readonly attempts: number;
}

const CALL_ATTEMPT = { attemptMs: 5_000, attempts: 3 };
// An attempt that is not answered is not repeated, so it may take longer.
const SPEAK: Bounds = { attemptMs: 10_000, withinMs: LONGEST_REQUEST_MS, attempts: 3 };
const HANG_UP: Bounds = { attemptMs: 4_000, withinMs: LONGEST_REQUEST_MS, attempts: 4 };

const FIRST_PAUSE_MS = 200;
// Where ACS asks to slow down and does not say for how long.
const FIRST_THROTTLE_PAUSE_MS = 1_000;
const LONGEST_FLOOR_MS = 2_000;

/** What an ACS line needs to know of this service. */
export interface AcsLineOptions {
  /** Who is calling. */
  readonly sourcePhoneNumber: string;
  /** Speech; without it on the call, the call connects and stays silent. */
  readonly cognitiveServicesEndpoint: string;
  /** Where the events of the calls go: the callback paths are below it. No slash at its end. */
  readonly callbackBaseUrl: string;
}

/**
 * The telephone line of Azure Communication Services.
 *
 * A call and a hang-up carry a repeatability id that stays the same over all attempts, so ACS does them once however often they are
 * sent; a play has none, so it is sent again only where the first surely had no effect.
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
      // 404/8522: the call has ended, by an earlier hang-up or by the callee. That is what was wanted.
      if (error instanceof PhoneLineError && error.failure === 'gone') return;
      throw error;
    }
  }
}

// The SDK makes a new repeatability id for every call of its methods; these headers take the place of its own, so that our
// attempts are one request to ACS.
const repeatable = () => ({
  customHeaders: {
    'Repeatability-Request-ID': randomUUID(),
    'Repeatability-First-Sent': new Date().toUTCString(),
  },
});

const hadNoEffect = (failure: AcsFailure): boolean => failure.kind === 'throttled' || failure.kind === 'not sent';

const isSafeToRepeat = (failure: AcsFailure): boolean => hadNoEffect(failure) || failure.kind === 'unclear';

/** Sends until an answer, a failure that may not be repeated, or the end of the time there is. */
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
      const hopeless = sent >= attempts || performance.now() + pauseMs >= end;
      if (hopeless || !mayRepeat(failure)) throw phoneLineError(failure);
      await sleep(pauseMs);
    }
  }
};
