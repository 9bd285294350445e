import { createRemoteJWKSet, errors, jwtVerify, type JWTVerifyGetKey } from 'jose';

import type { VerifyToken } from '../callbacks.ts';

/** Whose tokens are believed. */
export interface TokenRules {
  /** The ACS resource's immutable id: the audience of its tokens. Undefined: tokens are not verified. */
  readonly resourceId: string | undefined;
  readonly tokenIssuer: string;
  /** Where the issuer's public keys are. */
  readonly tokenKeysUrl: string;
}

const KEYS_CACHED_MS = 3_600_000;
// An unknown key has the set fetched again, at most this often: anybody can make up key ids.
const KEYS_COOL_DOWN_MS = 30_000;
const KEYS_DEADLINE_MS = 5_000;
const LEEWAY_SECONDS = 30;

/** Thrown inside the verification where the key set cannot be had. */
class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/**
 * Makes the verification of the token that ACS signs every callback with. To be made once: it holds the key set, which is
 * fetched with the first token and shared by all that wait for it.
 *
 * @returns undefined where there is no resource id to verify tokens against
 * @example
 * const verifyToken = createTokenVerifier({ resourceId, tokenIssuer, tokenKeysUrl });
 * await verifyToken?.(request.headers.get('authorization')); // 'valid'
 */
export const createTokenVerifier = ({ resourceId, tokenIssuer, tokenKeysUrl }: TokenRules): VerifyToken | undefined => {
  if (resourceId === undefined) return undefined;
  const keys = reportingOutages(
    createRemoteJWKSet(new URL(tokenKeysUrl), {
      cacheMaxAge: KEYS_CACHED_MS,
      cooldownDuration: KEYS_COOL_DOWN_MS,
      timeoutDuration: KEYS_DEADLINE_MS,
    }),
  );
  return async (authorization) => {
    const token = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+) *$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return 'invalid';
    try {
      await jwtVerify(token, keys, {
        issuer: tokenIssuer,
        audience: resourceId,
        algorithms: ['RS256'],
        clockTolerance: LEEWAY_SECONDS,
        // jose checks an expiry only where there is one.
        requiredClaims: ['exp'],
      });
      return 'valid';
    } catch (error) {
      if (error instanceof KeysUnavailable) return 'unknown';
      if (error instanceof errors.JOSEError) return 'invalid';
      throw error;
    }
  };
};

// What the key set throws about the token is the token's fault; everything else it throws is an outage of the keys.
const reportingOutages =
  (keys: JWTVerifyGetKey): JWTVerifyGetKey =>
  async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) throw error;
      throw new KeysUnavailable('The keys of callback tokens cannot be had.', { cause: error });
    }
  };
