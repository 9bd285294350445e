import type { PhoneLine } from '../../model/phone-line.ts';
import type { InstructionCallbacks } from '../callbacks.ts';
import { OpenRequests } from './open-requests.ts';
import { type Send, TwilioApi, type TwilioAccount } from './twilio-api.ts';
import { TwilioCallbacks } from './twilio-callbacks.ts';
import { type TwilioLineOptions, TwilioPhoneLine } from './twilio-phone-line.ts';

/** How Twilio is reached and how it calls. */
export interface TwilioOptions
  extends TwilioAccount, Pick<TwilioLineOptions, 'source' | 'callsPerSecond' | 'detectsMachines'> {
  /** Signs callbacks. */
  readonly authToken: string;
  readonly voice: string;
}

/** What is the same for every provider. */
export interface ConnectOptions {
  /** How long a phone rings, in milliseconds. */
  readonly ringMs: number;
  readonly callbackBaseUrl: string;
  /** Debug builds: the base for test calls; undefined: the usual one. */
  readonly testCallbackBaseUrl: string | undefined;
}

/**
 * The line of Twilio and what answers its callbacks: the two share the requests of Twilio that wait for an answer.
 *
 * @param send by default `fetch`
 */
export const connectToTwilio = (
  twilio: TwilioOptions,
  { ringMs, callbackBaseUrl, testCallbackBaseUrl }: ConnectOptions,
  send?: Send,
): { readonly line: PhoneLine; readonly instructions: InstructionCallbacks } => {
  const open = new OpenRequests();
  const { authToken, voice } = twilio;
  const baseUrls = [callbackBaseUrl, ...(testCallbackBaseUrl === undefined ? [] : [testCallbackBaseUrl])];
  return {
    line: new TwilioPhoneLine(new TwilioApi(twilio, send), open, { ...twilio, ringMs, callbackBaseUrl }),
    instructions: new TwilioCallbacks(open, { authToken, voice, baseUrls }),
  };
};
