import type { TokenCredential } from '@azure/identity';

/**
 * The app's own identity in Azure. @azure/identity is loaded when the first token is asked for: with connection strings it never
 * is, and it would double the time that the app takes to start.
 */
export const lazyCredential = (): TokenCredential => {
  let credential: Promise<TokenCredential> | undefined;
  return {
    getToken: async (scopes, options) => {
      credential ??= import('@azure/identity').then(({ DefaultAzureCredential }) => new DefaultAzureCredential());
      return (await credential).getToken(scopes, options);
    },
  };
};
