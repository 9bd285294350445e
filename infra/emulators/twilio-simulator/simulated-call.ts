import type { Pace as AcsPace } from '../acs-simulator/simulated-call.ts';
import { type KeyPress, type Scenario, scenarioOf } from '../acs-simulator/scenarios.ts';
import type { CallStory, EndedBy, Speech, StoryLine } from '../acs-simulator/story.ts';
import { Timeline } from '../timeline.ts';
import { type Ending, endingOf } from './endings.ts';
import { type Gather, parseTwiml, type Say, type Pause, TwimlError, type Verb } from './twiml.ts';
import type { Form, Webhooks } from './webhooks.ts';

/** How long things take, in milliseconds. */
export interface Pace extends AcsPace {
  /** A second of `<Gather timeout>` and `<Pause length>`. */
  readonly secondMs: number;
}

/** The states of a call, as Twilio names them. */
export type Status =
  'queued' | 'initiated' | 'ringing' | 'in-progress' | 'completed' | 'busy' | 'failed' | 'no-answer' | 'canceled';

/** What a request for a call asks for. */
export interface CallRequest {
  readonly to: string;
  readonly from: string;
  readonly url: string | undefined;
  readonly twiml: string | undefined;
  readonly statusCallback: string | undefined;
  readonly statusCallbackEvents: readonly string[];
  readonly timeoutSeconds: number;
  readonly timeLimitSeconds: number;
  readonly machineDetection: boolean;
}

/** What a simulated call needs. */
export interface CallOptions {
  readonly sid: string;
  readonly accountSid: string;
  readonly request: CallRequest;
  /** How often the number has rung before. */
  readonly earlierCalls: number;
  readonly pace: Pace;
  readonly webhooks: Pick<Webhooks, 'post'>;
  readonly print: (line: string) => void;
  /** Told of what Twilio would put among the account's errors. */
  readonly complain: (request: string, status: number, reason: string) => void;
}

type Spoken = { text: string; startedAt: number; endedAt?: number; isComplete: boolean };

const OVER: ReadonlySet<Status> = new Set(['completed', 'busy', 'failed', 'no-answer', 'canceled']);

/** One call at Twilio: what the callee does, what is said by the instructions that the service answers, and the callbacks about it. */
export class SimulatedCall {
  readonly scenario: Scenario;
  readonly createdAt = Date.now();
  readonly #options: CallOptions;
  readonly #timeline = new Timeline();
  readonly #story: StoryLine[] = [];
  readonly #speeches: Spoken[] = [];
  #status: Status = 'queued';
  #rangAt: number | undefined;
  #answeredAt: number | undefined;
  #endedAt: number | undefined;
  #endedBy: EndedBy | undefined;
  #ending: Ending | undefined;
  #sequence = 0;
  /** Counts what replaced the instructions before: those go on no more. */
  #run = 0;
  #gather: { readonly gather: Gather; digits: string; readonly base: string } | undefined;
  /** Pressed while nobody listened: pressed again when somebody does. */
  readonly #unheard: string[] = [];

  constructor(options: CallOptions) {
    this.#options = options;
    this.scenario = scenarioOf(options.request.to);
  }

  get sid(): string {
    return this.#options.sid;
  }

  get to(): string {
    return this.#options.request.to;
  }

  get status(): Status {
    return this.#status;
  }

  get isOver(): boolean {
    return OVER.has(this.#status);
  }

  get endedBy(): EndedBy | undefined {
    return this.#endedBy;
  }

  /** The call as the API answers it. */
  resource(): object {
    const { accountSid, request, sid } = this.#options;
    const uri = `/2010-04-01/Accounts/${accountSid}/Calls/${sid}.json`;
    const duration = this.#durationSeconds();
    return {
      sid,
      account_sid: accountSid,
      parent_call_sid: null,
      to: request.to,
      to_formatted: request.to,
      from: request.from,
      from_formatted: request.from,
      phone_number_sid: null,
      status: this.#status === 'initiated' ? 'queued' : this.#status,
      date_created: rfc2822(this.createdAt),
      date_updated: rfc2822(Date.now()),
      start_time: this.#rangAt === undefined ? null : rfc2822(this.#rangAt),
      end_time: this.#endedAt === undefined ? null : rfc2822(this.#endedAt),
      duration: this.#status === 'completed' ? String(duration) : null,
      price: null,
      price_unit: 'USD',
      direction: 'outbound-api',
      answered_by: null,
      api_version: '2010-04-01',
      forwarded_from: null,
      group_sid: null,
      caller_name: null,
      queue_time: '0',
      trunk_sid: null,
      uri,
      subresource_uris: {},
    };
  }

  told(): CallStory {
    const { request } = this.#options;
    const asked = (name: string): number =>
      this.#story.filter(({ kind, text }) => kind === 'request' && text === name).length;
    const { statusCallback, url } = request;
    return {
      id: this.sid,
      to: request.to,
      from: request.from,
      scenario: this.scenario.name,
      callbackUri: (url ?? statusCallback ?? '').split(/[?#]/)[0] ?? '',
      state: this.isOver ? 'ended' : this.#status === 'in-progress' ? 'connected' : 'ringing',
      rangAt: new Date(this.#rangAt ?? this.createdAt).toISOString(),
      ...(this.#answeredAt === undefined ? {} : { answeredAt: new Date(this.#answeredAt).toISOString() }),
      ...(this.#endedAt === undefined ? {} : { endedAt: new Date(this.#endedAt).toISOString() }),
      ...(this.#endedBy === undefined ? {} : { endedBy: this.#endedBy }),
      spoken: this.#speeches.map(({ text }) => text),
      speeches: this.#speeches.map(({ text, startedAt, endedAt = Date.now(), isComplete }): Speech => ({
        text,
        startedAt: new Date(startedAt).toISOString(),
        spokenMs: endedAt - startedAt,
        isComplete,
      })),
      requests: {
        createCall: asked('createCall'),
        play: asked('play'),
        listen: asked('listen'),
        hangUp: asked('hangUp'),
      },
      story: [...this.#story],
    };
  }

  note(kind: StoryLine['kind'], text: string, answer?: string): void {
    this.#story.push({ at: new Date().toISOString(), kind, text, ...(answer === undefined ? {} : { answer }) });
  }

  /** Its turn has come: it is dialled. */
  begin(): void {
    if (this.isOver) return;
    const { pace, print, request, earlierCalls } = this.#options;
    const { unreachable, firstCalls = [], ringing = 1, connectedFirst } = this.scenario;
    this.#enter('initiated');
    this.#rangAt = Date.now();
    print(`${this.to} rings (${this.scenario.name})`);
    const failure = firstCalls[earlierCalls] ?? unreachable;
    if (connectedFirst === true && failure === undefined) return this.#answer();
    const ending = failure && endingOf(failure);
    if (ending?.errorCode !== undefined) {
      this.#timeline.after(pace.eventMs, () => this.#end('failed', 'network', ending));
      return;
    }
    this.#timeline.after(pace.eventMs, () => {
      this.#enter('ringing');
      this.#timeline.after(request.timeoutSeconds * 1_000, () => this.#end('no-answer', 'network'));
      this.#timeline.after(pace.ringMs * ringing, () => {
        if (ending === undefined) this.#answer();
        else this.#end(ending.status, 'network', ending);
      });
    });
  }

  /** Other instructions from now on: what is being said stops. */
  redirect(url: string | undefined, twiml: string | undefined): void {
    if (url !== undefined) void this.#fetchInstructions(url);
    else if (twiml !== undefined) this.#instruct(twiml, this.#options.request.url ?? '');
  }

  /** The app ends it, by `completed` or `canceled`. */
  hangUp(status: 'completed' | 'canceled'): void {
    if (this.isOver) return;
    const isAnswered = this.#status === 'in-progress';
    if (isAnswered && status === 'canceled') return;
    this.#end(isAnswered ? 'completed' : 'canceled', 'app');
  }

  /** No more happens. */
  stop(): void {
    this.#timeline.clear();
    this.#run += 1;
  }

  #answer(): void {
    if (this.isOver) return;
    const { request, print } = this.#options;
    this.#timeline.clear();
    this.#answeredAt = Date.now();
    print(`${this.to} answers`);
    this.#enter('in-progress');
    this.#timeline.after(request.timeLimitSeconds * 1_000, () => this.#end('completed', 'network'));
    if (request.url === undefined) this.#instruct(request.twiml ?? '', '');
    else void this.#fetchInstructions(request.url);
    if (this.scenario.calleeHangsUp === 'before the message')
      this.#timeline.after(1, () => this.#end('completed', 'callee'));
  }

  /** @param more what is sent beside the usual */
  async #fetchInstructions(url: string, more: Form = {}): Promise<void> {
    this.#run += 1;
    const run = this.#run;
    this.#hush();
    const answer = await this.#tell(url, 'instructions', {
      ...this.#form(),
      ...(this.#options.request.machineDetection ? { AnsweredBy: this.#answeredBy() } : {}),
      ...more,
    });
    if (run !== this.#run || this.isOver) return;
    if (answer?.status !== 200) {
      this.#options.complain(url, answer?.status ?? 0, '11200: the instructions could not be fetched');
      this.#end('completed', 'network');
      return;
    }
    if (!/^(text|application)\/xml\b/.test(answer.contentType)) {
      this.#options.complain(url, 200, `12300: the content type of instructions is ${answer.contentType}`);
    }
    this.#instruct(answer.body, url);
  }

  #instruct(twiml: string, base: string): void {
    this.#run += 1;
    this.#hush();
    try {
      this.#carryOut(parseTwiml(twiml), base, this.#run);
    } catch (error) {
      if (!(error instanceof TwimlError)) throw error;
      this.#options.complain(base, 200, `12100: ${error.message}`);
      this.#end('completed', 'network');
    }
  }

  #carryOut([verb, ...rest]: readonly Verb[], base: string, run: number): void {
    if (run !== this.#run || this.isOver) return;
    const next = (): void => this.#carryOut(rest, base, run);
    switch (verb?.verb) {
      case 'Say':
      case 'Pause':
        return this.#speak([verb], run, next);
      case 'Gather':
        return this.#listen(verb, base, run, next);
      case 'Redirect':
        void this.#fetchInstructions(absolute(verb.url, base));
        return undefined;
      case 'Hangup':
      case undefined:
        this.note('request', 'hangUp', '200');
        return this.#end('completed', 'app');
    }
  }

  #speak([one, ...rest]: readonly (Say | Pause)[], run: number, then: () => void): void {
    if (run !== this.#run || this.isOver) return;
    const { pace, print } = this.#options;
    const next = (): void => this.#speak(rest, run, then);
    if (one === undefined) return then();
    if (one.verb === 'Pause') return this.#timeline.after(one.seconds * pace.secondMs, next);
    const text = one.text.repeat(one.loop);
    const speech: Spoken = { text, startedAt: Date.now(), isComplete: false };
    this.#speeches.push(speech);
    this.note('request', 'play', '200');
    this.note('speech', text);
    print(`${this.to} hears: ${text}`);
    this.#actInSpeech();
    this.#timeline.after(pace.speakMs, () => {
      if (run !== this.#run || this.isOver) return;
      speech.endedAt = Date.now();
      speech.isComplete = true;
      next();
    });
  }

  /** What the callee does while the message is said. */
  #actInSpeech(): void {
    const { pace } = this.#options;
    const { calleeHangsUp } = this.scenario;
    if (calleeHangsUp === 'mid-message' || calleeHangsUp === 'in the silence') {
      this.#timeline.after(pace.speakMs / 2, () => this.#end('completed', 'callee'));
    } else if (calleeHangsUp === 'late') {
      this.#timeline.after(pace.speakMs * 0.75, () => this.#end('completed', 'callee'));
    }
  }

  #listen(gather: Gather, base: string, run: number, then: () => void): void {
    const { pace } = this.#options;
    this.note('request', 'listen', '200');
    this.#gather = { gather, digits: '', base };
    if (gather.says.length > 0) this.#planPresses(this.#speeches.length);
    for (const key of this.#unheard.splice(0)) this.#timeline.after(pace.eventMs, () => this.press(key));
    this.#speak(gather.says, run, () => {
      this.#timeline.after(gather.timeoutSeconds * pace.secondMs, () => {
        if (run !== this.#run || this.isOver) return;
        this.#gather = undefined;
        then();
      });
    });
  }

  /** The keys that the callee presses in this speech, the first one of the call being 0. */
  #planPresses(number: number): void {
    const { presses = [], callsWithoutKey = 0, lost = [] } = this.scenario;
    // No request is lost that asks what to do: it is as if no key were pressed.
    if (lost.includes('ContinuousDtmfRecognitionToneReceived')) return;
    if (this.#options.earlierCalls < callsWithoutKey) return;
    const { speakMs, eventMs } = this.#options.pace;
    const afterMs: Readonly<Record<KeyPress['when'], number>> = {
      'at the start': eventMs / 2,
      'mid-message': speakMs / 2,
      'soon after': speakMs * 0.6,
      'at the end': speakMs + eventMs,
      late: speakMs + LATE_MS,
    };
    for (const { tone, when, speech = 0, reported } of presses) {
      if (speech === number && reported !== 'not understood')
        this.#timeline.after(afterMs[when], () => this.press(KEYS[tone]));
    }
  }

  /** The callee presses a key: the first one that counts ends what is being said. */
  press(key: string): void {
    const current = this.#gather;
    this.#options.print(`${this.to} presses ${key}`);
    if (this.isOver) return;
    if (current === undefined) {
      this.#unheard.push(key);
      return;
    }
    const { gather, base } = current;
    if (key === gather.finishOnKey) {
      if (current.digits === '') return;
    } else {
      current.digits += key;
      if (gather.numDigits === undefined || current.digits.length < gather.numDigits) return;
    }
    this.#gather = undefined;
    void this.#fetchInstructions(absolute(gather.action ?? base, base), { Digits: current.digits });
  }

  #answeredBy(): string {
    return this.scenario.name.startsWith('mailbox') ? 'machine_start' : 'human';
  }

  /** What was being said stops. */
  #hush(): void {
    this.#gather = undefined;
    for (const speech of this.#speeches) speech.endedAt ??= Date.now();
  }

  #enter(status: Status): void {
    this.#status = status;
    const { request } = this.#options;
    const event = status === 'in-progress' ? 'answered' : this.isOver ? 'completed' : status;
    const { statusCallback, statusCallbackEvents } = request;
    if (statusCallback === undefined || !statusCallbackEvents.includes(event)) return;
    const { lost = [], copies, reordered } = this.scenario;
    if (this.isOver && lost.includes('CallDisconnected')) {
      this.note('event', status, 'lost');
      return;
    }
    const form = this.#statusForm(status);
    const tell = (): void => void this.#tell(statusCallback, status, form);
    for (let copy = 0; copy < (copies?.all ?? 1); copy += 1) {
      // The first event arrives after all others.
      if (reordered === true && status === 'initiated') setTimeout(tell, this.#options.pace.speakMs * 2);
      else tell();
    }
  }

  #form(): Form {
    const { accountSid, request, sid } = this.#options;
    return {
      CallSid: sid,
      AccountSid: accountSid,
      CallStatus: this.#status,
      To: request.to,
      From: request.from,
      Called: request.to,
      Caller: request.from,
      Direction: 'outbound-api',
      ApiVersion: '2010-04-01',
    };
  }

  #statusForm(status: Status): Form {
    const sequence = this.#sequence;
    this.#sequence += 1;
    return {
      ...this.#form(),
      CallStatus: status,
      Timestamp: new Date().toUTCString(),
      SequenceNumber: String(sequence),
      CallbackSource: 'call-progress-events',
      ...(this.isOver
        ? {
            CallDuration: String(this.#durationSeconds()),
            Duration: this.#answeredAt === undefined ? '0' : '1',
            SipResponseCode: String(this.#ending?.sipCode ?? (status === 'completed' ? 200 : 487)),
            ...(this.#ending?.errorCode === undefined
              ? {}
              : { ErrorCode: String(this.#ending.errorCode), ErrorMessage: 'This is what the number asked for.' }),
          }
        : {}),
    };
  }

  /** Of the connected call; simulated speech is faster than real speech, and a second is as long as the pace says. */
  #durationSeconds(): number {
    if (this.#answeredAt === undefined) return 0;
    return Math.floor(((this.#endedAt ?? Date.now()) - this.#answeredAt) / 1_000);
  }

  async #tell(url: string, what: string, form: Form): ReturnType<Webhooks['post']> {
    const index = this.#story.length;
    this.note('event', what);
    const answer = await this.#options.webhooks.post(url, form);
    const line = this.#story[index];
    if (line !== undefined) this.#story[index] = { ...line, answer: String(answer?.status ?? 'unreachable') };
    return answer;
  }

  #end(status: Status, by: EndedBy, ending?: Ending): void {
    if (this.isOver) return;
    this.stop();
    this.#hush();
    this.#endedAt = Date.now();
    this.#endedBy = by;
    this.#ending = ending;
    this.#options.print(`${this.to}: the line is closed`);
    this.#enter(status);
  }
}

const KEYS: Readonly<Record<KeyPress['tone'], string>> = { one: '1', two: '2', three: '3', nine: '9' };
/** After the last word. */
const LATE_MS = 3_500;

const rfc2822 = (at: number): string => new Date(Math.floor(at / 1_000) * 1_000).toUTCString().replace('GMT', '+0000');

const absolute = (url: string, base: string): string => {
  if (!URL.canParse(url) && !URL.canParse(url, base)) throw new TwimlError('an address is wrong');
  return URL.canParse(url) ? url : new URL(url, base).href;
};
