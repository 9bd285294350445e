import { createRemoteJWKSet, errors, jwtVerify, type JWTVerifyGetKey } from 'jose';

import type { VerifyToken } from '../callbacks.ts';

/** Which tokens are valid. */
export interface TokenRules {
  /** The ACS resource's immutable id: the audience of its tokens. Undefined: tokens are not verified. */
  readonly resourceId: string | undefined;
  readonly tokenIssuer: string;
  /** The issuer's public keys. */
  readonly tokenKeysUrl: string;
}

/** Fetched keys are used for this time if newer keys cannot be fetched: callbacks survive an outage of the key server. */
const KEYS_USED_MS = 48 * 3_600_000;
/** Older keys are fetched again before they are used. */
const KEYS_FRESH_MS = 3_600_000;
/** Between two fetches, because of age or because of an unknown key id: any sender can make up key ids. */
const KEYS_COOL_DOWN_MS = 30_000;
/** For a fetch that a callback waits for: the callee hears silence until then. */
const KEYS_DEADLINE_MS = 3_000;
/** How much the clocks may differ. */
const LEEWAY_SECONDS = 30;

/** The keys could not be fetched. */
class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable';
}

/**
 * Verifies the signed token that ACS puts on every callback. Create it once: it caches the keys.
 *
 * @returns undefined without a resource id: tokens cannot be verified
 * @example
 * const verifyToken = createTokenVerifier({ resourceId, tokenIssuer, tokenKeysUrl });
 * await verifyToken?.(request.headers.get('authorization')); // 'valid'
 */
export const createTokenVerifier = ({ resourceId, tokenIssuer, tokenKeysUrl }: TokenRules): VerifyToken | undefined => {
  if (resourceId === undefined) return undefined;
  const keyOf = publicKeys(tokenKeysUrl);
  return async (authorization) => {
    const token = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+) *$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return 'invalid';
    try {
      await jwtVerify(token, keyOf, {
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

const publicKeys = (url: string): JWTVerifyGetKey => {
  const keys = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: KEYS_USED_MS,
    cooldownDuration: KEYS_COOL_DOWN_MS,
    timeoutDuration: KEYS_DEADLINE_MS,
  });
  let refreshAt = 0;
  const refresh = async (): Promise<void> => {
    const now = Date.now();
    const areThere = keys.jwks() !== undefined;
    if (areThere && now < refreshAt) return;
    refreshAt = now + (areThere ? KEYS_COOL_DOWN_MS : KEYS_FRESH_MS);
    // jose fetches the first keys itself.
    if (!areThere) return;
    await keys.reload().then(
      () => (refreshAt = now + KEYS_FRESH_MS),
      () => undefined,
    );
  };
  return async (header, token) => {
    await refresh();
    try {
      return await keys(header, token);
    } catch (error) {
      // These two mean that the token is wrong. All others mean that the keys could not be fetched.
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) throw error;
      throw new KeysUnavailable('The keys of callback tokens could not be fetched.', { cause: error });
    }
  };
};
