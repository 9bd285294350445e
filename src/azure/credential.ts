import type { TokenCredential } from '@azure/identity';

/** The app's own identity in Azure. Loads @azure/identity with the first token: loading it doubles the time the app takes to start. */
export const lazyCredential = (): TokenCredential => {
  let credential: Promise<TokenCredential> | undefined;
  return {
    getToken: async (scopes, options) => {
      credential ??= import('@azure/identity').then(({ DefaultAzureCredential }) => new DefaultAzureCredential());
      return (await credential).getToken(scopes, options);
    },
  };
};
