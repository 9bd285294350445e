import { z } from 'zod';

import { type NetworkOptions, PhoneNetwork } from '../phone-network/phone-network.ts';
import { Refusal, type Reply } from '../phone-network/reply.ts';
import { errorOf } from './codes.ts';
import { createForm, type Form, STATUS_EVENTS, TwilioCall } from './twilio-call.ts';

/** An account, and its telephone network. */
interface AccountOptions extends NetworkOptions<Form> {
  readonly accountSid: string;
  /** The number that may call. */
  readonly ownNumber: string;
}

/** A request to the API. */
export interface ApiRequest {
  readonly method: string;
  /** Below the account, such as `/Calls.json`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
}

const updateForm = z.strictObject({ Status: z.enum(['completed', 'canceled']) });
const numbersQuery = z.strictObject({ PhoneNumber: z.string().optional(), PageSize: z.string().optional() });

/** The app never asks for a second page. */
const ONLY_PAGE = { page: 0, next_page_uri: null, previous_page_uri: null };

/** An account at Twilio: its calls, and the requests of the app, by the rules of Twilio. */
export class Account extends PhoneNetwork<TwilioCall, Form> {
  readonly #options: AccountOptions;

  constructor(options: AccountOptions) {
    super(options, {
      bodyOf: ([status, code], message) => {
        return { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status };
      },
      codes: {
        malformed: [400, 20_001],
        'no line': [400, 10_004],
        401: [401, 20_003],
        403: [403, 20_403],
        number: [400, 21_210],
      },
      ofScenario: errorOf,
    });
    this.#options = options;
  }

  /** Carries a request out, or refuses it and remembers a mistake of the app. */
  reply(request: ApiRequest): Reply {
    return this.answer(`${request.method} ${request.path}`, () => this.#carryOut(request));
  }

  #carryOut({ method, path, query, form }: ApiRequest): Reply {
    this.mustBeSetUp(401, 403);
    const [, sid] = /^\/Calls\/(CA[0-9a-f]{32})\.json$/.exec(path) ?? [];
    switch (`${method} ${sid === undefined ? path : 'call'}`) {
      case 'POST /Calls.json':
        return this.#create(form);
      case 'GET /IncomingPhoneNumbers.json':
        return this.#numbers(query);
      case 'POST call':
        return this.#update(this.#find(sid), form);
      case 'GET call':
        return { status: 200, body: this.#find(sid).resource() };
      default:
        throw new Refusal([404, 20_404], 'no such resource');
    }
  }

  #create(form: URLSearchParams): Reply {
    const events = new Set(form.getAll('StatusCallbackEvent'));
    if (!events.isSubsetOf(STATUS_EVENTS)) throw new Refusal([400, 21_626], 'an unknown event');
    const request = createForm.parse(valuesOf(form, 'StatusCallbackEvent'));
    const { To: to, From: from, Url: url, Twiml: twiml } = request;
    if (!/^\+[1-9]\d{6,14}$/.test(to)) throw new Refusal([400, 21_211], `${to} is not a valid phone number.`);
    this.mustBeSetUp('number');
    if (from !== this.#options.ownNumber) throw new Refusal([400, 21_210], `${from} is not a number of this account.`);
    if ((url === undefined) === (twiml === undefined)) throw new Refusal([400, 21_205], 'Url or Twiml is required.');
    return this.place(to, (parts) => new TwilioCall(parts, this.#options.accountSid, { ...request, events }));
  }

  #update(call: TwilioCall, form: URLSearchParams): Reply {
    const { Status: status } = updateForm.parse(valuesOf(form));
    // The app knows that it ended the call itself; it may not know yet that the callee did.
    if (call.state === 'ended') throw new Refusal([400, 21_220], 'Call is not in-progress. Cannot redirect.', false);
    return this.act(call, 'hangUp', () => call.hangUp(status), {
      status: 200,
      // A getter: the answer has the state after the end of the call.
      get body() {
        return call.resource();
      },
    });
  }

  #numbers(query: URLSearchParams): Reply {
    const { PhoneNumber: part = '' } = numbersQuery.parse(valuesOf(query));
    const { ownNumber } = this.#options;
    const isFound = this.setUpFault !== 'number' && ownNumber.includes(part);
    const own = { phone_number: ownNumber, capabilities: { voice: true, sms: false, mms: false, fax: false } };
    return { status: 200, body: { incoming_phone_numbers: isFound ? [own] : [], ...ONLY_PAGE } };
  }

  #find(sid = ''): TwilioCall {
    const call = this.find(sid);
    if (call === undefined) throw new Refusal([404, 20_404], 'no such call');
    return call;
  }
}

/** @param repeated the only name that may be given more than once; it is left out */
const valuesOf = (form: URLSearchParams, repeated = ''): Readonly<Record<string, string>> => {
  const given = [...form].filter(([name]) => name !== repeated);
  const values = Object.fromEntries(given);
  if (Object.keys(values).length < given.length) throw new Refusal([400, 20_001], 'a name is given twice');
  return values;
};
