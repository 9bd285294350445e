import { randomBytes } from 'node:crypto';

import { z } from 'zod';

import { type CallParts, PhoneCall } from '../phone-network/phone-call.ts';
import type { KeyPress, Result } from '../phone-network/scenarios.ts';
import { type Ending, endingOf } from './codes.ts';
import { type Instructions, twiml, integer } from './twiml.ts';

/** The states of a call, as Twilio names them. */
type Status = 'queued' | 'initiated' | 'ringing' | 'in-progress' | 'completed' | 'canceled' | Ending['status'];

/** The parameters of a webhook. */
export type Form = Readonly<Record<string, string>>;

/** The events that a request for a call may name. */
export const STATUS_EVENTS: ReadonlySet<string> = new Set(['initiated', 'ringing', 'answered', 'completed']);

const webhookUrl = z
  .string()
  .refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), '21205: not a valid URL');

/** The parameters of a request for a call that this simulator carries out. It refuses the other parameters of Twilio, so that each use is noticed. */
export const createForm = z.strictObject({
  To: z.string(),
  From: z.string(),
  /** Where the instructions are fetched when the callee answers. */
  Url: webhookUrl.optional(),
  /** The instructions themselves. */
  Twiml: z.string().max(4_000, '32018: the instructions are too long').optional(),
  StatusCallback: webhookUrl.optional(),
  StatusCallbackMethod: z.literal('POST').optional(),
  Timeout: integer(5, 600).prefault('60'),
  TimeLimit: integer(1, 86_400).prefault('14400'),
});

type CallRequest = z.output<typeof createForm> & {
  /** The states that are posted. The end is always posted. */
  readonly events: ReadonlySet<string>;
};

const RANG_OUT: Result = [487, 10_004];

const rfc2822 = (at: number | undefined): string | null =>
  at === undefined ? null : new Date(at).toUTCString().replace('GMT', '+0000');

/** A call of Twilio: it carries out instructions in TwiML, fetches others, and posts its status. */
export class TwilioCall extends PhoneCall<Form> {
  status: Status = 'queued';
  readonly #accountSid: string;
  readonly #request: CallRequest;
  #ending: Ending | undefined;
  #sequence = 0;
  /** Grows with each replacement of the instructions: replaced instructions do not continue. */
  #run = 0;
  /** Where the next key is posted. */
  #keysTo = '';

  constructor(parts: CallParts<Form>, accountSid: string, request: CallRequest) {
    super(parts, `CA${randomBytes(16).toString('hex')}`, request.From);
    this.#accountSid = accountSid;
    this.#request = request;
  }

  override resource(): object {
    return {
      sid: this.id,
      account_sid: this.#accountSid,
      to: this.to,
      from: this.from,
      status: this.status === 'initiated' ? 'queued' : this.status,
      date_created: rfc2822(this.createdAt),
      date_updated: rfc2822(Date.now()),
      start_time: rfc2822(this.rangAt),
      end_time: rfc2822(this.endedAt),
      duration: this.status === 'completed' ? this.#seconds() : null,
      direction: 'outbound-api',
      api_version: '2010-04-01',
      uri: `/2010-04-01/Accounts/${this.#accountSid}/Calls/${this.id}.json`,
    };
  }

  /** The app ends the call. `canceled` does not end an answered call. */
  hangUp(status: 'completed' | 'canceled'): void {
    if (this.state !== 'connected' || status === 'completed') this.end('app');
  }

  protected override onRinging(): void {
    this.#enter('initiated');
    this.timeline.after(this.pace.eventMs, () => this.#enter('ringing'));
    if (this.scenario.earlyMedia === true)
      this.timeline.after(this.pace.eventMs * 2, () => this.#report('in-progress'));
    this.timeline.after(this.#request.Timeout * 1_000, () => this.end('network', RANG_OUT));
  }

  protected override onAnswered(): void {
    const { Url: url, Twiml: text = '', TimeLimit: limit } = this.#request;
    this.#enter('in-progress');
    this.timeline.after(limit * 1_000, () => this.end('network'));
    if (url === undefined) this.timeline.after(this.pace.eventMs, () => this.#instruct(text));
    else void this.#fetch(url, 'instructions');
  }

  protected override onEnded(why: Result | undefined): void {
    this.#run += 1;
    this.#ending = why && endingOf(why);
    this.#enter(this.answeredAt !== undefined ? 'completed' : (this.#ending?.status ?? 'canceled'));
  }

  protected override onKey({ key, reported }: KeyPress): void {
    const url = this.#keysTo;
    // Twilio reports only keys that it understands.
    if (reported === 'not understood') return;
    const form = this.#form({ Digits: key });
    if (reported === 'after the call') {
      this.lateReports.push(() => void this.report('key', url, form, this.pace.eventMs * 3));
      this.#hush();
      this.timeline.after(this.pace.eventMs, () => this.end('network'));
    } else void this.#fetch(url, 'key', 'ContinuousDtmfRecognitionToneReceived', form);
  }

  /** Fetches other instructions; the current speech stops. @param standsFor the event of ACS that the request replaces */
  async #fetch(url: string, what: string, standsFor = '', form = this.#form()): Promise<void> {
    this.#hush();
    const run = this.#run;
    if (this.isLost(standsFor, what)) return this.end('network');
    const answer = await this.report(what, url, form);
    if (run !== this.#run || this.state === 'ended') return undefined;
    const { status = 0, contentType = '', body = '' } = answer ?? {};
    if (status !== 200) return this.#giveUp(url, status, '11200: the instructions could not be fetched');
    if (/^(text|application)\/xml\b/.test(contentType)) return this.#instruct(body, url);
    return this.#giveUp(url, status, `12300: the content type of instructions is ${contentType}`);
  }

  /** @param base the address of the instructions; empty if they came with the call request */
  #instruct(text: string, base = ''): void {
    this.#hush();
    const { data, error } = twiml.safeParse(text);
    if (data !== undefined) this.#carryOut(data, base);
    else this.#giveUp(base, 200, `12100: ${z.prettifyError(error)}`);
  }

  #carryOut({ Gather: gather, Say: say = gather?.Say, Redirect: redirect }: Instructions, base: string): void {
    const run = this.#run;
    const absolute = (url: string): string => URL.parse(url, base || undefined)?.href ?? url;
    const proceed = (): void => {
      if (run !== this.#run) return;
      if (redirect !== undefined) void this.#fetch(absolute(redirect), 'end', 'PlayCompleted');
      else {
        this.note('request', 'hangUp', '200');
        this.end('app');
      }
    };
    const listen = (): void => {
      if (gather === undefined) proceed();
      else this.timeline.after(gather.timeout * 1_000, proceed);
    };
    if (gather !== undefined) {
      this.#keysTo = absolute(gather.action);
      this.note('request', 'listen', '200');
      this.startListening();
    }
    if (say === undefined) return listen();
    this.note('request', 'play', '200');
    this.speak(say.text.repeat(say.times), (isComplete) => isComplete && listen());
  }

  /** The current speech stops, and the service does not listen, until other instructions come. */
  #hush(): void {
    this.#run += 1;
    this.stopListening();
    this.silence();
  }

  #enter(status: Status): void {
    this.status = status;
    this.#report(status);
  }

  #report(status: Status): void {
    const { StatusCallback: url, events } = this.#request;
    const isOver = this.state === 'ended';
    const event = status === 'in-progress' ? 'answered' : status;
    if (url === undefined || !(isOver || events.has(event))) return;
    const form = this.#form({
      CallStatus: status,
      Timestamp: new Date().toUTCString(),
      SequenceNumber: String(this.#sequence),
      CallbackSource: 'call-progress-events',
      ...(isOver && this.#end()),
    });
    this.#sequence += 1;
    // A late event comes after all others.
    const isLate = status === 'initiated' && this.scenario.reordered === true;
    const afterMs = isLate ? this.pace.ringMs + this.pace.speakMs * 2 : 0;
    const endAtAcs = this.answeredAt === undefined ? 'CreateCallFailed' : 'CallDisconnected';
    const standsFor = isOver ? endAtAcs : event === 'answered' ? 'CallConnected' : '';
    if (this.isLost(standsFor, status)) return;
    const post = (ms: number) => void this.report(status, url, form, ms);
    if (event === 'answered' && this.scenario.answerReported !== undefined) {
      this.lateReports.push(() => post(this.pace.eventMs));
    } else post(afterMs);
  }

  #form(more: Form = {}): Form {
    return {
      CallSid: this.id,
      AccountSid: this.#accountSid,
      CallStatus: this.status,
      To: this.to,
      From: this.from,
      Direction: 'outbound-api',
      ...more,
    };
  }

  /** The parameters of the end of the call. */
  #end(): Form {
    const { sipCode = this.status === 'completed' ? 200 : 487, errorCode } = this.#ending ?? {};
    const error = { ErrorCode: String(errorCode), ErrorMessage: 'The number asked for this.' };
    return { CallDuration: this.#seconds(), SipResponseCode: String(sipCode), ...(errorCode !== undefined && error) };
  }

  /** The call ends because of a mistake of the app. */
  #giveUp(address: string, status: number, reason: string): void {
    this.parts.complain(`POST ${address.replace(/[?#].*/, '')}`, status, reason);
    this.end('network');
  }

  /** The duration of the connected call, in whole seconds. */
  #seconds(): string {
    const { answeredAt, endedAt = Date.now() } = this;
    return String(answeredAt === undefined ? 0 : Math.floor((endedAt - answeredAt) / 1_000));
  }
}
