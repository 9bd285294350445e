import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import { z } from 'zod';

import { type Answer, jsonText, Refusal, type Reply } from '../phone-network/http-answer.ts';
import type { FaultAnswer, PhoneNetwork } from '../phone-network/phone-network.ts';
import type { RequestKind } from '../phone-network/scenarios.ts';
import { AcsCall, type PostEvent } from './acs-call.ts';
import {
  API_VERSION,
  createCallBody,
  errorBody,
  listenBody,
  playBody,
  repeatabilityHeaders,
  signatureFault,
} from './wire.ts';

const refusal = (status: number, code: string, reason: string, isMistake = true): Refusal =>
  new Refusal({ status, body: errorBody(code, reason) }, reason, isMistake);

type ApiRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

const PATH = /^\/calling\/callConnections(?:\/([0-9a-f-]{36})(:play|:startContinuousDtmfRecognition|:terminate)?)?$/;

/** The requests that the app may make: signed, and each by ACS's rules. */
export class CallingApi {
  readonly #network: PhoneNetwork<AcsCall>;
  /** Base64, as in the connection string. */
  readonly #accessKey: string;
  readonly #post: PostEvent;
  /** What repeatable requests were answered with, by their id. */
  readonly #answered = new Map<string, { readonly body: string; readonly answer: Answer }>();

  constructor(network: PhoneNetwork<AcsCall>, accessKey: string, post: PostEvent) {
    this.#network = network;
    this.#accessKey = accessKey;
    this.#post = post;
  }

  /** Carries a request out, or refuses it and remembers that. */
  reply(request: ApiRequest, body: string): Reply {
    const { pathname } = pathOf(request.url);
    return this.#network.reply(`${request.method ?? ''} ${pathname}`, () => this.#carryOut(request, body));
  }

  #carryOut(request: ApiRequest, body: string): Reply {
    const fault = signatureFault(request, body, this.#accessKey);
    if (fault !== undefined) throw refusal(401, 'Denied', fault);
    const { setUpFault } = this.#network;
    if (setUpFault === 401) throw refusal(401, 'Denied', 'The simulator was told to refuse.', false);
    if (setUpFault !== undefined) throw refusal(403, '7504', 'The simulator was told to refuse.', false);
    const { pathname, searchParams } = pathOf(request.url);
    if (searchParams.get('api-version') !== API_VERSION) {
      throw refusal(400, 'UnsupportedApiVersion', 'api-version is missing or unknown');
    }
    const [path, callId, action] = PATH.exec(pathname) ?? [];
    const asked = `${request.method} ${callId === undefined ? '' : 'call'}${action ?? ''}`;
    if (path === undefined) throw refusal(404, 'NotFound', 'no such operation');
    switch (asked) {
      case 'POST ':
        return this.#createCall(request, body);
      case 'POST call:play':
        return this.#play(this.#find(callId), parse(playBody, body));
      case 'POST call:startContinuousDtmfRecognition':
        return this.#listen(this.#find(callId), parse(listenBody, body));
      case 'POST call:terminate':
        return this.#terminate(callId ?? '', request, body);
      case 'GET call':
        // Whoever asks wants to know whether there is such a call.
        return { status: 200, body: this.#find(callId, false).properties() };
      default:
        throw refusal(404, 'NotFound', 'no such operation');
    }
  }

  #createCall(request: ApiRequest, text: string): Reply {
    const requestId = repeatabilityId(request);
    const body = parse(createCallBody, text);
    const to = body.targets[0].phoneNumber.value;
    const earlier = this.#earlier(requestId, text);
    if (earlier !== undefined) return earlier;
    const met = this.#network.meet(to, 'createCall', faultAnswer);
    if (met?.isCarriedOut === false) return met.reply;
    const line = this.#network.lineTo(to);
    if (line === undefined) throw refusal(429, 'TooManyRequests', 'No line is free.', false);
    const from = body.sourceCallerIdNumber?.value ?? body.teamsAppSource?.appId ?? '';
    const parts = { ...line, id: randomUUID(), to, from, callbackUri: body.callbackUri };
    const call = new AcsCall(parts, body, randomUUID(), this.#post);
    this.#network.add(call, met?.name ?? '201');
    const answer = { status: 201, body: call.properties() };
    this.#answered.set(requestId, { body: text, answer });
    call.begin();
    return met?.reply ?? answer;
  }

  #play(call: AcsCall, body: z.output<typeof playBody>): Reply {
    mustBeConnected(call);
    return this.#act(call, 'play', 202, () => call.play(body));
  }

  #listen(call: AcsCall, { targetParticipant, operationContext }: z.output<typeof listenBody>): Reply {
    if (targetParticipant.phoneNumber.value !== call.to) {
      throw refusal(400, '8500', 'Not a participant of the call.');
    }
    mustBeConnected(call);
    return this.#act(call, 'listen', 200, () => call.listen(operationContext));
  }

  #terminate(callId: string, request: ApiRequest, text: string): Reply {
    const requestId = repeatabilityId(request);
    if (text !== '') throw refusal(400, 'BadRequest', 'terminate has no body');
    const earlier = this.#earlier(requestId, callId);
    if (earlier !== undefined) return earlier;
    const call = this.#find(callId);
    return this.#act(call, 'hangUp', 204, () => {
      this.#answered.set(requestId, { body: callId, answer: { status: 204 } });
      call.end('app');
    });
  }

  /** Carries a request about a call out and answers it so, unless its number's scenario has a fault for it. */
  #act(call: AcsCall, kind: Exclude<RequestKind, 'createCall'>, status: number, carryOut: () => void): Reply {
    const met = this.#network.meet(call.to, kind, faultAnswer);
    call.note('request', kind, met?.name ?? String(status));
    if (met?.isCarriedOut !== false) carryOut();
    return met?.reply ?? { status };
  }

  #find(callId = '', isMistake = true): AcsCall {
    const call = this.#network.find(callId);
    if (call !== undefined && call.state !== 'ended') return call;
    // The app knows that it hung up itself; it may not know yet that the callee did.
    throw refusal(404, '8522', 'Call not found.', isMistake && (call === undefined || call.endedBy === 'app'));
  }

  #earlier(requestId: string, body: string): Answer | undefined {
    const earlier = this.#answered.get(requestId);
    if (earlier === undefined) return undefined;
    if (earlier.body !== body) {
      throw refusal(400, 'BadRequest', 'the repeatability id was used for another request');
    }
    return { ...earlier.answer, headers: { 'repeatability-result': 'accepted' } };
  }
}

const faultAnswer: FaultAnswer = ({ answer, code, retryAfterSeconds }) => ({
  status: answer,
  body: errorBody(code, 'This is what the number asked for.'),
  ...(retryAfterSeconds === undefined ? {} : { headers: { 'retry-after': `${retryAfterSeconds}` } }),
});

const mustBeConnected = ({ state }: AcsCall): void => {
  if (state !== 'connected') {
    throw refusal(400, '8501', 'Action is invalid when call is not in Established state.');
  }
};

const pathOf = (url = '/'): URL => new URL(url, 'http://simulator');

const repeatabilityId = (request: ApiRequest): string => {
  const headers = repeatabilityHeaders.safeParse(request.headers);
  if (!headers.success) throw refusal(400, 'BadRequest', z.prettifyError(headers.error));
  return headers.data['repeatability-request-id'];
};

const parse = <Schema extends z.ZodType>(schema: Schema, text: string): z.infer<Schema> => {
  const body = jsonText.pipe(schema).safeParse(text);
  if (!body.success) throw refusal(400, 'BadRequest', z.prettifyError(body.error));
  return body.data;
};
