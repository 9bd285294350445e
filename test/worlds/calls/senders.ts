import { ALERT_TYPES } from '../../../src/calls/model/alert-types.ts';
import type { NotificationId } from '../../../src/calls/model/ids.ts';
import type { NotificationRequest, Sent } from '../../../src/calls/phone.ts';
import type { PhoneNumber } from '../../../src/calls/model/phone-number.ts';
import { phoneNumber } from '../../calls/new-case.ts';
import type { Ground } from './ground.ts';
import type { Instance, Instances } from './instances.ts';

const MOST_REQUESTS = 3;
const SENT_WITHIN_MS = 60_000;
const AGAIN_AFTER_MS = 1_500;
const MOST_TRIES = 200;
const STOPPED_WITHIN_MS = 180_000;
const REPEATED_WITHIN_MS = 240_000;
// Outside the allowed prefixes: it is never called.
const FORBIDDEN_NUMBER = '+442071838750';

/** A notification request, its answers, and later requests about it. */
export interface SentRequest {
  readonly request: NotificationRequest;
  readonly key: string;
  /** All answers to it, those to repeats included. */
  readonly answers: Sent[];
  /** That it is to be stopped, and when that was answered. */
  stop?: { answeredAt?: number };
}

/** The id under which a request is known. */
export const idOf = ({ answers }: Pick<SentRequest, 'answers'>): NotificationId | undefined => {
  const [first] = answers;
  return first?.kind === 'sent' ? first.id : undefined;
};

/** People and systems who send notification requests, repeat them, and stop some. */
export class Senders {
  readonly sent: SentRequest[] = [];
  readonly #ground: Ground;
  readonly #instances: Instances;

  constructor(ground: Ground, instances: Instances) {
    this.#ground = ground;
    this.#instances = instances;
  }

  /** Sends a request until it is answered. */
  send(request: NotificationRequest, key: string): SentRequest {
    const sent: SentRequest = { request, key, answers: [] };
    this.sent.push(sent);
    this.#ask(sent);
    return sent;
  }

  /** Stops a notification, again until that is answered. */
  stop(sent: SentRequest): void {
    const id = idOf(sent);
    if (id === undefined) return;
    const stop: SentRequest['stop'] = {};
    sent.stop ??= stop;
    this.#ground.worldLog.add(() => `${sent.key} is to be stopped`);
    this.#withAny(`stop ${sent.key}`, async ({ phone, log }) => {
      await phone.stop(id, log);
      stop.answeredAt ??= this.#ground.now;
    });
  }

  /** An operator acknowledges a notification, again until that is answered. */
  acknowledge(sent: SentRequest, by: string): void {
    const id = idOf(sent);
    if (id === undefined) return;
    this.#withAny(`acknowledge ${sent.key}`, async ({ phone, log }) => void (await phone.acknowledge(id, by, log)));
  }

  /** Sends some requests at random, each with a key; some twice at once, some again later, and some are stopped. */
  sendSome(): void {
    const { chance, mode } = this.#ground;
    const later = (withinMs: number, run: () => void) => setTimeout(run, chance.between(500, withinMs));
    const sendOne = (index: number): void => {
      const sent = this.send(someRequest(index, this.#ground), `key ${index}`);
      if (chance.happens(0.2)) this.#ask(sent);
      if (chance.happens(0.3)) later(REPEATED_WITHIN_MS, () => this.#ask(sent));
      for (const probability of [mode.stops, mode.stops / 2])
        if (chance.happens(probability)) later(STOPPED_WITHIN_MS, () => this.stop(sent));
    };
    const requests = chance.wholeBetween(1, MOST_REQUESTS);
    for (let index = 0; index < requests; index += 1) later(SENT_WITHIN_MS, () => sendOne(index));
  }

  #ask(sent: SentRequest): void {
    this.#withAny(`send ${sent.key}`, async ({ life, phone, log }) => {
      const answer = await phone.send(sent.request, sent.key, log);
      this.#ground.worldLog.add(() => `${life.name} answers ${sent.key}: ${JSON.stringify(answer)}`);
      sent.answers.push(answer);
    });
  }

  /** Asks any instance, and other instances until one answers. */
  #withAny(what: string, ask: (instance: Instance) => Promise<void>, tries = 1): void {
    const again = () => {
      if (tries < MOST_TRIES) setTimeout(() => this.#withAny(what, ask, tries + 1), AGAIN_AFTER_MS);
    };
    const instance = this.#instances.any();
    if (instance === undefined) {
      again();
      return;
    }
    const isDone = async (): Promise<boolean> =>
      ask(instance).then(
        () => true,
        (error: unknown) => {
          this.#ground.worldLog.add(() => `${instance.life.name} answers ${what}: ${String(error)}`);
          return false;
        },
      );
    void instance.life.do(isDone).then((done) => {
      if (done !== true) again();
    });
  }
}

/** The numbers of a request, in its order. */
export const numbersOf = ({ waves }: NotificationRequest): readonly PhoneNumber[] =>
  waves.flat().map(({ number }) => number);

/** A fictitious number. @param request keeps the numbers of two requests apart */
export const someNumber = (request: number, index: number): PhoneNumber =>
  phoneNumber(`+1206${5_550_000 + request * 1_000 + index}`);

/** The first people of a group. Groups have different numbers. */
export const people = (count: number, group = 0): PhoneNumber[] =>
  Array.from({ length: count }, (_, index) => someNumber(group, index));

/** One list of callees a wave. */
export const wavesOf = (...waves: readonly (readonly PhoneNumber[])[]): NotificationRequest['waves'] =>
  waves.map((wave) => wave.map((number) => ({ number })));

const someRequest = (index: number, { mode, chance }: Ground): NotificationRequest => {
  const count = chance.wholeBetween(1, mode.mostRecipients);
  const group = mode.areShared === true ? 0 : index;
  const numbers = Array.from({ length: count }, (_, recipient) => {
    const ending = chance.anyOf(mode.endings ?? []);
    return ending === undefined
      ? someNumber(group, recipient)
      : phoneNumber(`+1206${55_500 + group * 50 + recipient}${ending}`);
  });
  if (chance.happens(0.1)) numbers.push(phoneNumber(FORBIDDEN_NUMBER));
  const confirm = chance.happens(mode.confirms);
  const request = {
    alertType: chance.anyOf(ALERT_TYPES) ?? ALERT_TYPES[0],
    confirm,
    ...(chance.happens(0.3) && { details: `Ridge ${index}, camera 4` }),
  };
  if (!confirm || !chance.happens(mode.confirms))
    return { ...request, waves: [numbers.map((number) => ({ number, name: 'Ana' }))] };
  const waves: { readonly number: PhoneNumber }[][] = [[]];
  for (const number of numbers) {
    if (waves.at(-1)?.length !== 0 && chance.happens(0.5)) waves.push([]);
    waves.at(-1)?.push({ number });
  }
  const needed = chance.happens(0.5) ? { confirmationsNeeded: chance.wholeBetween(1, numbers.length) } : {};
  const waveMs = chance.wholeBetween(30, 90) * 1_000;
  return { ...request, confirm, waves, waveMs, reference: `fire ${index}`, ...needed };
};
