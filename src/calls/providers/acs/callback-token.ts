import { createLocalJWKSet, createRemoteJWKSet, errors, jwtVerify, type JWTVerifyGetKey } from 'jose';

import type { VerifyToken } from '../callbacks.ts';

/** Which tokens are valid. */
export interface TokenRules {
  /** The ACS resource's immutable id: the audience of its tokens. Undefined: tokens are not verified. */
  readonly resourceId: string | undefined;
  readonly tokenIssuer: string;
  /** The issuer's public keys. */
  readonly tokenKeysUrl: string;
}

const KEYS_CACHED_MS = 3_600_000;
// A token with an unknown key id has the keys fetched again, at most this often: anybody can make up key ids.
const KEYS_COOL_DOWN_MS = 30_000;
// A callee hears silence meanwhile.
const KEYS_DEADLINE_MS = 3_000;
// While they cannot be fetched again: yesterday's keys still verify.
const KEYS_USED_MS = 48 * 3_600_000;
const LEEWAY_SECONDS = 30;

/** The keys could not be fetched. */
class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/**
 * Verifies the signed token that ACS puts on every callback. Create it once: it caches the keys, which the first token has fetched
 * for all callbacks.
 *
 * @returns undefined without a resource id: tokens cannot be verified
 * @example
 * const verifyToken = createTokenVerifier({ resourceId, tokenIssuer, tokenKeysUrl });
 * await verifyToken?.(request.headers.get('authorization')); // 'valid'
 */
export const createTokenVerifier = ({ resourceId, tokenIssuer, tokenKeysUrl }: TokenRules): VerifyToken | undefined => {
  if (resourceId === undefined) return undefined;
  const keys = survivingOutages(
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
        // Otherwise jose accepts tokens without an expiry.
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

/**
 * The keys, and while they cannot be fetched those fetched before: an outage of the key endpoint must not make callbacks unusable whose
 * keys are known. A key that is not among them cannot be verified then.
 */
const survivingOutages = (fetched: ReturnType<typeof createRemoteJWKSet>): JWTVerifyGetKey => {
  let freshAt = -Infinity;
  let failedAt = -Infinity;
  return async (header, token) => {
    const now = Date.now();
    const earlier = now - freshAt < KEYS_USED_MS ? fetched.jwks() : undefined;
    const known = earlier && createLocalJWKSet(earlier);
    if (known !== undefined && !fetched.fresh && now - failedAt < KEYS_COOL_DOWN_MS) {
      return unlessMissing(known(header, token));
    }
    try {
      const key = await fetched(header, token);
      freshAt = now;
      return key;
    } catch (error) {
      // These two mean that the token is wrong. All others mean that the keys could not be fetched.
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) throw error;
      failedAt = now;
      if (known !== undefined) return unlessMissing(known(header, token));
      throw new KeysUnavailable('The keys of callback tokens could not be fetched.', { cause: error });
    }
  };
};

/** @throws {KeysUnavailable} where the key is not among those known: it may be a new one */
const unlessMissing = async <Key>(looked: Promise<Key>): Promise<Key> => {
  try {
    return await looked;
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    throw new KeysUnavailable('The key of this callback token is not known, and the keys cannot be fetched.', {
      cause: error,
    });
  }
};
