import type { CallMessage } from '../../model/phone-provider.ts';
import { addressOf } from './addresses.ts';
import { KEYS_AFTER_MS, REPETITIONS } from '../../rules/message.ts';

/** The next step of a call, and its end. */
interface Instruction {
  /** The text; undefined: no text. */
  readonly say?: string | undefined;
  /** How often the text is spoken: once by default. */
  readonly times?: number;
  /** Where a key is posted; undefined: the call does not listen. A key ends the prompt. */
  readonly keys?: string | undefined;
  /** How long the call listens after the last word, in whole seconds; by default, as long as keys count. */
  readonly listenSeconds?: number;
  /** Where Twilio posts after the text and the wait for keys; undefined: the call hangs up. */
  readonly end?: string | undefined;
}

const KEYS_AFTER_SECONDS = Math.round(KEYS_AFTER_MS / 1_000);

/** Characters that no XML can hold. */
const NOT_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

const escaped = (text: string): string =>
  text.toWellFormed().replaceAll(NOT_XML, ' ').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const attribute = (text: string): string => escaped(text).replaceAll('"', '&quot;');

/**
 * An instruction as TwiML. Twilio's package could write it too, but only once it is loaded, which takes a fifth of the app's start.
 *
 * @param voice one of Twilio's, such as `Polly.Joanna`
 */
export const twimlOf = (
  { say, times = 1, keys, listenSeconds = KEYS_AFTER_SECONDS, end }: Instruction,
  voice: string,
): string => {
  const loop = times === 1 ? '' : ` loop="${times}"`;
  const said =
    say === undefined ? '' : `<Say voice="${attribute(voice)}" language="en-US"${loop}>${escaped(say)}</Say>`;
  // Without `finishOnKey` the key # would post nothing.
  const heard =
    keys === undefined
      ? said
      : `<Gather input="dtmf" numDigits="1" finishOnKey="" timeout="${listenSeconds}" method="POST" action="${attribute(keys)}">${said}</Gather>`;
  const last = end === undefined ? '<Hangup/>' : `<Redirect method="POST">${escaped(end)}</Redirect>`;
  return `<?xml version="1.0" encoding="UTF-8"?><Response>${heard}${last}</Response>`;
};

/** The empty answer to a request. */
export const NOTHING = '<?xml version="1.0" encoding="UTF-8"?><Response/>';

/**
 * The speech of a call from its beginning: the message, and afterwards a report of its end.
 *
 * @param path the path of the callback, with its base
 */
export const messageTwiml = (
  { unit, hasKeys }: CallMessage,
  path: string,
  at: Omit<Parameters<typeof addressOf>[1], 'occasion'>,
  voice: string,
): string =>
  twimlOf(
    {
      say: unit,
      times: REPETITIONS,
      keys: hasKeys ? addressOf(path, { ...at, occasion: 'key' }) : undefined,
      end: addressOf(path, { ...at, occasion: 'end' }),
    },
    voice,
  );
