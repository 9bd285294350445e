import type { IncomingMessage } from 'node:http';

import { type NetworkOptions, PhoneNetwork } from '../phone-network/phone-network.ts';
import { type Answer, jsonText, Refusal, type Reply } from '../phone-network/reply.ts';
import { AcsCall, type AcsEvent } from './acs-call.ts';
import { API_VERSION, createCallBody, listenBody, playBody, repeatabilityHeaders, signatureFault } from './wire.ts';

type ApiRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

const PATH = /^\/calling\/callConnections(?:\/([0-9a-f-]{36})(:play|:startContinuousDtmfRecognition|:terminate)?)?$/;

/**
 * The requests of the app: signed, and by the rules of ACS.
 *
 * @param accessKey Base64, as in the connection string
 */
export const callingApi = (options: NetworkOptions<AcsEvent>, accessKey: string) => {
  const network = new PhoneNetwork<AcsCall, AcsEvent>(options, {
    bodyOf: ([, code], message) => ({ error: { code, message } }),
    codes: {
      malformed: [400, 'BadRequest'],
      'no line': [429, 'TooManyRequests'],
      401: [401, 'Denied'],
      403: [403, '7504'],
      number: [403, '7504'],
    },
    ofScenario: (code) => code,
  });
  /** The answers to repeatable requests, by their id. A repeat has the same content. */
  const answered = new Map<string, { readonly content: string; readonly answer: Answer }>();

  const earlierAnswer = (requestId: string, content: string): Answer | undefined => {
    const earlier = answered.get(requestId);
    if (earlier === undefined) return undefined;
    if (earlier.content === content) return { ...earlier.answer, headers: { 'repeatability-result': 'accepted' } };
    throw new Refusal([400, 'BadRequest'], 'the repeatability id was used for another request');
  };

  const find = (callId: string, isMistake = true): AcsCall => {
    const call = network.find(callId);
    if (call !== undefined && call.state !== 'ended') return call;
    // The app knows that it hung up itself; it may not know yet that the callee did.
    const isKnown = call === undefined || call.endedBy === 'app';
    throw new Refusal([404, '8522'], 'Call not found.', isMistake && isKnown);
  };

  const connected = (callId: string): AcsCall => {
    const call = find(callId);
    if (call.state === 'connected') return call;
    throw new Refusal([400, '8501'], 'Action is invalid when call is not in Established state.');
  };

  const create = ({ headers }: ApiRequest, text: string): Reply => {
    const { 'repeatability-request-id': requestId } = repeatabilityHeaders.parse(headers);
    const body = jsonText.pipe(createCallBody).parse(text);
    const earlier = earlierAnswer(requestId, text);
    if (earlier !== undefined) return earlier;
    return network.place(body.targets[0].phoneNumber.value, (parts) => {
      const call = new AcsCall(parts, body);
      answered.set(requestId, { content: text, answer: { status: 201, body: call.resource() } });
      return call;
    });
  };

  const play = (call: AcsCall, text: string): Reply => {
    const body = jsonText.pipe(playBody).parse(text);
    return network.act(call, 'play', () => call.play(body), { status: 202 });
  };

  const listen = (call: AcsCall, text: string): Reply => {
    const { targetParticipant, operationContext } = jsonText.pipe(listenBody).parse(text);
    if (targetParticipant.phoneNumber.value !== call.to) throw new Refusal([400, '8500'], 'Not a participant.');
    return network.act(call, 'listen', () => call.listen(operationContext), { status: 200 });
  };

  const hangUp = ({ headers }: ApiRequest, callId: string, text: string): Reply => {
    const { 'repeatability-request-id': requestId } = repeatabilityHeaders.parse(headers);
    if (text !== '') throw new Refusal([400, 'BadRequest'], 'terminate has no body');
    const earlier = earlierAnswer(requestId, callId);
    if (earlier !== undefined) return earlier;
    const call = find(callId);
    const answer = { status: 204 };
    const end = (): void => {
      answered.set(requestId, { content: callId, answer });
      call.end('app');
    };
    return network.act(call, 'hangUp', end, answer);
  };

  const carryOut = (request: ApiRequest, { pathname, searchParams }: URL, body: string): Reply => {
    const fault = signatureFault(request, body, accessKey);
    if (fault !== undefined) throw new Refusal([401, 'Denied'], fault);
    network.mustBeSetUp(401, 403, 'number');
    if (searchParams.get('api-version') !== API_VERSION) {
      throw new Refusal([400, 'UnsupportedApiVersion'], 'api-version is missing or unknown');
    }
    const [path, callId = '', action = ''] = PATH.exec(pathname) ?? [];
    switch (`${request.method} ${path === undefined ? 'unknown' : callId && 'call'}${action}`) {
      case 'POST ':
        return create(request, body);
      case 'POST call:play':
        return play(connected(callId), body);
      case 'POST call:startContinuousDtmfRecognition':
        return listen(connected(callId), body);
      case 'POST call:terminate':
        return hangUp(request, callId, body);
      case 'GET call':
        // The app asks whether there is such a call.
        return { status: 200, body: find(callId, false).resource() };
      default:
        throw new Refusal([404, 'NotFound'], 'no such operation');
    }
  };

  return { network, carryOut };
};
