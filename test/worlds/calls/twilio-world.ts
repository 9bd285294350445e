import { randomUUID } from 'node:crypto';

import { Account, type ApiReply } from '../../../infra/emulators/twilio-simulator/account.ts';
import type { SimulatedCall } from '../../../infra/emulators/twilio-simulator/simulated-call.ts';
import { type Form, signatureOf, type WebhookAnswer } from '../../../infra/emulators/twilio-simulator/webhooks.ts';
import { randomFrom } from '../../../infra/cli/demo/random.ts';
import { ALERT_TYPES, findAlertType } from '../../../src/calls/model/alert-types.ts';
import { LONGEST_REQUEST_MS } from '../../../src/calls/model/phone-line.ts';
import { parsePhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { createPhone, type Phone, type Sent } from '../../../src/calls/phone.ts';
import type { InstructionCallbacks } from '../../../src/calls/providers/callbacks.ts';
import { connectToTwilio } from '../../../src/calls/providers/twilio/connect.ts';
import type { Send } from '../../../src/calls/providers/twilio/twilio-api.ts';
import { NotificationStore } from '../../../src/calls/store/notification-store.ts';
import { CALLS_FORMAT } from '../../../src/calls/store/rows.ts';
import { type NotificationView, viewOf } from '../../../src/calls/state/view.ts';
import type { Log } from '../../../src/log.ts';
import { Table } from '../../../src/storage/table.ts';
import { Life } from '../life.ts';
import { UnreliableTable } from '../unreliable-table.ts';
import { inVirtualTime, runIn, type VirtualTime } from '../virtual-time.ts';
import { BEGINNING, type Death, Ground, SERVICE_NAME } from './ground.ts';
import type { Mode } from './modes.ts';

const SECRETS = {
  accountSid: `AC${'1'.repeat(32)}`,
  apiKeySid: `SK${'2'.repeat(32)}`,
  apiKeySecret: 'secret',
  authToken: 'token',
};
const BASE = 'https://watch.example';
const API = 'https://twilio.example';
const NUMBER = '+12065550199';
const SWEEP_MS = 30_000;
const CLOCK_AHEAD_MS = 1_000;
/** A request for a call waits so long for its answer. */
const GIVEN_UP_MS = 10_000;
/** A conversation at human speed: a message of the world takes so long. */
export const PACE = { ringMs: 6_000, eventMs: 200, speakMs: 16_000, secondMs: 1_000 };

interface Instance {
  readonly life: Life;
  readonly phone: Phone;
  readonly instructions: InstructionCallbacks;
  readonly log: Log;
}

/** How a world of Twilio differs from the usual one. */
export interface TwilioWorldOptions {
  /** How many calls the account may start a second; 2 if it is not given. */
  readonly callsPerSecond?: number;
  /** How many it really starts; as many as it may if it is not given. */
  readonly startsPerSecond?: number;
  readonly detectsMachines?: boolean;
  readonly isTold?: boolean;
  readonly death?: Death;
}

/** A request of an instance to Twilio. */
export interface Asked {
  readonly at: number;
  /** Method and path below the account. */
  readonly request: string;
  readonly form: URLSearchParams;
}

/** Several instances of the service with the real provider of Twilio, and the simulated account, in virtual time. */
export class TwilioWorld extends Ground {
  readonly account: Account;
  readonly logs: { readonly event: string; readonly level: string }[] = [];
  readonly #instances: Instance[] = [];
  readonly asked: Asked[] = [];
  readonly #options: TwilioWorldOptions;
  #isEnded = false;

  constructor(seed: string, mode: Mode, time: VirtualTime, options: TwilioWorldOptions) {
    const { callsPerSecond = 2, startsPerSecond = callsPerSecond, isTold = false, death } = options;
    super(seed, mode, time, isTold, death);
    this.#options = options;
    this.account = new Account({
      accountSid: SECRETS.accountSid,
      ownNumbers: [NUMBER],
      pace: PACE,
      lines: mode.lines,
      callsPerSecond: startsPerSecond,
      webhooks: { post: async (url, form) => this.#post(url, form) },
      print: (line) => this.story.tell(() => line),
    });
    for (let started = 0; started < mode.instances; started += 1) this.#spawn();
    setInterval(() => this.#any()?.sweep(), SWEEP_MS);
  }

  get calls(): readonly SimulatedCall[] {
    return this.account.calls;
  }

  /** Sends a notification through any instance, again until one answers. */
  async send(alertType: string, numbers: readonly string[], confirm: boolean, key: string): Promise<Sent> {
    const type = findAlertType(alertType) ?? ALERT_TYPES[0];
    const waves = [numbers.flatMap((number) => parsePhoneNumber(number) ?? [])];
    for (;;) {
      const instance = this.#any();
      const sent = await instance?.life
        .do(async () => instance.phone.send({ alertType: type, waves, confirm }, key, instance.log))
        .catch(() => undefined);
      if (sent !== undefined) return sent;
      await new Promise((resolve) => void setTimeout(resolve, 2_000));
    }
  }

  /** Somebody stops a notification, through any instance. */
  async stop(sent: Sent): Promise<void> {
    const instance = this.#any();
    if (sent.kind === 'sent') await instance?.life.do(async () => instance.phone.stop(sent.id, instance.log));
  }

  /** A notification as the table has it. */
  async view(sent: Sent): Promise<NotificationView | undefined> {
    if (sent.kind !== 'sent') return undefined;
    const parts = { ...this.rules, destinations: [], newId: randomUUID, tell: () => undefined };
    const store = new NotificationStore({ ...parts, table: new Table(this.table, { format: CALLS_FORMAT }) });
    const known = await store.load(sent.id);
    return known && viewOf(known, this.now);
  }

  #any() {
    const living = this.#instances.filter(({ life }) => !life.isOver);
    const instance = this.chance.anyOf(living);
    return (
      instance && {
        ...instance,
        sweep: () => runIn(instance.life, () => void instance.phone.runDue(instance.log)),
      }
    );
  }

  #spawn(): void {
    if (this.#isEnded) return;
    const life = new Life(`#${this.#instances.length + 1}`, this.chance.between(-CLOCK_AHEAD_MS, CLOCK_AHEAD_MS));
    const at =
      (level: string): Log['info'] =>
      (event, fields) => {
        this.logs.push({ event, level });
        this.story.tell(() => `${life.name} ${level} ${event} ${JSON.stringify(fields)}`);
      };
    const log: Log = { info: at('info'), warn: at('warn'), error: at('error') };
    const table = new UnreliableTable({
      table: this.table,
      life,
      chance: this.chance,
      conditions: () => this.conditions.table,
      latencyMs: 20,
      onRequest: () => this.onRequest('table'),
    });
    const settings = {
      ...SECRETS,
      source: parsePhoneNumber(NUMBER) ?? unknownNumber(),
      callsPerSecond: this.#options.callsPerSecond ?? 2,
      voice: 'Polly.Joanna',
      detectsMachines: this.#options.detectsMachines === true,
      apiBaseUrl: API,
    };
    const options = { ringMs: this.rules.ringMs, callbackBaseUrl: BASE, testCallbackBaseUrl: undefined };
    const instance = runIn(life, (): Instance => {
      const { line, instructions } = connectToTwilio(settings, options, this.#sendOf(life));
      const parts = { line, table: new Table(table, { format: CALLS_FORMAT }), serviceName: SERVICE_NAME };
      return { life, instructions, log, phone: createPhone({ ...parts, log, rules: this.rules }) };
    });
    this.#instances.push(instance);
    void life.ended.then(() => {
      this.story.tell(() => `${life.name} dies`);
      setTimeout(() => this.#spawn(), this.chance.between(10, 5_000));
    });
  }

  /** The API as one process reaches it. */
  #sendOf(life: Life): Send {
    return async (url, { method, body = '' }) => {
      const { chance } = this;
      const { lineFaults } = this.conditions.faults;
      const fault = chance.byProbability([
        [lineFaults * 0.4, 'request'],
        [lineFaults * 0.4, 'answer'],
        [lineFaults * 0.2, 'unreachable'],
      ]);
      const { pathname, searchParams: query } = new URL(url);
      const path = pathname.slice(`/2010-04-01/Accounts/${SECRETS.accountSid}`.length);
      this.story.tell(() => `${life.name} asks ${method} ${path} ${body.slice(0, 60)} ${fault ?? ''}`);
      const travel = {
        thereMs: chance.between(5, 50),
        backMs: chance.between(5, 300),
        death: this.onRequest('line'),
        lost: fault === 'request' || fault === 'answer' ? fault : undefined,
        told: { afterMs: chance.between(5, LONGEST_REQUEST_MS / 3), error: new DOMException('', 'TimeoutError') },
      } as const;
      return life.request(travel, async () => {
        if (fault === 'unreachable') throw new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } });
        const form = new URLSearchParams(body);
        this.asked.push({ at: this.now, request: `${method} ${path}`, form: method === 'GET' ? query : form });
        const reply: ApiReply = this.account.reply({ method, path, query, form });
        if (typeof reply === 'string') {
          await new Promise((resolve) => void setTimeout(resolve, reply === 'hangs' ? GIVEN_UP_MS : 0));
          throw reply === 'hangs'
            ? new DOMException('', 'TimeoutError')
            : new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } });
        }
        return { status: reply.status, headers: new Headers(), json: async () => Promise.resolve(reply.body) };
      });
    };
  }

  /** A webhook goes to any instance; if that dies, or takes too long, to any again, twice. */
  async #post(address: string, form: Form): Promise<WebhookAnswer | undefined> {
    const [url = ''] = address.split('#');
    for (let tried = 0; tried < 3; tried += 1) {
      await new Promise((resolve) => void setTimeout(resolve, this.chance.between(5, 100)));
      const { eventLoss, eventRepeat } = this.conditions.faults;
      if (this.chance.happens(eventLoss)) continue;
      const answered = this.#deliver(url, form);
      if (form['CallbackSource'] !== undefined && this.chance.happens(eventRepeat)) void this.#deliver(url, form);
      const late = new Promise<undefined>((resolve) => void setTimeout(resolve, 5_000, undefined));
      const answer = await Promise.race([answered, late]);
      if (answer !== undefined) return answer;
    }
    return undefined;
  }

  async #deliver(url: string, form: Form): Promise<WebhookAnswer | undefined> {
    const instance = this.#any();
    if (instance === undefined) return undefined;
    const { pathname, search } = new URL(url);
    const request = { path: pathname.slice(1), search, form };
    const { life, phone, instructions, log } = instance;
    this.story.tell(() => `${life.name} gets ${form['CallStatus']} ${form['Digits'] ?? ''} ${search}`);
    const body = await life.do(async () => {
      const base = await instructions.baseOf(request, signatureOf(SECRETS.authToken, url, form));
      if (base === undefined) throw new Error('a signature is not believed');
      const alertType = ALERT_TYPES.find(({ callbackPath }) => pathname.endsWith(callbackPath)) ?? ALERT_TYPES[0];
      return instructions.answer(request, base, async (events) => phone.handle(events, alertType, log), log);
    });
    return body === undefined ? undefined : { status: 200, contentType: 'text/xml', body };
  }

  /** Ends all instances. */
  end(): void {
    this.#isEnded = true;
    for (const { life } of this.#instances) life.end();
  }
}

const unknownNumber = (): never => {
  throw new RangeError('not a number');
};

/** Plays in a world of Twilio. */
export const inTwilioWorld = async <Result>(
  seed: string,
  mode: Mode,
  options: TwilioWorldOptions,
  play: (world: TwilioWorld) => Promise<Result>,
): Promise<Result> => {
  // Loaded before: what comes from a disk does not know virtual time.
  await import('../../../src/calls/providers/twilio/package.ts');
  return inVirtualTime(BEGINNING, randomFrom(`twilio, ${seed}`), options.isTold === true, async (time) => {
    const world = new TwilioWorld(seed, mode, time, options);
    const result = await play(world);
    world.end();
    return result;
  });
};
