import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';

import { z } from 'zod';

import type { Deliveries } from './deliveries.ts';
import { type Fault, type RequestKind, scenarioOf } from './scenarios.ts';
import { type Pace, SimulatedCall } from './simulated-call.ts';
import type { RefusedRequest, SimulatorLog, TurnedAway } from './story.ts';
import {
  type Answer,
  API_VERSION,
  createCallBody,
  errorBody,
  jsonText,
  listenBody,
  playBody,
  repeatabilityHeaders,
  send,
  signatureFault,
} from './wire.ts';

/** A request that ACS would not take. */
class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string;
  /** False where the app could not know better: the call has just ended, or all lines are taken. */
  readonly isMistake: boolean;

  constructor(status: number, code: string, message: string, isMistake = true) {
    super(message);
    this.status = status;
    this.code = code;
    this.isMistake = isMistake;
  }
}

type ApiRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;
type Reply = Answer | 'hangs' | 'answer lost';

const PATH = /^\/calling\/callConnections(?:\/([0-9a-f-]{36})(:play|:startContinuousDtmfRecognition|:terminate))?$/;

/** What the requests depend on. */
export interface CallingApiOptions {
  /** Base64, as in the connection string. */
  readonly accessKey: string;
  readonly pace: Pace;
  /** How many calls there may be at a time. A line is taken from the request until the call's end. */
  readonly lines: number;
  readonly deliveries: Pick<Deliveries, 'post' | 'later'>;
  readonly print: (line: string) => void;
}

/** The requests that the app may make: signed, and each by ACS's rules. */
export class CallingApi {
  readonly #options: CallingApiOptions;
  readonly #calls = new Map<string, SimulatedCall>();
  readonly #refused: RefusedRequest[] = [];
  readonly #turnedAway: TurnedAway[] = [];
  /** What repeatable requests were answered with, by their id. */
  readonly #answered = new Map<string, { readonly body: string; readonly answer: Answer }>();
  /** How many faults each number's requests have met. */
  readonly #met = new Map<string, number>();

  constructor(options: CallingApiOptions) {
    this.#options = options;
  }

  log(): Omit<SimulatorLog, 'keyFetches' | 'published'> {
    return {
      calls: [...this.#calls.values()].map((call) => call.told()),
      refused: [...this.#refused],
      turnedAway: [...this.#turnedAway],
    };
  }

  /** Remembers a request that the app should not have made. */
  refuse({ method = '', url = '/' }: ApiRequest, status: number, reason: string): void {
    const request = `${method} ${pathOf(url).pathname}`;
    this.#refused.push({ at: new Date().toISOString(), request, status, reason });
    this.#options.print(`refused: ${request}: ${reason}`);
  }

  stop(): void {
    for (const call of this.#calls.values()) call.stop();
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = this.reply(request, await textOf(request));
    if (reply === 'hangs') return;
    if (reply === 'answer lost') request.socket.destroy();
    else send(response, reply);
  }

  /** Carries a request out, or refuses it and remembers that. */
  reply(request: ApiRequest, body: string): Reply {
    try {
      return this.#carryOut(request, body);
    } catch (error) {
      const { status, code, message, isMistake } =
        error instanceof Refusal ? error : new Refusal(500, 'Simulator', String(error));
      if (isMistake) this.refuse(request, status, message);
      return { status, body: errorBody(code, message) };
    }
  }

  #carryOut(request: ApiRequest, body: string): Reply {
    const fault = signatureFault(request, body, this.#options.accessKey);
    if (fault !== undefined) throw new Refusal(401, 'Denied', fault);
    const { pathname, searchParams } = pathOf(request.url);
    if (searchParams.get('api-version') !== API_VERSION) {
      throw new Refusal(400, 'UnsupportedApiVersion', 'api-version is missing or unknown');
    }
    const path = request.method === 'POST' ? PATH.exec(pathname) : null;
    if (path === null) throw new Refusal(404, 'NotFound', 'no such operation');
    const [, callId, action] = path;
    if (callId === undefined) return this.#createCall(request, body);
    if (action === ':play') return this.#play(callId, body);
    return action === ':terminate' ? this.#terminate(callId, request, body) : this.#listen(callId, body);
  }

  #createCall(request: ApiRequest, text: string): Reply {
    const requestId = repeatabilityId(request);
    const body = parse(createCallBody, text);
    const to = body.targets[0].phoneNumber.value;
    const earlier = this.#earlier(requestId, text);
    if (earlier !== undefined) return losesEveryAnswer(to) ? 'answer lost' : earlier;
    const fault = this.#fault(to, 'createCall');
    if (fault !== undefined && !isCarriedOut(fault)) return replyTo(fault);

    const { lines, print } = this.#options;
    const calls = [...this.#calls.values()];
    if (calls.filter(({ state }) => state !== 'ended').length >= lines) {
      this.#turnedAway.push({ at: new Date().toISOString(), to });
      print(`${to}: no line is free`);
      throw new Refusal(429, 'TooManyRequests', 'No line is free.', false);
    }
    const earlierCalls = calls.filter((other) => other.to === to).length;
    const call = new SimulatedCall({ ...this.#options, body, earlierCalls });
    this.#calls.set(call.id, call);
    const answer = { status: 201, body: call.properties() };
    this.#answered.set(requestId, { body: text, answer });
    call.note('request', 'createCall', fault === undefined ? '201' : nameOf(fault));
    print(`${to} rings (${call.scenario.name})`);
    call.begin();
    return fault === undefined ? answer : replyTo(fault);
  }

  #play(callId: string, text: string): Reply {
    const call = this.#find(callId);
    const body = parse(playBody, text);
    mustBeConnected(call);
    return this.#act(call, 'play', 202, () => call.play(body));
  }

  #listen(callId: string, text: string): Reply {
    const call = this.#find(callId);
    const { targetParticipant, operationContext } = parse(listenBody, text);
    if (targetParticipant.phoneNumber.value !== call.to) {
      throw new Refusal(400, '8500', 'Not a participant of the call.');
    }
    mustBeConnected(call);
    return this.#act(call, 'listen', 200, () => call.listen(operationContext));
  }

  #terminate(callId: string, request: ApiRequest, text: string): Reply {
    const requestId = repeatabilityId(request);
    if (text !== '') throw new Refusal(400, 'BadRequest', 'terminate has no body');
    const earlier = this.#earlier(requestId, callId);
    if (earlier !== undefined) return earlier;
    const call = this.#find(callId);
    return this.#act(call, 'hangUp', 204, () => {
      this.#answered.set(requestId, { body: callId, answer: { status: 204 } });
      call.terminate();
    });
  }

  /** Carries a request about a call out and answers it so, unless its number's scenario has a fault for it. */
  #act(call: SimulatedCall, kind: Exclude<RequestKind, 'createCall'>, status: number, carryOut: () => void): Reply {
    const fault = this.#fault(call.to, kind);
    call.note('request', kind, fault === undefined ? String(status) : nameOf(fault));
    if (fault === undefined || isCarriedOut(fault)) carryOut();
    else if (kind === 'play') call.staysSilent();
    return fault === undefined ? { status } : replyTo(fault);
  }

  #find(callId: string): SimulatedCall {
    const call = this.#calls.get(callId);
    if (call !== undefined && call.state !== 'ended') return call;
    // The app knows that it hung up itself; it may not know yet that the callee did.
    throw new Refusal(404, '8522', 'Call not found.', call === undefined || call.endedBy === 'app');
  }

  #earlier(requestId: string, body: string): Answer | undefined {
    const earlier = this.#answered.get(requestId);
    if (earlier === undefined) return undefined;
    if (earlier.body !== body) {
      throw new Refusal(400, 'BadRequest', 'the repeatability id was used for another request');
    }
    return { ...earlier.answer, headers: { 'repeatability-result': 'accepted' } };
  }

  /** The next fault of the number's scenario for this kind of request. */
  #fault(to: string, kind: RequestKind): RealFault | undefined {
    const { faults } = scenarioOf(to);
    const planned = faults?.[kind] ?? [];
    const met = this.#met.get(`${kind} ${to}`) ?? 0;
    this.#met.set(`${kind} ${to}`, met + 1);
    const fault = faults?.always === true ? planned[met % planned.length] : planned[met];
    return fault === 'none' ? undefined : fault;
  }
}

type RealFault = Exclude<Fault, 'none'>;

const isCarriedOut = (fault: RealFault): boolean =>
  typeof fault === 'string' ? fault === 'answer lost' : fault.isCarriedOut === true;

const losesEveryAnswer = (to: string): boolean => {
  const { faults } = scenarioOf(to);
  return faults?.always === true && faults.createCall?.at(-1) === 'answer lost';
};

const replyTo = (fault: RealFault): Reply =>
  typeof fault === 'string'
    ? fault
    : {
        status: fault.answer,
        body: errorBody(fault.code, 'This is what the number asked for.'),
        ...(fault.retryAfterSeconds === undefined ? {} : { headers: { 'retry-after': `${fault.retryAfterSeconds}` } }),
      };

const nameOf = (fault: RealFault): string => (typeof fault === 'string' ? fault : String(fault.answer));

const mustBeConnected = ({ state }: SimulatedCall): void => {
  if (state !== 'connected') {
    throw new Refusal(400, '8501', 'Action is invalid when call is not in Established state.');
  }
};

const pathOf = (url = '/'): URL => new URL(url, 'http://simulator');

const repeatabilityId = (request: ApiRequest): string => {
  const headers = repeatabilityHeaders.safeParse(request.headers);
  if (!headers.success) throw new Refusal(400, 'BadRequest', z.prettifyError(headers.error));
  return headers.data['repeatability-request-id'];
};

const parse = <Schema extends z.ZodType>(schema: Schema, text: string): z.infer<Schema> => {
  const body = jsonText.pipe(schema).safeParse(text);
  if (!body.success) throw new Refusal(400, 'BadRequest', z.prettifyError(body.error));
  return body.data;
};
