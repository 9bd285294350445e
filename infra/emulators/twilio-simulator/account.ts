import { randomBytes } from 'node:crypto';

import { z } from 'zod';

import { Refusal, type Reply } from '../phone-network/http-answer.ts';
import { type FaultAnswer, type NetworkOptions, PhoneNetwork } from '../phone-network/phone-network.ts';
import { refusalOf } from './endings.ts';
import { createForm, TwilioCall } from './twilio-call.ts';
import type { Webhooks } from './webhooks.ts';

/** What the account's requests depend on. */
export interface AccountOptions extends Omit<NetworkOptions, 'whenFull'>, Partial<Pick<NetworkOptions, 'whenFull'>> {
  readonly accountSid: string;
  /** The numbers that may call. */
  readonly ownNumbers: readonly string[];
  /** How many calls are started a second; the others wait in the account's queue. */
  readonly callsPerSecond: number;
  readonly webhooks: Pick<Webhooks, 'post'>;
}

/** A request to the API. */
export interface ApiRequest {
  readonly method: string;
  /** Below the account, such as `/Calls.json`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
}

const refusal = (status: number, code: number, reason: string, isMistake = true): Refusal =>
  new Refusal({ status, body: errorBody(status, code, reason) }, reason, isMistake);

const E164 = /^\+[1-9]\d{6,14}$/;
const updateForm = z.strictObject({ Status: z.enum(['completed', 'canceled']) });
const callsQuery = z.strictObject({ To: z.string().optional(), PageSize: z.coerce.number().max(1_000).prefault(50) });
const numbersQuery = z.strictObject({ PhoneNumber: z.string().optional(), PageSize: z.string().optional() });

const STATUS_EVENTS: ReadonlySet<string> = new Set(['initiated', 'ringing', 'answered', 'completed']);

/** One account at Twilio: its calls, its queue, and the requests that the app may make, each by Twilio's rules. */
export class Account {
  readonly network: PhoneNetwork<TwilioCall>;
  readonly #options: AccountOptions;
  #nextStartAt = 0;

  constructor(options: AccountOptions) {
    this.#options = options;
    this.network = new PhoneNetwork({ whenFull: 'refuses', ...options });
  }

  get calls(): readonly TwilioCall[] {
    return this.network.calls;
  }

  /** Carries a request out, or refuses it and remembers that. */
  reply(request: ApiRequest): Reply {
    return this.network.reply(`${request.method} ${request.path}`, () => this.#carryOut(request));
  }

  #carryOut({ method, path, query, form }: ApiRequest): Reply {
    const { setUpFault } = this.network;
    if (setUpFault === 401) throw refusal(401, 20_003, 'The simulator was told to refuse.', false);
    if (setUpFault === 403) throw refusal(403, 20_403, 'The simulator was told to refuse.', false);
    const [, sid] = /^\/Calls\/(CA[0-9a-f]{32})\.json$/.exec(path) ?? [];
    if (sid !== undefined && method === 'POST') return this.#update(this.#find(sid), form);
    if (sid !== undefined && method === 'GET') return { status: 200, body: this.#find(sid).resource() };
    if (path === '/Calls.json' && method === 'POST') return this.#create(form);
    if (path === '/Calls.json' && method === 'GET') return this.#list(query);
    if (path === '/IncomingPhoneNumbers.json' && method === 'GET') return this.#numbers(query);
    throw refusal(404, 20_404, 'no such resource');
  }

  #create(form: URLSearchParams): Reply {
    const events = form.getAll('StatusCallbackEvent');
    if (events.some((event) => !STATUS_EVENTS.has(event))) throw refusal(400, 21_626, 'an unknown event');
    const data = parse(createForm, form, ['StatusCallbackEvent']);
    const { To: to, From: from, Url: url, Twiml: twiml, StatusCallback: statusCallback } = data;
    const { ownNumbers, callsPerSecond } = this.#options;
    if (!E164.test(to)) throw refusal(400, 21_211, `The 'To' number ${to} is not a valid phone number.`);
    const isMissing = this.network.setUpFault === 'number';
    if (isMissing || !ownNumbers.includes(from)) {
      throw refusal(400, 21_210, `${from} is not a number of this account.`, !isMissing);
    }
    if ((url === undefined) === (twiml === undefined)) throw refusal(400, 21_205, 'Url or Twiml is required.');
    const met = this.network.meet(to, 'createCall', faultAnswer);
    if (met?.isCarriedOut === false) return met.reply;
    const line = this.network.lineTo(to);
    if (line === undefined) throw refusal(400, 10_004, 'Call concurrency limit exceeded.', false);
    const call = new TwilioCall(
      {
        ...this.#options,
        ...line,
        id: `CA${randomBytes(16).toString('hex')}`,
        to,
        from,
        callbackUri: (url ?? statusCallback ?? '').split(/[?#]/)[0] ?? '',
        statusEvents: events,
        complain: (address, status, reason) =>
          this.network.complain(`POST ${address.split('?')[0] ?? ''}`, status, reason),
      },
      data,
    );
    this.network.add(call, met?.name ?? '201');
    const answer = { status: 201, body: call.resource() };
    const startsAt = Math.max(Date.now(), this.#nextStartAt);
    this.#nextStartAt = startsAt + 1_000 / callsPerSecond;
    if (startsAt <= Date.now()) call.begin();
    else setTimeout(() => call.begin(), startsAt - Date.now());
    return met?.reply ?? answer;
  }

  #update(call: TwilioCall, form: URLSearchParams): Reply {
    const { Status: status } = parse(updateForm, form);
    // The app knows that it has ended it itself; it may not know yet that the callee did.
    if (call.isOver) throw refusal(400, 21_220, 'Call is not in-progress. Cannot redirect.', false);
    const met = this.network.meet(call.to, 'hangUp', faultAnswer);
    call.note('request', 'hangUp', met?.name ?? '200');
    if (met?.isCarriedOut !== false) call.hangUp(status);
    return met?.reply ?? { status: 200, body: call.resource() };
  }

  #list(query: URLSearchParams): Reply {
    const { To: to, PageSize: size } = parse(callsQuery, query);
    const found = this.calls.filter((call) => to === undefined || call.to === to).toReversed();
    const calls = found.slice(0, size).map((call) => call.resource());
    return { status: 200, body: { calls, ...ONLY_PAGE } };
  }

  #numbers(query: URLSearchParams): Reply {
    const { PhoneNumber: part = '' } = parse(numbersQuery, query);
    const own = this.network.setUpFault === 'number' ? [] : this.#options.ownNumbers;
    const found = own
      .filter((number) => number.includes(part))
      .map((number) => ({ phone_number: number, capabilities: { voice: true, sms: false, mms: false, fax: false } }));
    return { status: 200, body: { incoming_phone_numbers: found, ...ONLY_PAGE } };
  }

  #find(sid: string): TwilioCall {
    const call = this.network.find(sid);
    if (call === undefined) throw refusal(404, 20_404, 'no such call');
    return call;
  }
}

/** Nobody asks for a second one. */
const ONLY_PAGE = { page: 0, next_page_uri: null, previous_page_uri: null };

/** @param repeated the names that may stand there more than once, and are left out */
const parse = <Schema extends z.ZodType>(
  schema: Schema,
  form: URLSearchParams,
  repeated: readonly string[] = [],
): z.output<Schema> => {
  const values: Record<string, string> = {};
  for (const [name, value] of form) {
    if (repeated.includes(name)) continue;
    if (name in values) throw refusal(400, 20_001, `${name} is given twice`);
    values[name] = value;
  }
  const parsed = schema.safeParse(values);
  if (!parsed.success) throw refusal(400, 20_001, z.prettifyError(parsed.error));
  return parsed.data;
};

const faultAnswer: FaultAnswer = (fault) => {
  const [status, code] = refusalOf(fault);
  return { status, body: errorBody(status, code, 'This is what the number asked for.') };
};

/** An error as Twilio answers it. */
export const errorBody = (status: number, code: number, message: string) => ({
  code,
  message,
  more_info: `https://www.twilio.com/docs/errors/${code}`,
  status,
});
