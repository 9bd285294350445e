import type { Log } from '../../../log.ts';
import type { CallEvent } from '../../model/call-event.ts';
import type { InstructionCallbacks, InstructionRequest } from '../callbacks.ts';
import { type Address, addressOf, readAddress } from './addresses.ts';
import { readCallEvent } from './call-events.ts';
import type { Command, OpenRequests } from './open-requests.ts';
import { type Instruction, twimlOf } from './twiml.ts';

/** How the callbacks of one account are verified and answered. */
export interface TwilioCallbackOptions {
  /** Signs what Twilio posts, also where an API key is used for requests. */
  readonly authToken: string;
  /** The bases of the addresses that Twilio was given, without a slash at their ends. */
  readonly baseUrls: readonly string[];
  /** That of the speech. */
  readonly voice: string;
}

/** Twilio waits for 5 s: see the rules in our addresses. */
const ANSWERED_WITHIN_MS = 4_200;
/** The rest of what an event asks for may go on after the answer. */
const WRITTEN_WITHIN_MS = 700;
/** A key without a meaning stops what is said: it is said again so often. */
const MOST_AGAIN = 3;
/** Longer than the service waits for keys: it hangs up meanwhile. */
const LISTENS_SECONDS = 10;
/** A call asks again so often what to do if nobody knows. */
const MOST_ASKED = 5;

/** Loaded with the first callback. */
const loaded = async () => import('./package.ts');

/** What something comes to; undefined if that takes longer, and it goes on. */
const within = async <Result>(ms: number, doing: Promise<Result>): Promise<Result | undefined> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  try {
    return await Promise.race([doing, late]);
  } finally {
    clearTimeout(timer);
  }
};

/** What Twilio posts, and what it is answered: what a call is to do now. */
export class TwilioCallbacks implements InstructionCallbacks {
  readonly signatureHeader = 'x-twilio-signature';
  readonly #open: OpenRequests;
  readonly #options: TwilioCallbackOptions;

  constructor(open: OpenRequests, options: TwilioCallbackOptions) {
    this.#open = open;
    this.#options = options;
  }

  async baseOf({ path, search, form }: InstructionRequest, signature: string): Promise<string | undefined> {
    if (signature === '') return undefined;
    const { validateRequest } = await loaded();
    return this.#options.baseUrls.find((base) =>
      validateRequest(this.#options.authToken, signature, `${base}/${path}${search}`, { ...form }),
    );
  }

  async answer(
    request: InstructionRequest,
    base: string,
    handle: (events: readonly CallEvent[]) => Promise<void>,
    log: Log,
  ): Promise<string> {
    const address = readAddress(request.search);
    const event = readCallEvent(request.form, address);
    if (event === undefined) log.warn('callback events without a call id', { events: 1 });
    if (event === 'other') log.info('callback events of other kinds', { events: 1 });
    if (typeof event !== 'object') return this.#twiml({ kind: 'nothing' });
    if (event.isAwaiting !== true) {
      await handle([event]);
      return this.#twiml({ kind: 'nothing' });
    }
    const command = await this.#commandFor(event, handle);
    return this.#twiml(this.#instructionOf(command, event, address, `${base}/${request.path}`));
  }

  /** What the service asks the call to do, while it handles the event; undefined if it does not say so in time. */
  async #commandFor(
    event: CallEvent,
    handle: (events: readonly CallEvent[]) => Promise<void>,
  ): Promise<Command | undefined> {
    const commanded = this.#open.wait(event.callId);
    const handled = handle([event]).then(() => undefined);
    try {
      const command = await within(ANSWERED_WITHIN_MS, Promise.race([commanded, handled]));
      // What is written down with it is written before the answer, unless that takes long.
      if (command !== undefined) await within(WRITTEN_WITHIN_MS, handled);
      return command;
    } finally {
      this.#open.close(event.callId);
    }
  }

  #instructionOf(command: Command | undefined, { kind }: CallEvent, address: Address, path: string): Instruction {
    const { attempt, speech, again } = address;
    const step = address.step + 1;
    const at = (occasion: 'key' | 'end', more: Partial<Omit<Address, 'occasion'>> = {}) =>
      addressOf(path, { occasion, attempt, speech, step, again, ...more });
    if (command === undefined) {
      return again >= MOST_ASKED
        ? { kind: 'hang up' }
        : { kind: 'ask again', address: addressOf(path, { occasion: 'start', attempt, step, again: again + 1 }) };
    }
    switch (command.kind) {
      case 'hang up':
        return { kind: 'hang up' };
      case 'listen':
        return { kind: 'listen', seconds: LISTENS_SECONDS, keys: at('key'), end: at('end') };
      case 'speak': {
        const isAgain = kind === 'tone received' && command.speech === speech;
        const said = address.occasion === 'start' ? 0 : again;
        const times = isAgain ? said + 1 : said;
        const own = { speech: command.speech, again: times };
        if (times > MOST_AGAIN) return { kind: 'listen', seconds: 1, keys: at('key', own), end: at('end', own) };
        return {
          kind: 'speak',
          text: command.text,
          keys: command.hasKeys ? at('key', own) : undefined,
          end: at('end', own),
        };
      }
    }
  }

  async #twiml(instruction: Instruction): Promise<string> {
    return twimlOf((await loaded()).VoiceResponse, instruction, this.#options);
  }
}
