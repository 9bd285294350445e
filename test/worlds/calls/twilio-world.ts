import type { AppAnswer } from '../../../infra/emulators/phone-network/deliveries.ts';
import { Account } from '../../../infra/emulators/twilio-simulator/account.ts';
import type { Form, TwilioCall } from '../../../infra/emulators/twilio-simulator/twilio-call.ts';
import { ALERT_TYPES } from '../../../src/calls/model/alert-types.ts';
import type { CallRequest, PhoneProvider } from '../../../src/calls/model/phone-provider.ts';
import { TwilioCallbacks } from '../../../src/calls/providers/twilio/twilio-callbacks.ts';
import { type Send, TwilioProvider } from '../../../src/calls/providers/twilio/twilio-provider.ts';
import type { Life } from '../life.ts';
import type { VirtualTime } from '../virtual-time.ts';
import type { DialRequest } from './ground.ts';
import type { Mode } from './modes.ts';
import { phoneNumber } from '../../calls/new-case.ts';
import { heldUntil, type Placed, ServiceWorld, type WorldOptions } from './world.ts';

const ACCOUNT = { accountSid: `AC${'1'.repeat(32)}`, apiKeySid: `SK${'2'.repeat(32)}`, apiKeySecret: 'secret' };
const API = 'https://twilio.example';
const BASE = 'https://watch.example';
const NUMBER = phoneNumber('+12065550199');
const VOICE = 'Polly.Joanna';
/** How long a request for a call waits for its answer. */
const GIVEN_UP_MS = 10_000;
/** A conversation at human speed. */
const PACE = { ringMs: 6_000, eventMs: 200, speakMs: 16_000 };
/** How long a call speaks a text, in milliseconds. */
export const SPEAK_MS = PACE.speakMs;

/** A request of an instance to Twilio. */
interface Asked {
  /** Method and path below the account. */
  readonly request: string;
  readonly form: URLSearchParams;
}

/** A request for a call that was carried out. */
interface PlacedAtTwilio extends Placed, DialRequest {
  readonly isAttempt: true;
  readonly of: TwilioCall;
  readonly placedAt: number;
  hangUpAskedAt?: number;
}

/** The service with the real provider of Twilio, and the simulated account. The callee's last two digits choose what happens. */
export class TwilioWorld extends ServiceWorld {
  readonly account: Account;
  readonly asked: Asked[] = [];
  readonly placed: PlacedAtTwilio[] = [];
  /** No webhook arrives before this ends. */
  isHeld = false;
  readonly #callbacks = new TwilioCallbacks({ authTokens: ['token'], baseUrls: [BASE], voice: VOICE });

  constructor(seed: string, mode: Mode, options: WorldOptions, time: VirtualTime) {
    super(seed, mode, options, time);
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

  override get hasNoOpenCall(): boolean {
    return this.account.calls.every(({ state }) => state === 'ended');
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

  protected override providerOf(life: Life): PhoneProvider {
    const { ringMs } = this.rules;
    const { callsPerSecond } = this.mode;
    const options = { source: NUMBER, callsPerSecond, voice: VOICE, callbackBaseUrl: BASE, ringMs };
    const line = new TwilioProvider({ ...ACCOUNT, apiBaseUrl: API }, options, this.#sendOf(life));
    const call = line.call.bind(line);
    return Object.assign(line, {
      call: async (request: CallRequest) => {
        this.noteDial(request, life);
        return call(request);
      },
    });
  }

  /** The API as one process reaches it. */
  #sendOf(life: Life): Send {
    return async (url, { method, body = '' }) => {
      const { pathname, searchParams: query } = new URL(url);
      const path = pathname.slice(`/2010-04-01/Accounts/${ACCOUNT.accountSid}`.length);
      const { chance, conditions } = this;
      const form = new URLSearchParams(body);
      const [, sid] = /^\/Calls\/(\w+)/.exec(path) ?? [];
      const hungUp = this.placed.find((one) => one.of.id === sid);
      if (hungUp !== undefined) hungUp.hangUpAskedAt ??= this.now;
      const { providerFaults } = conditions.faults;
      const fault = chance.byProbability([
        [providerFaults * 0.4, 'request'],
        [providerFaults * 0.4, 'answer'],
        [providerFaults * 0.2, 'throttled'],
      ]);
      this.worldLog.add(
        () => `${life.name} asks for ${method} ${path} ${form.get('To') ?? ''} ${form.get('Status') ?? ''}`,
      );
      const travel = {
        thereMs: chance.between(5, 50),
        backMs: chance.between(5, 300),
        death: this.onRequest('provider', life),
        lost: fault === 'throttled' ? undefined : fault,
        told: { afterMs: chance.between(5, GIVEN_UP_MS), error: new DOMException('', 'TimeoutError') },
      };
      return life.request(travel, async () => {
        this.asked.push({ request: `${method} ${path}`, form: method === 'GET' ? query : form });
        if (fault === 'throttled') return { status: 429, headers: new Headers(), json: async () => ({ code: 20_429 }) };
        this.account.setUpFault = conditions.isSetUpWrong ? 401 : undefined;
        const reply = this.account.reply({ method, path, query, form });
        if (path === '/Calls.json') this.#notePlaced(form.get('StatusCallback') ?? '');
        if (typeof reply !== 'string') {
          return { status: reply.status, headers: new Headers(reply.headers), json: async () => reply.body };
        }
        await new Promise((resolve) => void setTimeout(resolve, GIVEN_UP_MS));
        throw new DOMException('', 'TimeoutError');
      });
    };
  }

  /** @param address names the attempt */
  #notePlaced(address: string): void {
    const of = this.account.calls.at(-1);
    const dial = this.dialled.findLast(({ attemptId }) => address.includes(attemptId));
    if (of === undefined || dial === undefined || this.placed.at(-1)?.of === of) return;
    // A request that is sent again may place a second call, which holds no slot. It may even come after the end of its attempt.
    const isSecond = this.placed.some(({ attemptId }) => attemptId === dial.attemptId);
    const others = this.placed.filter(
      (one) =>
        !isSecond &&
        one.of.state !== 'ended' &&
        one.attemptId !== dial.attemptId &&
        this.dialled.filter(({ attemptId }) => attemptId === one.attemptId).length === 1 &&
        this.now < heldUntil(this.mode, one.placedAt, one.hangUpAskedAt),
    );
    this.worldLog.add(() => `${of.id} to ${of.to}`);
    this.placed.push({ ...dial, isAttempt: true, call: { ...dial, isAttempt: true }, others, of, placedAt: this.now });
  }

  /** A webhook goes to any instance; if that dies, or takes too long, to any again, twice. */
  async #post(address: string, form: Form): Promise<AppAnswer | undefined> {
    const { pathname, search } = new URL(address);
    while (this.isHeld) await new Promise((resolve) => void setTimeout(resolve, 100));
    const { eventDelay, eventRepeat, eventLoss } = this.conditions.faults;
    if (form['CallbackSource'] !== undefined) {
      // The order of reports is not guaranteed.
      if (this.chance.happens(eventRepeat)) setTimeout(() => void this.#deliver(pathname, search, form), 3_000);
      const lateMs = this.chance.happens(eventDelay) ? this.chance.between(500, 20_000) : 1;
      await new Promise((resolve) => void setTimeout(resolve, lateMs));
    }
    for (let tried = 0; tried < 3; tried += 1) {
      await new Promise((resolve) => void setTimeout(resolve, this.chance.between(5, 100)));
      if (this.chance.happens(eventLoss)) continue;
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
    this.worldLog.add(
      () => `${life.name} gets ${form['CallStatus']} ${form['Digits'] ?? ''} of ${form['CallSid']} by ${search}`,
    );
    const handler = {
      handle: async (events: Parameters<typeof phone.handle>[0]) => phone.handle(events, alertType, log),
      messageOf: async (attempt: Parameters<typeof phone.messageOf>[0]) => phone.messageOf(attempt, alertType),
    };
    return life.do(async () => this.#callbacks.answerSigned({ search, form }, `${BASE}${path}`, handler, log));
  }
}
