import type { TokenCredential } from '@azure/identity';
import { withDeadline } from './deadline.ts';

/** How long a token may take, in milliseconds: less than one try of any request to a provider. */
const TOKEN_MS = 3_000;

/** Thrown if a token does not come in time. The request that needed it was not sent. */
export class TokenTimeout extends Error {
  override readonly name = 'TokenTimeout';
}

/**
 * A credential whose tokens come within {@link TOKEN_MS}. All requests of an SDK's client wait for the same token request. Without a deadline, a
 * hung token request would block them all until the process ends.
 */
export const withTokenDeadline = (credential: TokenCredential): TokenCredential => ({
  getToken: async (scopes, options) =>
    withDeadline(TOKEN_MS, async () => credential.getToken(scopes, options)).catch((error: unknown) => {
      throw error instanceof DOMException && error.name === 'TimeoutError'
        ? new TokenTimeout('no token in time')
        : error;
    }),
});

/** The app's own identity in Azure. Loads @azure/identity with the first token: loading it doubles the time the app takes to start. */
export const lazyCredential = (): TokenCredential => {
  let credential: Promise<TokenCredential> | undefined;
  return withTokenDeadline({
    getToken: async (scopes, options) => {
      credential ??= import('@azure/identity').then(({ DefaultAzureCredential }) => new DefaultAzureCredential());
      return (await credential).getToken(scopes, options);
    },
  });
};
