import type { TokenCredential } from '@azure/identity';

import type { Connection } from '../../azure/connection.ts';
import { lazily } from '../../azure/lazily.ts';
import type { Log } from '../../log.ts';
import type { PhoneLine } from '../model/phone-line.ts';
import { type AcsLineOptions, AcsPhoneLine, connectToAcs } from './acs/acs-phone-line.ts';
import { parseCallEvents } from './acs/call-events.ts';
import { createTokenVerifier, type TokenRules } from './acs/callback-token.ts';
import type { EventCallbacks, InstructionCallbacks } from './callbacks.ts';
import { type ConnectOptions, connectToTwilio, type TwilioOptions } from './twilio/connect.ts';

/** How the one provider that is configured is reached, and how it calls. */
export type ProviderOptions = ConnectOptions &
  (
    | (Omit<AcsLineOptions, 'callbackBaseUrl'> & TokenRules & { readonly connection: Connection })
    | { readonly twilio: TwilioOptions }
  );

/** Who places the calls: the line, and what understands the callbacks about them. */
export interface Provider {
  readonly line: PhoneLine;
  readonly callbacks: EventCallbacks | { readonly instructions: InstructionCallbacks };
}

/**
 * The provider that is configured: the only place that knows which there are.
 *
 * @param credential the app's own identity, for a provider that takes it
 */
export const connectToProvider = (options: ProviderOptions, credential: TokenCredential, log: Log): Provider => {
  if ('twilio' in options) {
    const { line, instructions } = connectToTwilio(options.twilio, options);
    return { line, callbacks: { instructions } };
  }
  const client = lazily(() => connectToAcs(options.connection, credential));
  const verifyToken = createTokenVerifier(options);
  if (verifyToken === undefined) log.warn('callbacks are not verified', { missing: 'ACS_RESOURCE_ID' });
  return { line: new AcsPhoneLine(client, options), callbacks: { parseEvents: parseCallEvents, verifyToken } };
};
