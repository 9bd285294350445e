import { z } from 'zod';

import { type CallParts, PhoneCall } from '../phone-network/phone-call.ts';
import type { CallEventName, KeyPress, Result } from '../phone-network/scenarios.ts';
import { type Ending, endingOf } from './endings.ts';
import { type Instructions, parseTwiml, TwimlError } from './twiml.ts';
import type { Form, WebhookAnswer, Webhooks } from './webhooks.ts';

/** The states of a call, as Twilio names them. */
export type Status = 'queued' | 'initiated' | 'ringing' | 'in-progress' | 'completed' | 'canceled' | Ending['status'];

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
export const createForm = z.strictObject({
  To: z.string(),
  From: z.string(),
  /** Where the instructions are fetched when somebody answers. */
  Url: webhookUrl.optional(),
  /** The instructions themselves. */
  Twiml: z.string().max(4_000, '32018: the instructions are too long').optional(),
  StatusCallback: webhookUrl.optional(),
  StatusCallbackMethod: z.literal('POST').optional(),
  Timeout: seconds(5, 600).prefault('60'),
  TimeLimit: seconds(1, 86_400).prefault('14400'),
});

/** What a call tells others. */
export interface TwilioCallParts extends CallParts {
  readonly accountSid: string;
  /** Which of its states are posted; the end always is. */
  readonly statusEvents: readonly string[];
  readonly webhooks: Pick<Webhooks, 'post'>;
  /** Told of what Twilio would put among the account's errors. */
  readonly complain: (address: string, status: number, reason: string) => void;
}

const RANG_OUT: Result = [487, 10_004];

const rfc2822 = (at: number | undefined): string | null =>
  at === undefined ? null : new Date(Math.floor(at / 1_000) * 1_000).toUTCString().replace('GMT', '+0000');

const absolute = (url: string, base: string): string => {
  if (!URL.canParse(url) && !URL.canParse(url, base)) throw new TwimlError('an address is wrong');
  return URL.canParse(url) ? url : new URL(url, base).href;
};

/** A call of Twilio: it carries out instructions in TwiML, fetches others, and posts its status. */
export class TwilioCall extends PhoneCall {
  readonly #parts: TwilioCallParts;
  readonly #request: z.output<typeof createForm>;
  readonly #lateKeys: { readonly url: string; readonly form: Form }[] = [];
  #status: Status = 'queued';
  #ending: Ending | undefined;
  #sequence = 0;
  /** Counts what replaced the instructions before: those go on no more. */
  #run = 0;
  /** Where the next key is posted. */
  #keysTo: string | undefined;

  constructor(parts: TwilioCallParts, request: z.output<typeof createForm>) {
    super(parts);
    this.#parts = parts;
    this.#request = request;
  }

  get sid(): string {
    return this.id;
  }

  get status(): Status {
    return this.#status;
  }

  get isOver(): boolean {
    return this.state === 'ended';
  }

  /** The call as the API answers it. */
  resource(): object {
    const { accountSid, from } = this.#parts;
    return {
      sid: this.id,
      account_sid: accountSid,
      to: this.to,
      from,
      status: this.#status === 'initiated' ? 'queued' : this.#status,
      date_created: rfc2822(this.createdAt),
      date_updated: rfc2822(Date.now()),
      start_time: rfc2822(this.rangAt),
      end_time: rfc2822(this.endedAt),
      duration: this.#status === 'completed' ? String(this.#durationSeconds()) : null,
      direction: 'outbound-api',
      api_version: '2010-04-01',
      uri: `/2010-04-01/Accounts/${accountSid}/Calls/${this.id}.json`,
    };
  }

  /** The app ends it. `canceled` leaves an answered call in peace. */
  hangUp(status: 'completed' | 'canceled'): void {
    if (this.state !== 'connected' || status === 'completed') this.end('app');
  }

  protected override get isListening(): boolean {
    return this.#keysTo !== undefined;
  }

  protected override onRinging(): void {
    this.#enter('initiated');
    this.timeline.after(this.pace.eventMs, () => this.#enter('ringing'));
    this.timeline.after(this.#request.Timeout * 1_000, () => this.end('network', RANG_OUT));
  }

  protected override onAnswered(): void {
    const { Url: url, Twiml: twiml = '', TimeLimit: limit } = this.#request;
    this.#enter('in-progress');
    this.timeline.after(limit * 1_000, () => this.end('network'));
    if (url === undefined) this.timeline.after(this.pace.eventMs, () => this.#instruct(twiml, ''));
    else void this.#fetch(url, 'instructions');
  }

  protected override onEnded(wasAnswered: boolean, why: Result | undefined): void {
    this.#run += 1;
    this.#ending = why && endingOf(why);
    this.#enter(wasAnswered ? 'completed' : (this.#ending?.status ?? 'canceled'));
    for (const { url, form } of this.#lateKeys) void this.#tell(url, 'key', form, this.pace.eventMs * 3);
  }

  protected override onKey({ key, reported }: KeyPress): void {
    const url = this.#keysTo;
    // Twilio reports only keys that it understands.
    if (url === undefined || reported === 'not understood') return;
    const digits = { Digits: key };
    if (reported === 'after the call') {
      this.#lateKeys.push({ url, form: { ...this.#form(), ...digits } });
      this.#hush();
      this.timeline.after(this.pace.eventMs, () => this.end('network'));
    } else void this.#fetch(url, 'key', 'ContinuousDtmfRecognitionToneReceived', digits);
  }

  /** Fetches other instructions; what was being said stops. @param standsFor the event of ACS in whose place it is */
  async #fetch(url: string, what: string, standsFor?: CallEventName, more: Form = {}): Promise<void> {
    this.#hush();
    const run = this.#run;
    if (standsFor !== undefined && this.copiesOf(standsFor, what) === 0) return this.end('network');
    const answer = await this.#tell(url, what, { ...this.#form(), ...more });
    if (run !== this.#run || this.isOver) return undefined;
    if (answer?.status !== 200) {
      this.#parts.complain(url, answer?.status ?? 0, '11200: the instructions could not be fetched');
      return this.end('network');
    }
    if (!/^(text|application)\/xml\b/.test(answer.contentType)) {
      this.#parts.complain(url, 200, `12300: the content type of instructions is ${answer.contentType}`);
    }
    return this.#instruct(answer.body, url);
  }

  #instruct(twiml: string, base: string): void {
    this.#hush();
    try {
      this.#carryOut(parseTwiml(twiml), base);
    } catch (error) {
      if (!(error instanceof TwimlError)) throw error;
      this.#parts.complain(base, 200, `12100: ${error.message}`);
      this.end('network');
    }
  }

  #carryOut({ say, gather, redirect }: Instructions, base: string): void {
    const run = this.#run;
    const goOn = (): void => {
      if (run !== this.#run) return;
      if (redirect !== undefined) void this.#fetch(absolute(redirect, base), 'end', 'PlayCompleted');
      else {
        this.note('request', 'hangUp', '200');
        this.end('app');
      }
    };
    const listenOn = (): void => {
      if (gather === undefined) goOn();
      else this.timeline.after(gather.timeoutSeconds * (this.pace.secondMs ?? 1_000), goOn);
    };
    if (gather !== undefined) {
      this.#keysTo = absolute(gather.action, base);
      this.note('request', 'listen', '200');
      this.beginsToListen();
    }
    if (say === undefined) return listenOn();
    this.note('request', 'play', '200');
    return this.speak(say.text.repeat(say.times), listenOn);
  }

  /** What was being said stops, and nobody listens; other instructions follow. */
  #hush(): void {
    this.#run += 1;
    this.#keysTo = undefined;
    this.silence();
  }

  #enter(status: Status): void {
    this.#status = status;
    const { StatusCallback: statusCallback } = this.#request;
    const event = status === 'in-progress' ? 'answered' : status;
    if (statusCallback === undefined || !(this.isOver || this.#parts.statusEvents.includes(event))) return;
    const form = this.#statusForm(status);
    // What comes late comes after all others.
    const isLate = status === 'initiated' && this.scenario.reordered === true;
    const afterMs = isLate ? this.pace.ringMs + this.pace.speakMs * 2 : 0;
    for (let copies = this.copiesOf(this.isOver ? 'CallDisconnected' : '', status); copies > 0; copies -= 1) {
      void this.#tell(statusCallback, status, form, afterMs);
    }
  }

  #form(): Form {
    const { accountSid, from } = this.#parts;
    return {
      CallSid: this.id,
      AccountSid: accountSid,
      CallStatus: this.#status,
      To: this.to,
      From: from,
      Called: this.to,
      Caller: from,
      Direction: 'outbound-api',
      ApiVersion: '2010-04-01',
    };
  }

  #statusForm(status: Status): Form {
    const sequence = this.#sequence;
    this.#sequence += 1;
    const { sipCode = status === 'completed' ? 200 : 487, errorCode } = this.#ending ?? {};
    const error = { ErrorCode: String(errorCode), ErrorMessage: 'This is what the number asked for.' };
    const end = {
      CallDuration: String(this.#durationSeconds()),
      Duration: this.answeredAt === undefined ? '0' : '1',
      SipResponseCode: String(sipCode),
      ...(errorCode === undefined ? {} : error),
    };
    return {
      ...this.#form(),
      CallStatus: status,
      Timestamp: new Date().toUTCString(),
      SequenceNumber: String(sequence),
      CallbackSource: 'call-progress-events',
      ...(this.isOver ? end : {}),
    };
  }

  /** Of the connected call, in whole seconds. */
  #durationSeconds(): number {
    const { answeredAt, endedAt = Date.now() } = this;
    return answeredAt === undefined ? 0 : Math.floor((endedAt - answeredAt) / 1_000);
  }

  async #tell(url: string, what: string, form: Form, afterMs = 0): Promise<WebhookAnswer | undefined> {
    const line = this.note('event', what);
    const answer = await this.#parts.webhooks.post(url, form, afterMs);
    this.answered(line, String(answer?.status ?? 'unreachable'));
    return answer;
  }
}
