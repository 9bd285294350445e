import type { IncomingMessage } from 'node:http';

import type { PostEvent } from '../phone-network/deliveries.ts';
import { type NetworkOptions, PhoneNetwork } from '../phone-network/phone-network.ts';
import { type Answer, jsonText, Refusal, type Reply } from '../phone-network/reply.ts';
import { AcsCall } from './acs-call.ts';
import { API_VERSION, createCallBody, listenBody, playBody, repeatabilityHeaders, signatureFault } from './wire.ts';

type ApiRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

const PATH = /^\/calling\/callConnections(?:\/([0-9a-f-]{36})(:play|:startContinuousDtmfRecognition|:terminate)?)?$/;
const FORBIDDEN = [403, '7504'] as const;

/** The requests of the app: signed, and by the rules of ACS. */
export class CallingApi {
  readonly network: PhoneNetwork<AcsCall>;
  /** Base64, as in the connection string. */
  readonly #accessKey: string;
  readonly #post: PostEvent<object>;
  /** The answers to repeatable requests, by their id. */
  readonly #answered = new Map<string, { readonly request: string; readonly answer: Answer }>();

  constructor(options: NetworkOptions, accessKey: string, post: PostEvent<object>) {
    this.network = new PhoneNetwork<AcsCall>(options, {
      bodyOf: ([, code], message) => ({ error: { code, message } }),
      malformed: [400, 'BadRequest'],
      noLine: [429, 'TooManyRequests'],
      setUp: { 401: [401, 'Denied'], 403: FORBIDDEN, number: FORBIDDEN },
      ofScenario: (code) => code,
    });
    this.#accessKey = accessKey;
    this.#post = post;
  }

  carryOut(request: ApiRequest, { pathname, searchParams }: URL, body: string): Reply {
    const fault = signatureFault(request, body, this.#accessKey);
    if (fault !== undefined) throw new Refusal([401, 'Denied'], fault);
    this.network.mustBeSetUp([401, 403, 'number']);
    if (searchParams.get('api-version') !== API_VERSION) {
      throw new Refusal([400, 'UnsupportedApiVersion'], 'api-version is missing or unknown');
    }
    const [path, callId, action = ''] = PATH.exec(pathname) ?? [];
    if (path === undefined) throw new Refusal([404, 'NotFound'], 'no such operation');
    switch (`${request.method} ${callId === undefined ? '' : 'call'}${action}`) {
      case 'POST ':
        return this.#createCall(request, body);
      case 'POST call:play':
        return this.#play(this.#connected(callId), body);
      case 'POST call:startContinuousDtmfRecognition':
        return this.#listen(this.#connected(callId), body);
      case 'POST call:terminate':
        return this.#hangUp(request, callId, body);
      case 'GET call':
        // The app asks whether there is such a call.
        return { status: 200, body: this.#find(callId, false).properties() };
      default:
        throw new Refusal([404, 'NotFound'], 'no such operation');
    }
  }

  #createCall({ headers }: ApiRequest, text: string): Reply {
    const { 'repeatability-request-id': requestId } = repeatabilityHeaders.parse(headers);
    const body = jsonText.pipe(createCallBody).parse(text);
    const earlier = this.#earlierAnswer(requestId, text);
    if (earlier !== undefined) return earlier;
    return this.network.place(
      body.targets[0].phoneNumber.value,
      (parts) => new AcsCall(parts, body, this.#post),
      (call) => this.#remember(requestId, text, { status: 201, body: call.properties() }),
    );
  }

  #play(call: AcsCall, text: string): Reply {
    const body = jsonText.pipe(playBody).parse(text);
    return this.network.act(call, 'play', () => call.play(body), { status: 202 });
  }

  #listen(call: AcsCall, text: string): Reply {
    const { targetParticipant, operationContext } = jsonText.pipe(listenBody).parse(text);
    if (targetParticipant.phoneNumber.value !== call.to) {
      throw new Refusal([400, '8500'], 'Not a participant of the call.');
    }
    return this.network.act(call, 'listen', () => call.listen(operationContext), { status: 200 });
  }

  #hangUp({ headers }: ApiRequest, callId: string | undefined, text: string): Reply {
    const { 'repeatability-request-id': requestId } = repeatabilityHeaders.parse(headers);
    if (text !== '') throw new Refusal([400, 'BadRequest'], 'terminate has no body');
    const request = `hang up ${callId}`;
    const earlier = this.#earlierAnswer(requestId, request);
    if (earlier !== undefined) return earlier;
    const call = this.#find(callId);
    const answer = { status: 204 };
    const end = (): void => {
      this.#remember(requestId, request, answer);
      call.end('app');
    };
    return this.network.act(call, 'hangUp', end, answer);
  }

  /** @param request the same in all repeats */
  #earlierAnswer(requestId: string, request: string): Answer | undefined {
    const earlier = this.#answered.get(requestId);
    if (earlier === undefined) return undefined;
    if (earlier.request === request) return { ...earlier.answer, headers: { 'repeatability-result': 'accepted' } };
    throw new Refusal([400, 'BadRequest'], 'the repeatability id was used for another request');
  }

  #remember(requestId: string, request: string, answer: Answer): Answer {
    this.#answered.set(requestId, { request, answer });
    return answer;
  }

  #connected(callId: string | undefined): AcsCall {
    const call = this.#find(callId);
    if (call.state === 'connected') return call;
    throw new Refusal([400, '8501'], 'Action is invalid when call is not in Established state.');
  }

  #find(callId = '', isMistake = true): AcsCall {
    const call = this.network.find(callId);
    if (call !== undefined && call.state !== 'ended') return call;
    // The app knows that it hung up itself; it may not know yet that the callee did.
    const isKnown = call === undefined || call.endedBy === 'app';
    throw new Refusal([404, '8522'], 'Call not found.', isMistake && isKnown);
  }
}
