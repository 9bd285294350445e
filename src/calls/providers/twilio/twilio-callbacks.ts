import {
  MESSAGE,
  MAX_REPEATS,
  type PromptNumber,
  promptOf,
  GOODBYE_CONFIRMED,
  GOODBYE_CANNOT_GO,
} from '../../model/ids.ts';
import type { CallEvent, CallMessage } from '../../model/phone-provider.ts';
import type { CallbackHandler, InstructionCallbacks, InstructionRequest } from '../callbacks.ts';
import { type Address, addressOf, readAddress } from './addresses.ts';
import { callEvent, isStatus } from './call-events.ts';
import { messageTwiml, NOTHING, twimlOf } from './twiml.ts';
import { meaningOfKey, goodbyeText } from '../../rules/message.ts';
import type { Log } from '../../../log.ts';

/** How the callbacks of one account are verified and answered. */
export interface TwilioCallbackOptions {
  /** Twilio signs with one of them, even if an API key is used for requests. Two while they are rotated. */
  readonly authTokens: readonly string[];
  /** The bases of the addresses that Twilio was given, without a slash at their ends. */
  readonly baseUrls: readonly string[];
  /** One of Twilio's voices, such as `Polly.Joanna`. */
  readonly voice: string;
}

/** The answer waits this long for the work of an event, which continues after it. Twilio waits for 5 s: see the rules in our addresses. */
const HANDLED_WITHIN_MS = 4_200;
/** After that, reading the message may take this long. */
const MESSAGE_WITHIN_MS = 700;
/** A callee who said that they cannot go may still confirm for this time after the goodbye. */
const LISTENS_AFTER_GOODBYE_SECONDS = 1;

/** The result of a promise; undefined if it takes longer. The work continues. */
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

/** The requests of Twilio, and their answers: the next step of a call. Each answer depends on its request alone. */
export class TwilioCallbacks implements InstructionCallbacks {
  readonly signatureHeader = 'x-twilio-signature';
  readonly #options: TwilioCallbackOptions;

  constructor(options: TwilioCallbackOptions) {
    this.#options = options;
  }

  async answer(request: InstructionRequest, phone: CallbackHandler, log: Log): Promise<string | undefined> {
    const path = await this.#signedPath(request);
    return path === undefined ? undefined : this.answerSigned(request, path, phone, log);
  }

  /** The path of ours that Twilio has signed, with its base; undefined: the signature is wrong. */
  async #signedPath({ path, search, form, signature }: InstructionRequest): Promise<string | undefined> {
    const { authTokens, baseUrls } = this.#options;
    // Loaded with the first callback.
    const { validateRequest } = await import('./package.ts');
    const queries = sentQueries(search);
    return baseUrls
      .map((base) => `${base}/${path}`)
      .find((address) =>
        queries.some((query) =>
          authTokens.some((token) => validateRequest(token, signature, `${address}${query}`, { ...form })),
        ),
      );
  }

  /** Answers a request whose signature is right. @param path of the callback, with its base: the requests that follow go there */
  async answerSigned(
    request: Omit<InstructionRequest, 'path' | 'signature'>,
    path: string,
    phone: CallbackHandler,
    log: Log,
  ): Promise<string> {
    const address = readAddress(request.search);
    const { voice } = this.#options;
    if (address.occasion === undefined) {
      // A call that another system placed. It asks what to say once it is answered.
      if (isStatus(request.form, address)) return NOTHING;
      const { unit } = await phone.messageOf(undefined);
      return twimlOf({ say: unit, times: 3 }, voice);
    }
    const event = callEvent(request.form, address);
    if (event === undefined) log.warn('callback events without a call id', { events: 1 });
    if (event === 'other') log.info('callback events of other kinds', { events: 1 });
    if (typeof event !== 'object') return NOTHING;
    if (address.occasion === 'status') {
      await phone.handle([event]);
      return NOTHING;
    }
    // Read at the same time: while storage hangs, the callee must not wait for both.
    const message = event.kind === 'tone received' ? phone.messageOf(event.attempt).catch(() => undefined) : undefined;
    const handled = within(HANDLED_WITHIN_MS, phone.handle([event]));
    if (message === undefined) {
      await handled;
      return twimlOf({}, voice);
    }
    return this.#answerToKey(event, handled, address, path, message);
  }

  /** @param handled whether the key was stored; undefined if that takes too long */
  async #answerToKey(
    { key }: CallEvent,
    handled: Promise<boolean | undefined>,
    { attempt, prompt, keys }: Address,
    path: string,
    reading: Promise<CallMessage | undefined>,
  ): Promise<string> {
    const { voice } = this.#options;
    const at = { attempt, keys: keys + 1 };
    const said = meaningOfKey(key?.key);
    const isStored = (await handled) === true;
    // No goodbye follows a 1 that was not stored: the callee hears the message again, and presses again.
    if (said === 'confirms' && isStored) return twimlOf({ say: goodbyeText(GOODBYE_CONFIRMED) }, voice);
    if (said === 'cannot go' || (prompt === GOODBYE_CANNOT_GO && said !== 'confirms')) {
      const addressOfKeys = addressOf(path, { ...at, occasion: 'key', prompt: GOODBYE_CANNOT_GO });
      const goodbye = said === 'cannot go' ? goodbyeText(GOODBYE_CANNOT_GO) : undefined;
      return twimlOf({ say: goodbye, keys: addressOfKeys, listenSeconds: LISTENS_AFTER_GOODBYE_SECONDS }, voice);
    }
    const next = nextPrompt(prompt, said === 'repeat');
    if (next !== undefined) {
      const message = await within(MESSAGE_WITHIN_MS, reading);
      if (message !== undefined) return messageTwiml(message, path, { ...at, prompt: next }, voice);
    }
    const own = { ...at, prompt };
    return twimlOf(
      { keys: addressOf(path, { ...own, occasion: 'key' }), end: addressOf(path, { ...own, occasion: 'end' }) },
      voice,
    );
  }
}

/** The prompt after a key that neither confirms nor declines; undefined: none, because the message was repeated often enough. */
const nextPrompt = (prompt: PromptNumber, isRepeat: boolean): PromptNumber | undefined => {
  if (prompt > MAX_REPEATS) return MESSAGE;
  if (!isRepeat) return prompt;
  return prompt < MAX_REPEATS ? promptOf(prompt + 1) : undefined;
};

/** With more apostrophes, either all of them were encoded, or none. */
const MAX_APOSTROPHES = 3;

/** The queries that may have been sent: the worker encodes an apostrophe, and the signature is of the text before that. */
const sentQueries = (search: string): readonly string[] => {
  const [first = '', ...parts] = search.split('%27');
  if (parts.length > MAX_APOSTROPHES) return [search, search.replaceAll('%27', "'")];
  return parts.reduce<readonly string[]>(
    (queries, part) => queries.flatMap((query) => [`${query}%27${part}`, `${query}'${part}`]),
    [first],
  );
};
