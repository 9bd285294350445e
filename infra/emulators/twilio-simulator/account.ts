import { randomBytes } from 'node:crypto';

import { z } from 'zod';

import { type Fault, type RequestKind, scenarioOf } from '../acs-simulator/scenarios.ts';
import type { RefusedRequest, TurnedAway } from '../acs-simulator/story.ts';
import { refusalOf } from './endings.ts';
import { type CallRequest, type Pace, SimulatedCall } from './simulated-call.ts';
import type { Webhooks } from './webhooks.ts';

/** What the account's requests depend on. */
export interface AccountOptions {
  readonly accountSid: string;
  /** The numbers that may call. */
  readonly ownNumbers: readonly string[];
  readonly pace: Pace;
  /** How many calls there may be at a time, queued ones included. */
  readonly lines: number;
  /** How many calls are started a second; the others wait in the account's queue. */
  readonly callsPerSecond: number;
  readonly webhooks: Pick<Webhooks, 'post'>;
  readonly print: (line: string) => void;
}

/** A request to the API. */
export interface ApiRequest {
  readonly method: string;
  /** Below the account, such as `/Calls.json`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
}

/** What it is answered with. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: object;
}

/** An answer, or what happens in place of one. */
export type ApiReply = ApiAnswer | 'hangs' | 'answer lost';

/** A request that Twilio would not carry out. */
class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: number;
  /** False where the app could not know better: the call has just ended, or there are too many. */
  readonly isMistake: boolean;

  constructor(status: number, code: number, message: string, isMistake = true) {
    super(message);
    this.status = status;
    this.code = code;
    this.isMistake = isMistake;
  }
}

const E164 = /^\+[1-9]\d{6,14}$/;
const seconds = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max);
const webhookUrl = z
  .string()
  .refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), '21205: not a valid URL');

/** The parameters of a request for a call that this simulator carries out. Others of Twilio's are refused: nobody sends them unnoticed. */
const createForm = z.strictObject({
  To: z.string(),
  From: z.string(),
  Url: webhookUrl.optional(),
  Method: z.literal('POST').optional(),
  Twiml: z.string().max(4_000).optional(),
  StatusCallback: webhookUrl.optional(),
  StatusCallbackMethod: z.literal('POST').optional(),
  Timeout: seconds(5, 600).optional(),
  TimeLimit: seconds(1, 86_400).optional(),
  MachineDetection: z.enum(['Enable', 'DetectMessageEnd']).optional(),
});

const updateForm = z.strictObject({
  Status: z.enum(['completed', 'canceled']).optional(),
  Url: webhookUrl.optional(),
  Method: z.literal('POST').optional(),
  Twiml: z.string().max(4_000).optional(),
});

const STATUS_EVENTS: ReadonlySet<string> = new Set(['initiated', 'ringing', 'answered', 'completed']);

const PAGE = { first: 0, size: 50, most: 1_000 };

/** One account at Twilio: its calls, its queue, and the requests that the app may make, each by Twilio's rules. */
export class Account {
  readonly #options: AccountOptions;
  readonly #calls = new Map<string, SimulatedCall>();
  readonly #refused: RefusedRequest[] = [];
  readonly #turnedAway: TurnedAway[] = [];
  /** How many faults each number's requests have met. */
  readonly #met = new Map<string, number>();
  #nextStartAt = 0;

  constructor(options: AccountOptions) {
    this.#options = options;
  }

  get calls(): readonly SimulatedCall[] {
    return [...this.#calls.values()];
  }

  get refused(): readonly RefusedRequest[] {
    return [...this.#refused];
  }

  get turnedAway(): readonly TurnedAway[] {
    return [...this.#turnedAway];
  }

  /** Remembers what the app should not have done. */
  refuse(request: string, status: number, reason: string): void {
    this.#refused.push({ at: new Date().toISOString(), request, status, reason });
    this.#options.print(`refused: ${request}: ${reason}`);
  }

  stop(): void {
    for (const call of this.#calls.values()) call.stop();
  }

  /** Carries a request out, or refuses it and remembers that. */
  reply(request: ApiRequest): ApiReply {
    try {
      return this.#carryOut(request);
    } catch (error) {
      const { status, code, message, isMistake } =
        error instanceof ApiError ? error : new ApiError(500, 20_500, String(error));
      if (isMistake) this.refuse(`${request.method} ${request.path}`, status, message);
      return { status, body: errorBody(status, code, message) };
    }
  }

  #carryOut({ method, path, query, form }: ApiRequest): ApiReply {
    const [, sid] = /^\/Calls\/(CA[0-9a-f]{32})\.json$/.exec(path) ?? [];
    if (sid !== undefined && method === 'POST') return this.#update(this.#find(sid), form);
    if (sid !== undefined && method === 'GET') return { status: 200, body: this.#find(sid).resource() };
    if (path === '/Calls.json' && method === 'POST') return this.#create(form);
    if (path === '/Calls.json' && method === 'GET') return this.#list(query);
    throw new ApiError(404, 20_404, 'no such resource');
  }

  #create(form: URLSearchParams): ApiReply {
    const events = form.getAll('StatusCallbackEvent');
    if (events.some((event) => !STATUS_EVENTS.has(event))) throw new ApiError(400, 21_626, 'an unknown event');
    const { data, error } = createForm.safeParse(singleValues(form, ['StatusCallbackEvent']));
    if (error !== undefined) throw new ApiError(400, 20_001, z.prettifyError(error));
    const { To: to, From: from, Url: url, Twiml: twiml } = data;
    if (!E164.test(to)) throw new ApiError(400, 21_211, `The 'To' number ${to} is not a valid phone number.`);
    if (!this.#options.ownNumbers.includes(from))
      throw new ApiError(400, 21_210, `${from} is not a number of this account.`);
    if ((url === undefined) === (twiml === undefined)) throw new ApiError(400, 21_205, 'Url or Twiml is required.');
    const fault = this.#fault(to, 'createCall');
    if (fault !== undefined && !isCarriedOut(fault)) return replyTo(fault);

    const { lines, pace, callsPerSecond } = this.#options;
    if (this.calls.filter(({ isOver }) => !isOver).length >= lines) {
      this.#turnedAway.push({ at: new Date().toISOString(), to });
      this.#options.print(`${to}: no line is free`);
      throw new ApiError(400, 10_004, 'Call concurrency limit exceeded.', false);
    }
    const request: CallRequest = {
      to,
      from,
      url,
      twiml,
      statusCallback: data.StatusCallback,
      statusCallbackEvents: events.length === 0 ? ['completed'] : [...events, 'completed'],
      timeoutSeconds: data.Timeout ?? 60,
      timeLimitSeconds: data.TimeLimit ?? 14_400,
      machineDetection: data.MachineDetection !== undefined,
    };
    const earlierCalls = this.calls.filter((other) => other.to === to).length;
    const call = new SimulatedCall({
      ...this.#options,
      pace,
      sid: `CA${randomBytes(16).toString('hex')}`,
      request,
      earlierCalls,
      complain: (what, status, reason) => this.refuse(`POST ${what.split('?')[0] ?? ''}`, status, reason),
    });
    this.#calls.set(call.sid, call);
    call.note('request', 'createCall', fault === undefined ? '201' : nameOf(fault));
    const answer = { status: 201, body: call.resource() };
    const startsAt = Math.max(Date.now(), this.#nextStartAt);
    this.#nextStartAt = startsAt + 1_000 / callsPerSecond;
    if (startsAt <= Date.now()) call.begin();
    else setTimeout(() => call.begin(), startsAt - Date.now());
    return fault === undefined ? answer : replyTo(fault);
  }

  #update(call: SimulatedCall, form: URLSearchParams): ApiReply {
    const { data, error } = updateForm.safeParse(singleValues(form));
    if (error !== undefined) throw new ApiError(400, 20_001, z.prettifyError(error));
    const { Status: status, Url: url, Twiml: twiml } = data;
    if ([status, url, twiml].filter((one) => one !== undefined).length !== 1) {
      throw new ApiError(400, 20_001, 'one of Status, Url and Twiml is needed');
    }
    // The app knows that it has ended it itself; it may not know yet that the callee did.
    if (call.isOver) throw new ApiError(400, 21_220, 'Call is not in-progress. Cannot redirect.', false);
    if (status === undefined) {
      if (call.status !== 'in-progress') throw new ApiError(400, 21_220, 'Call is not in-progress.', false);
      call.redirect(url, twiml);
      return { status: 200, body: call.resource() };
    }
    const fault = this.#fault(call.to, 'hangUp');
    call.note('request', 'hangUp', fault === undefined ? '200' : nameOf(fault));
    if (fault === undefined || isCarriedOut(fault)) call.hangUp(status);
    if (typeof fault === 'object' && fault.isCarriedOut === true)
      throw new ApiError(400, 21_220, 'It has ended.', false);
    return fault === undefined ? { status: 200, body: call.resource() } : replyTo(fault);
  }

  #list(query: URLSearchParams): ApiAnswer {
    const known = new Set(['To', 'From', 'Status', 'PageSize', 'Page', 'StartTime', 'StartTime<', 'StartTime>']);
    for (const name of query.keys()) if (!known.has(name)) throw new ApiError(400, 20_001, `${name} is unknown`);
    const size = Math.min(PAGE.most, Number(query.get('PageSize') ?? PAGE.size));
    const page = Number(query.get('Page') ?? PAGE.first);
    const found = this.calls
      .map((call) => ({ call, resource: z.record(z.string(), z.unknown()).parse(call.resource()) }))
      .filter(
        ({ resource }) =>
          (query.get('To') ?? resource['to']) === resource['to'] &&
          (query.get('From') ?? resource['from']) === resource['from'] &&
          (query.get('Status') ?? resource['status']) === resource['status'] &&
          // What has not been dialled has no start time yet.
          (resource['start_time'] !== null || ![...query.keys()].some((name) => name.startsWith('StartTime'))),
      )
      .toReversed();
    const path = `/2010-04-01/Accounts/${this.#options.accountSid}/Calls.json`;
    const isMore = found.length > (page + 1) * size;
    return {
      status: 200,
      body: {
        calls: found.slice(page * size, (page + 1) * size).map(({ resource }) => resource),
        page,
        page_size: size,
        start: page * size,
        end: Math.max(0, Math.min(found.length, (page + 1) * size) - 1),
        first_page_uri: `${path}?PageSize=${size}&Page=0`,
        next_page_uri: isMore ? `${path}?PageSize=${size}&Page=${page + 1}` : null,
        previous_page_uri: page === 0 ? null : `${path}?PageSize=${size}&Page=${page - 1}`,
        uri: `${path}?PageSize=${size}&Page=${page}`,
      },
    };
  }

  #find(sid: string): SimulatedCall {
    const call = this.#calls.get(sid);
    if (call === undefined) throw new ApiError(404, 20_404, 'no such call');
    return call;
  }

  /** The next fault of the number's scenario for this kind of request. */
  #fault(to: string, kind: RequestKind): Exclude<Fault, 'none'> | undefined {
    const { faults } = scenarioOf(to);
    const planned = faults?.[kind] ?? [];
    const met = this.#met.get(`${kind} ${to}`) ?? 0;
    this.#met.set(`${kind} ${to}`, met + 1);
    const fault = faults?.always === true ? planned[met % planned.length] : planned[met];
    return fault === 'none' ? undefined : fault;
  }
}

/** @param repeated the names that may stand there more than once, and are left out */
const singleValues = (form: URLSearchParams, repeated: readonly string[] = []): Record<string, string> => {
  const values: Record<string, string> = {};
  for (const [name, value] of form) {
    if (repeated.includes(name)) continue;
    if (name in values) throw new ApiError(400, 20_001, `${name} is given twice`);
    values[name] = value;
  }
  return values;
};

const isCarriedOut = (fault: Fault): boolean =>
  typeof fault === 'string' ? fault === 'answer lost' : fault.isCarriedOut === true;

const replyTo = (fault: Exclude<Fault, 'none'>): ApiReply => {
  if (typeof fault === 'string') return fault;
  const { status, code } = refusalOf(fault);
  return { status, body: errorBody(status, code, 'This is what the number asked for.') };
};

const nameOf = (fault: Fault): string => (typeof fault === 'string' ? fault : String(refusalOf(fault).status));

/** An error as Twilio answers it. */
export const errorBody = (status: number, code: number, message: string) => ({
  code,
  message,
  more_info: `https://www.twilio.com/docs/errors/${code}`,
  status,
});
