import { randomUUID } from 'node:crypto';

import { exportJWK, generateKeyPair, SignJWT } from 'jose';

/** Signs the tokens of callbacks. */
export type TokenSigner = Awaited<ReturnType<typeof createTokenSigner>>;

/** All signers of a process share one key pair under different ids: making a key pair takes longer than most tests. */
let keyPair: ReturnType<typeof generateKeyPair> | undefined;

/** A token signer with a new key id. */
export const createTokenSigner = async (ownIssuer: string, ownAudience: string) => {
  keyPair ??= generateKeyPair('RS256', { extractable: true });
  const { privateKey, publicKey } = await keyPair;
  const kid = randomUUID();
  return {
    /** The public keys, as ACS publishes them. */
    keySet: { keys: [{ ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'RS256' }] },
    /**
     * A token as ACS makes it for every event: RS256, five minutes. A test may change its parts.
     *
     * @param expiresIn in seconds; negative: the token has expired
     */
    sign: async ({
      issuer = ownIssuer,
      audience = ownAudience,
      expiresIn = 300,
    }: { issuer?: string; audience?: string; expiresIn?: number | 'never' } = {}): Promise<string> => {
      const now = Math.floor(Date.now() / 1_000);
      const expiry = expiresIn !== 'never' && { exp: now + expiresIn };
      return new SignJWT({ iss: issuer, aud: audience, iat: now, nbf: now - 1, ...expiry })
        .setProtectedHeader({ alg: 'RS256', kid, typ: 'JWT' })
        .sign(privateKey);
    },
  };
};
