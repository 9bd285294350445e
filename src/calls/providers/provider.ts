import type { TokenCredential } from '@azure/identity';

import type { Connection } from '../../azure/connection.ts';
import { lazily } from '../../azure/lazily.ts';
import type { Log } from '../../log.ts';
import type { PhoneProvider } from '../model/phone-provider.ts';
import { type AcsOptions, AcsProvider, connectToAcs } from './acs/acs-provider.ts';
import { createTokenVerifier, type TokenRules } from './acs/callback-token.ts';
import { parseCallEvents } from './acs/call-events.ts';
import type { EventCallbacks, InstructionCallbacks } from './callbacks.ts';
import { type TwilioCallbackOptions, TwilioCallbacks } from './twilio/twilio-callbacks.ts';
import { type TwilioAccount, type TwilioOptions, TwilioProvider } from './twilio/twilio-provider.ts';

/** The settings that all providers share. */
interface CommonOptions extends Pick<TwilioOptions, 'callbackBaseUrl' | 'ringMs'> {
  /** Debug builds: the base for test calls; undefined: the usual one. */
  readonly testCallbackBaseUrl: string | undefined;
}

/** How Twilio is reached and how it calls. */
type TwilioSettings = TwilioAccount &
  Omit<TwilioOptions, keyof CommonOptions> &
  Pick<TwilioCallbackOptions, 'authTokens'>;

/** How the one provider that is configured is reached, and how it calls. */
type ProviderOptions = CommonOptions &
  ((AcsOptions & TokenRules & { readonly connection: Connection }) | { readonly twilio: TwilioSettings });

/** The port that places calls, and the parser of the callbacks about them. */
export interface ConfiguredProvider {
  readonly provider: PhoneProvider;
  readonly callbacks: EventCallbacks | { readonly instructions: InstructionCallbacks };
}

/**
 * The configured provider. No other file knows which providers exist.
 *
 * @param credential the app's own identity, for a provider that accepts it
 */
export const connectToProvider = (
  options: ProviderOptions,
  credential: TokenCredential,
  log: Log,
): ConfiguredProvider => {
  if ('twilio' in options) {
    const { twilio, callbackBaseUrl, testCallbackBaseUrl } = options;
    const baseUrls = [callbackBaseUrl, ...(testCallbackBaseUrl === undefined ? [] : [testCallbackBaseUrl])];
    return {
      provider: new TwilioProvider(twilio, { ...options, ...twilio }),
      callbacks: { instructions: new TwilioCallbacks({ ...twilio, baseUrls }) },
    };
  }
  const verifyToken = createTokenVerifier(options);
  if (verifyToken === undefined) log.warn('callbacks are not verified', { missing: 'ACS_RESOURCE_ID' });
  return {
    provider: new AcsProvider(
      lazily(() => connectToAcs(options.connection, credential)),
      options,
    ),
    callbacks: { parseEvents: parseCallEvents, verifyToken },
  };
};
