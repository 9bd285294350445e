import { randomUUID } from 'node:crypto';

import { exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from 'jose';

/** What a test may change in a token. */
export interface TokenClaims {
  readonly issuer?: string;
  readonly audience?: string;
  /** Seconds from now; negative for a token that has expired, `never` for one without an expiry. */
  readonly expiresIn?: number | 'never';
}

/** Signs the tokens that callbacks carry. */
export interface TokenSigner {
  /** The public keys, as `/calling/keys` serves them. */
  readonly keySet: JSONWebKeySet;
  /** A token as ACS makes it for every event: RS256, five minutes. */
  sign(claims?: TokenClaims): Promise<string>;
}

const LIFETIME_SECONDS = 300;

/** All signers of a process share one key pair, each under an id of its own: making one takes longer than most tests. */
let keyPair: ReturnType<typeof generateKeyPair> | undefined;

/** A token signer with a new key id. */
export const createTokenSigner = async (issuer: string, audience: string): Promise<TokenSigner> => {
  keyPair ??= generateKeyPair('RS256', { extractable: true });
  const { privateKey, publicKey } = await keyPair;
  const kid = randomUUID();
  return {
    keySet: { keys: [{ ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'RS256' }] },
    sign: async (claims = {}) => {
      const { expiresIn = LIFETIME_SECONDS } = claims;
      const now = Math.floor(Date.now() / 1_000);
      const token = new SignJWT({})
        .setProtectedHeader({ alg: 'RS256', kid, typ: 'JWT' })
        .setIssuer(claims.issuer ?? issuer)
        .setAudience(claims.audience ?? audience)
        .setIssuedAt(now)
        .setNotBefore(now - 1);
      return (expiresIn === 'never' ? token : token.setExpirationTime(now + expiresIn)).sign(privateKey);
    },
  };
};
