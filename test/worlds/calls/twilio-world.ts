import type { AppAnswer } from '../../../infra/emulators/phone-network/deliveries.ts';
import { Account } from '../../../infra/emulators/twilio-simulator/account.ts';
import type { Form, TwilioCall } from '../../../infra/emulators/twilio-simulator/twilio-call.ts';
import { randomFrom } from '../../../infra/cli/demo/random.ts';
import { ALERT_TYPES } from '../../../src/calls/model/alert-types.ts';
import type { PhoneProvider } from '../../../src/calls/model/phone-provider.ts';
import { TwilioCallbacks } from '../../../src/calls/providers/twilio/twilio-callbacks.ts';
import { type Send, TwilioPhoneLine } from '../../../src/calls/providers/twilio/twilio-phone-line.ts';
import type { Life } from '../life.ts';
import { inVirtualTime, type VirtualTime } from '../virtual-time.ts';
import { BEGINNING } from './ground.ts';
import type { Mode } from './modes.ts';
import { phoneNumber } from '../../calls/new-case.ts';
import { ServiceWorld } from './world.ts';

const ACCOUNT = { accountSid: `AC${'1'.repeat(32)}`, apiKeySid: `SK${'2'.repeat(32)}`, apiKeySecret: 'secret' };
const API = 'https://twilio.example';
const BASE = 'https://watch.example';
const NUMBER = phoneNumber('+12065550199');
const VOICE = 'Polly.Joanna';
/** How long a request for a call waits for its answer. */
const GIVEN_UP_MS = 10_000;
/** A conversation at human speed. */
const PACE = { ringMs: 6_000, eventMs: 200, speakMs: 16_000 };

/** A request of an instance to Twilio. */
interface Asked {
  /** Method and path below the account. */
  readonly request: string;
  readonly form: URLSearchParams;
}

/** The service with the real provider of Twilio, and the simulated account. The callee's last two digits choose what happens. */
export class TwilioWorld extends ServiceWorld {
  readonly account: Account;
  readonly asked: Asked[] = [];
  /** No webhook arrives before this ends. */
  isHeld = false;
  readonly #callbacks = new TwilioCallbacks({ authTokens: ['token'], baseUrls: [BASE], voice: VOICE });

  constructor(seed: string, mode: Mode, time: VirtualTime) {
    super(seed, mode, {}, time);
    this.account = new Account({
      accountSid: ACCOUNT.accountSid,
      ownNumber: NUMBER,
      pace: PACE,
      lines: mode.lines,
      callsPerSecond: mode.callsPerSecond,
      post: async (url, form) => this.#post(url, form),
      print: () => undefined,
    });
  }

  /** The calls to a number. */
  callsTo(number: string | undefined): readonly TwilioCall[] {
    return this.account.calls.filter(({ to }) => to === number);
  }

  /** The requests of a kind about a number, or about a call. */
  askedFor(request: string, about: string | undefined): readonly Asked[] {
    return this.asked.filter(
      (one) => one.request.startsWith(request) && (one.form.get('To') ?? one.request).includes(about ?? '?'),
    );
  }

  protected override lineOf(life: Life): PhoneProvider {
    const { ringMs } = this.rules;
    const { callsPerSecond } = this.mode;
    const options = { source: NUMBER, callsPerSecond, voice: VOICE, callbackBaseUrl: BASE, ringMs };
    return new TwilioPhoneLine({ ...ACCOUNT, apiBaseUrl: API }, options, this.#sendOf(life));
  }

  /** The API as one process reaches it. */
  #sendOf(life: Life): Send {
    return async (url, { method, body = '' }) => {
      const { pathname, searchParams: query } = new URL(url);
      const path = pathname.slice(`/2010-04-01/Accounts/${ACCOUNT.accountSid}`.length);
      const travel = { thereMs: this.chance.between(5, 50), backMs: this.chance.between(5, 300) };
      return life.request(travel, async () => {
        const form = new URLSearchParams(body);
        this.asked.push({ request: `${method} ${path}`, form: method === 'GET' ? query : form });
        const reply = this.account.reply({ method, path, query, form });
        if (typeof reply !== 'string') {
          return { status: reply.status, headers: new Headers(reply.headers), json: async () => reply.body };
        }
        await new Promise((resolve) => void setTimeout(resolve, GIVEN_UP_MS));
        throw new DOMException('', 'TimeoutError');
      });
    };
  }

  /** A webhook goes to any instance; if that dies, or takes too long, to any again, twice. */
  async #post(address: string, form: Form): Promise<AppAnswer | undefined> {
    const { pathname, search } = new URL(address);
    while (this.isHeld) await new Promise((resolve) => void setTimeout(resolve, 100));
    for (let tried = 0; tried < 3; tried += 1) {
      await new Promise((resolve) => void setTimeout(resolve, this.chance.between(5, 100)));
      if (this.chance.happens(this.mode.eventLoss)) continue;
      const answered = this.#deliver(pathname, search, form);
      const late = new Promise<undefined>((resolve) => void setTimeout(resolve, 5_000, undefined));
      const body = await Promise.race([answered, late]);
      if (body !== undefined) return { status: 200, contentType: 'text/xml', body };
    }
    return undefined;
  }

  async #deliver(path: string, search: string, form: Form): Promise<string | undefined> {
    const instance = this.instances.any();
    const alertType = ALERT_TYPES.find(({ callbackPath }) => path.endsWith(callbackPath)) ?? ALERT_TYPES[0];
    if (instance === undefined) return undefined;
    const { life, phone, log } = instance;
    const handler = {
      handle: async (events: Parameters<typeof phone.handle>[0]) => phone.handle(events, alertType, log),
      messageOf: async (attempt: Parameters<typeof phone.messageOf>[0]) => phone.messageOf(attempt, alertType),
    };
    return life.do(async () => this.#callbacks.answer({ path: path.slice(1), search, form }, BASE, handler, log));
  }
}

/** Plays in a world of Twilio. */
export const inTwilioWorld = (seed: string, mode: Mode, play: (world: TwilioWorld) => Promise<void>): Promise<void> =>
  inVirtualTime(BEGINNING, randomFrom(`twilio, ${seed}`), false, (time) => {
    const world = new TwilioWorld(seed, mode, time);
    world.instances.start(mode.instances);
    return play(world);
  });
