import {
  CallAutomationClient,
  type CallConnection,
  type TextSource,
  VoiceKind,
} from '@azure/communication-call-automation';
import type { TokenCredential } from '@azure/identity';
import { randomUUID } from 'node:crypto';
import type { Connection } from '../../../azure/connection.ts';
import { ONE_REQUEST } from '../../../azure/one-request.ts';
import { type CallId, formatCallContext, MESSAGE, parseCallId } from '../../model/ids.ts';
import {
  type CallMedia,
  type CallRequest,
  type FailedRequest,
  type Failure,
  type HangUp,
  type PhoneProvider,
  ProviderError,
} from '../../model/phone-provider.ts';
import type { PhoneNumber } from '../../model/phone-number.ts';
import { failedCallRequest, failedRequest } from './codes.ts';
import { hangUpRepeatedly, type Repeats, SAFE_TO_REPEAT, sendRepeatedly } from '../repeat.ts';

/** A client of ACS Call Automation without the SDK's retries, which have no deadline and would speak a message twice. */
export const connectToAcs = (connection: Connection, credential: TokenCredential): CallAutomationClient =>
  'connectionString' in connection
    ? // The settings accept plain http for loopback addresses only.
      new CallAutomationClient(connection.connectionString, { ...ONE_REQUEST, allowInsecureConnection: true })
    : new CallAutomationClient(connection.endpoint, credential, ONE_REQUEST);

const SURELY_NOT_DONE: ReadonlySet<Failure> = new Set(['capacity', 'unreachable']);
// After a limit of capacity, the queue decides when to ask again.
const CALL: Repeats = { after: new Set(['unanswered', 'unreachable']), tryMs: 4_500, tries: 3 };
// Without an answer it is not repeated, so one try may take longer.
const SPEAK: Repeats = { after: SURELY_NOT_DONE, tryMs: 10_000, tries: 3 };
// The SDK ignores the abort signal of this request.
const LISTEN: Repeats = { after: SURELY_NOT_DONE, tryMs: 5_000, tries: 2 };
const HANG_UP: Repeats = { after: SAFE_TO_REPEAT, tryMs: 4_000, tries: 4 };
const CHECK: Repeats = { after: SAFE_TO_REPEAT, tryMs: 5_000, tries: 2 };

/** The caller: an ACS number, or a Teams resource account (Teams Phone extensibility). */
type Caller = { readonly phoneNumber: PhoneNumber } | { readonly teamsResourceAccountId: string };

/** Settings of the provider. */
export interface AcsOptions {
  readonly caller: Caller;
  /** Text to speech. Without it, the call connects and stays silent. */
  readonly cognitiveServicesEndpoint: string;
  /** The callback paths are below it. Without a slash at its end. */
  readonly callbackBaseUrl: string;
}

/**
 * Calls through Azure Communication Services. All tries of one request to call, or to hang up, have the same repeatability id, with
 * which ACS acts once. Requests to speak cannot have such an id.
 */
export class AcsProvider implements PhoneProvider {
  readonly name = 'acs';
  readonly isIdempotent = true;
  readonly media: CallMedia;
  readonly #client: () => CallAutomationClient;
  readonly #options: AcsOptions;

  constructor(client: () => CallAutomationClient, options: AcsOptions) {
    this.#client = client;
    this.#options = options;
    this.media = acsMedia((callId) => client().getCallConnection(callId));
  }

  async call({ number, alertType, attempt, firstSentAt, callbackBaseUrl }: CallRequest): Promise<CallId> {
    const { caller, cognitiveServicesEndpoint, callbackBaseUrl: ownBaseUrl } = this.#options;
    const address = `${callbackBaseUrl ?? ownBaseUrl}/api/${alertType.callbackPath}`;
    const [source, teams] =
      'phoneNumber' in caller
        ? [{ sourceCallIdNumber: { phoneNumber: caller.phoneNumber } }, {}]
        : [{}, { teamsAppSource: { teamsAppId: caller.teamsResourceAccountId } }];
    const invite = { targetParticipant: { phoneNumber: number }, ...source };
    const options = {
      operationContext: formatCallContext(attempt),
      callIntelligenceOptions: { cognitiveServicesEndpoint },
      ...teams,
      requestOptions: repeatable(attempt.attemptId, firstSentAt),
    };
    const { callConnectionProperties } = await sendRepeatedly(CALL, async (abortSignal) =>
      once(async () => this.#client().createCall(invite, address, { ...options, abortSignal })),
    ).catch((error: unknown) => {
      throw error instanceof ProviderError ? new ProviderError(failedCallRequest(error.result)) : error;
    });
    const callId = parseCallId(callConnectionProperties.callConnectionId);
    if (callId === undefined) throw new ProviderError({ failure: 'unanswered', reason: 'unexpected answer' });
    return callId;
  }

  async hangUp(callId: CallId): Promise<HangUp> {
    const connection = this.#client().getCallConnection(callId);
    const requestOptions = repeatable(randomUUID(), Date.now());
    return hangUpRepeatedly(HANG_UP, async (abortSignal) =>
      once(async () => connection.hangUp(true, { abortSignal, requestOptions }), goneBy(OVER_OR_NOT_ESTABLISHED)),
    );
  }

  async check(): Promise<void> {
    const nobodysCall = this.#client().getCallConnection(randomUUID());
    try {
      await sendRepeatedly(CHECK, async (abortSignal) =>
        once(async () => nobodysCall.getCallConnectionProperties({ abortSignal })),
      );
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      const { result } = error;
      if (result.failure === 'gone') return;
      throw result.failure === 'forbidden' ? new ProviderError({ ...result, failure: 'set_up' }) : error;
    }
  }
}

/** Sub-codes: the call is over. */
const OVER: ReadonlySet<number | undefined> = new Set([8_522, 8_528]);
/** The call is over, or not yet in the state for the request. */
const NOT_IN_THAT_STATE: ReadonlySet<number | undefined> = new Set([8_500, 8_585]);
/** The answer to a hang-up: the call is over, or not established. */
const OVER_OR_NOT_ESTABLISHED: ReadonlySet<number | undefined> = new Set([8_501, 8_522, 8_528, 8_585]);
/** The pause until a call that has just connected accepts speech. */
const STATE_PAUSE_MS = 500;

const acsMedia = (connectionOf: (callId: CallId) => CallConnection): CallMedia => ({
  speak: async (callId, text, prompt) => {
    const source: TextSource = { kind: 'textSource', text, sourceLocale: 'en-US', voiceKind: VoiceKind.Female };
    const options = {
      loop: false,
      ...(prompt === undefined ? {} : { operationContext: formatCallContext(prompt) }),
      // Otherwise it would play after the current prompt.
      ...(prompt === undefined || prompt.prompt === MESSAGE ? {} : { interruptCallMediaOperation: true }),
    };
    const media = connectionOf(callId).getCallMedia();
    let wasTooEarly = false;
    // Some answers about a call that is over have the status 400, not 404.
    const readFailure = (result: FailedRequest): FailedRequest => {
      if (wasTooEarly || !NOT_IN_THAT_STATE.has(result.subCode)) return goneBy(OVER)(result);
      wasTooEarly = true;
      return { ...result, failure: 'capacity', waitMs: STATE_PAUSE_MS };
    };
    await sendRepeatedly(SPEAK, async (abortSignal) =>
      once(async () => media.playToAll([source], { ...options, abortSignal }), readFailure),
    );
  },
  listen: async (callId, number, attempt) => {
    const media = connectionOf(callId).getCallMedia();
    const operationContext = formatCallContext(attempt);
    await sendRepeatedly(LISTEN, async () =>
      once(async () => media.startContinuousDtmfRecognition({ phoneNumber: number }, { operationContext })),
    );
  },
});

// Replaces the SDK's own headers: it makes a new repeatability id for every request.
const repeatable = (id: string, firstSentAt: number) => ({
  customHeaders: {
    'Repeatability-Request-ID': id,
    'Repeatability-First-Sent': new Date(firstSentAt).toUTCString(),
  },
});

/** A failure with these sub-codes means, with any status, that the call is over. */
const goneBy =
  (subCodes: ReadonlySet<number | undefined>) =>
  (result: FailedRequest): FailedRequest =>
    subCodes.has(result.subCode) ? { ...result, failure: 'gone' } : result;

/**
 * Sends one try of a request.
 *
 * @param readFailure corrects a failure that means something else for this request
 * @throws {ProviderError}
 */
const once = async <Answer>(
  send: () => Promise<Answer>,
  readFailure = (result: FailedRequest): FailedRequest => result,
): Promise<Answer> => {
  try {
    return await send();
  } catch (error) {
    throw new ProviderError(readFailure(failedRequest(error, Date.now())));
  }
};
