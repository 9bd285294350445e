import type { VoiceResponse } from './package.ts';

/** How a text is spoken. */
export interface Voice {
  /** One of Twilio's, such as `Polly.Joanna`. */
  readonly voice: string;
}

/** What a call is to do now. */
export type Instruction =
  /** Speaks; with `keys` the first key ends it. Afterwards `end` is asked. */
  | { readonly kind: 'speak'; readonly text: string; readonly keys: string | undefined; readonly end: string }
  /** Says nothing and listens for keys so long, in whole seconds; then `end` is asked. */
  | { readonly kind: 'listen'; readonly seconds: number; readonly keys: string; readonly end: string }
  /** Asks again after a second. */
  | { readonly kind: 'ask again'; readonly address: string }
  | { readonly kind: 'hang up' }
  /** To a callback that asks for nothing. */
  | { readonly kind: 'nothing' };

/** Keys after the last word: what follows it waits longer. */
const KEYS_AFTER_SECONDS = 1;

// Characters that no XML can hold.
const NOT_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;

/**
 * An instruction as TwiML.
 *
 * @param Response the class of Twilio's package, which is loaded when it is needed
 */
export const twimlOf = (Response: typeof VoiceResponse, instruction: Instruction, { voice }: Voice): string => {
  const response = new Response();
  const gather = (action: string, timeout: number) =>
    // Without `finishOnKey` a # would ask nothing.
    response.gather({ input: ['dtmf'], numDigits: 1, finishOnKey: '', timeout, action, method: 'POST' });
  switch (instruction.kind) {
    case 'speak': {
      const { text, keys, end } = instruction;
      const speaker = keys === undefined ? response : gather(keys, KEYS_AFTER_SECONDS);
      speaker.say({ voice: voiceOf(voice), language: 'en-US' }, text.toWellFormed().replaceAll(NOT_XML, ' '));
      response.redirect({ method: 'POST' }, end);
      break;
    }
    case 'listen':
      gather(instruction.keys, instruction.seconds);
      response.redirect({ method: 'POST' }, instruction.end);
      break;
    case 'ask again':
      response.pause({ length: 1 });
      response.redirect({ method: 'POST' }, instruction.address);
      break;
    case 'hang up':
      response.hangup();
      break;
    case 'nothing':
      break;
  }
  return response.toString();
};

type SayVoice =
  NonNullable<Parameters<InstanceType<typeof VoiceResponse>['say']>[0]> extends infer Given
    ? Given extends { voice?: infer Name }
      ? NonNullable<Name>
      : never
    : never;

// The package's list of voices ends with the day it was published; the setting may name a newer one.
const isVoice = (name: string): name is SayVoice => /^[\w.-]+$/.test(name);

const voiceOf = (name: string): SayVoice => {
  if (!isVoice(name)) throw new RangeError('not a voice');
  return name;
};
