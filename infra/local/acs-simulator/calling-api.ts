import type { IncomingMessage, ServerResponse } from 'node:http';

import { z } from 'zod';

import type { Deliveries } from './deliveries.ts';
import { type Answer, readBody, send } from './http-exchange.ts';
import { signatureFault } from './request-signature.ts';
import type { Lines } from './lines.ts';
import { type Fault, scenarioOf } from './scenarios.ts';
import { type Pace, SimulatedCall } from './simulated-call.ts';
import type { RefusedRequest, SimulatorLog, TurnedAway } from './story.ts';
import { API_VERSION, createCallBody, errorBody, listenBody, playBody, repeatabilityHeaders } from './wire.ts';

const MOST_BODY_BYTES = 1024 * 1024;

/** A request that ACS would not take: the app should not have made it. */
class Refusal extends Error {
  override readonly name: string = 'Refusal';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** A request about a call that the app could not know to be over. */
class TooLate extends Refusal {
  override readonly name = 'TooLate';
}

/** What the requests depend on. */
export interface CallingApiOptions {
  /** Base64, as in the connection string. */
  readonly accessKey: string;
  readonly pace: Pace;
  readonly lines: Lines;
  /** False where a request with a repeatability id of before is carried out again. */
  readonly honoursRepeatabilityIds: boolean;
  readonly deliveries: Deliveries;
  readonly print: (line: string) => void;
}

/** The requests that the app may make: signed, and each by ACS's rules. */
export class CallingApi {
  /** When each call's last request to speak arrived, in milliseconds since 1970. */
  readonly playsAt = new Map<string, number>();
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
  refuse(request: string, status: number, reason: string): void {
    this.#refused.push({ at: new Date().toISOString(), request, status, reason });
    this.#options.print(`refused: ${request}: ${reason}`);
  }

  stop(): void {
    for (const call of this.#calls.values()) call.stop();
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await readBody(request, MOST_BODY_BYTES);
      if (body === undefined) throw new Refusal(413, 'TooLarge', 'the body is too large');
      const answer = this.#route(request, body);
      if (answer === 'hangs') return;
      if (answer === 'answer lost') request.socket.destroy();
      else send(response, answer);
    } catch (error) {
      const { status, code, message } =
        error instanceof Refusal ? error : { status: 500, code: 'Simulator', message: String(error) };
      if (!(error instanceof TooLate)) {
        const path = new URL(request.url ?? '/', 'http://simulator').pathname;
        this.refuse(`${request.method ?? ''} ${path}`, status, message);
      }
      send(response, { status, body: errorBody(code, message) });
    }
  }

  #route(request: IncomingMessage, body: string): Answer | 'hangs' | 'answer lost' {
    const fault = signatureFault(request, body, this.#options.accessKey);
    if (fault !== undefined) throw new Refusal(401, 'Denied', fault);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://simulator');
    if (searchParams.get('api-version') !== API_VERSION) {
      throw new Refusal(400, 'UnsupportedApiVersion', 'api-version is missing or unknown');
    }
    const path =
      /^\/calling\/callConnections(?:\/([0-9a-f-]{36}))?(:play|:startContinuousDtmfRecognition|:terminate)?$/.exec(
        pathname,
      );
    const [, callId, action] = path ?? [];
    if (request.method === 'POST' && path !== null) {
      if (callId === undefined && action === undefined) return this.#createCall(request, body);
      if (callId !== undefined && action === ':play') return this.#play(callId, body);
      if (callId !== undefined && action === ':startContinuousDtmfRecognition') return this.#listen(callId, body);
      if (callId !== undefined && action === ':terminate') return this.#terminate(callId, request, body);
    }
    throw new Refusal(404, 'NotFound', 'no such operation');
  }

  #createCall(request: IncomingMessage, text: string): Answer | 'hangs' | 'answer lost' {
    const requestId = repeatabilityId(request);
    const body = parse(createCallBody, text);
    const to = body.targets[0].phoneNumber.value;
    const earlier = this.#earlier(requestId, text);
    if (earlier !== undefined) return losesEveryAnswer(to) ? 'answer lost' : earlier;
    const fault = this.#fault(to, 'call');
    if (fault === 'hangs') return fault;
    if (fault !== undefined && fault !== 'answer lost') return answerOf(fault);

    const calls = [...this.#calls.values()];
    const refusal = this.#options.lines.refusal(calls.filter(({ state }) => state !== 'ended').length);
    if (refusal !== undefined) {
      this.#turnedAway.push({ at: new Date().toISOString(), to });
      this.#options.print(`${to}: no line is free`);
      if ('answer' in refusal) return answerOf(refusal);
    }
    const call = new SimulatedCall({
      ...this.#options,
      body,
      earlierCalls: calls.filter((other) => other.to === to && other.rang).length,
      ...refusal,
    });
    this.#calls.set(call.id, call);
    const answer = { status: 201, body: call.properties() };
    this.#answered.set(requestId, { body: text, answer });
    call.note('request', 'createCall', fault ?? '201');
    if (call.rang) this.#options.print(`${to} rings (${call.scenario.name})`);
    call.begin();
    return fault ?? answer;
  }

  #play(callId: string, text: string): Answer | 'hangs' | 'answer lost' {
    this.playsAt.set(callId, performance.timeOrigin + performance.now());
    const call = this.#find(callId);
    call.requests.play += 1;
    const body = parse(playBody, text);
    if (call.state !== 'connected') {
      throw new Refusal(400, '8501', 'Action is invalid when call is not in Established state.');
    }
    const fault = this.#fault(call.to, 'play');
    call.note('request', 'play', fault === undefined ? '202' : nameOf(fault));
    if (fault !== undefined && fault !== 'answer lost') call.staysSilent();
    if (fault === 'hangs') return fault;
    if (fault !== undefined && fault !== 'answer lost') return answerOf(fault);
    call.play(body);
    return fault ?? { status: 202 };
  }

  #listen(callId: string, text: string): Answer | 'hangs' | 'answer lost' {
    const call = this.#find(callId);
    call.requests.listen += 1;
    const { targetParticipant, operationContext } = parse(listenBody, text);
    if (targetParticipant.phoneNumber.value !== call.to)
      throw new Refusal(400, '8500', 'Not a participant of the call.');
    if (call.state !== 'connected') {
      throw new Refusal(400, '8501', 'Action is invalid when call is not in Established state.');
    }
    const fault = this.#fault(call.to, 'listen');
    call.note('request', 'listen', fault === undefined ? '200' : nameOf(fault));
    if (fault === 'hangs') return fault;
    if (fault !== undefined && fault !== 'answer lost') return answerOf(fault);
    call.listen(operationContext);
    return fault ?? { status: 200 };
  }

  #terminate(callId: string, request: IncomingMessage, text: string): Answer | 'hangs' | 'answer lost' {
    const requestId = repeatabilityId(request);
    if (text !== '') throw new Refusal(400, 'BadRequest', 'terminate has no body');
    const earlier = this.#earlier(requestId, callId);
    if (earlier !== undefined) return earlier;
    const call = this.#find(callId);
    call.requests.hangUp += 1;
    const fault = this.#fault(call.to, 'hangUp');
    call.note('request', 'hangUp', fault === undefined ? '204' : nameOf(fault));
    if (fault === 'hangs') return fault;
    if (fault !== undefined && fault !== 'answer lost') {
      if (fault.isCarriedOut === true) call.terminate();
      return answerOf(fault);
    }
    const answer = { status: 204 };
    this.#answered.set(requestId, { body: callId, answer });
    call.terminate();
    return fault ?? answer;
  }

  #find(callId: string): SimulatedCall {
    const call = this.#calls.get(callId);
    if (call !== undefined && call.state !== 'ended') return call;
    // The app knows that it hung up itself; it may not know yet that the callee did.
    const AnyRefusal = call === undefined || call.endedBy === 'app' ? Refusal : TooLate;
    throw new AnyRefusal(404, '8522', 'Call not found.');
  }

  #earlier(requestId: string, body: string): Answer | undefined {
    const earlier = this.#answered.get(requestId);
    if (earlier === undefined || !this.#options.honoursRepeatabilityIds) return undefined;
    if (earlier.body !== body)
      throw new Refusal(400, 'BadRequest', 'the repeatability id was used for another request');
    return { ...earlier.answer, headers: { 'repeatability-result': 'accepted' } };
  }

  /** The next fault of the number's scenario for this kind of request. */
  #fault(to: string, kind: 'call' | 'play' | 'listen' | 'hangUp'): Fault | undefined {
    const { faults } = scenarioOf(to);
    const planned = faults?.[kind] ?? [];
    const met = this.#met.get(`${kind} ${to}`) ?? 0;
    this.#met.set(`${kind} ${to}`, met + 1);
    return faults?.always === true ? planned[met % planned.length] : planned[met];
  }
}

const losesEveryAnswer = (to: string): boolean => {
  const { faults } = scenarioOf(to);
  return faults?.always === true && faults.call?.at(-1) === 'answer lost';
};

const answerOf = ({ answer, code, retryAfterSeconds }: Exclude<Fault, string>): Answer => ({
  status: answer,
  body: errorBody(code ?? 'Simulated', 'This is what the number asked for.'),
  ...(retryAfterSeconds === undefined ? {} : { headers: { 'retry-after': String(retryAfterSeconds) } }),
});

const nameOf = (fault: Fault): string => (typeof fault === 'string' ? fault : String(fault.answer));

const repeatabilityId = (request: IncomingMessage): string => {
  const headers = repeatabilityHeaders.safeParse(request.headers);
  if (!headers.success) throw new Refusal(400, 'BadRequest', z.prettifyError(headers.error));
  return headers.data['repeatability-request-id'];
};

const parse = <Schema extends z.ZodType>(schema: Schema, text: string): z.infer<Schema> => {
  const body = schema.safeParse(parseJson(text));
  if (!body.success) throw new Refusal(400, 'BadRequest', z.prettifyError(body.error));
  return body.data;
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(400, 'BadRequest', 'the body is not JSON');
  }
};
