import { hash } from 'node:crypto';
import type { NotificationRequest } from '../model/notification-request.ts';
import { DEFAULT_CONFIRMATIONS_NEEDED } from './policy.ts';

/** The `Idempotency-Key` of a request and what it is for, as hashes: the key's characters are the caller's. */
export interface KeyUse {
  readonly keyHash: string;
  /** A hash of the whole request. */
  readonly fingerprint: string;
}

/** How long a key belongs to its first request, in milliseconds. */
export const KEY_HOLDS_MS = 86_400_000;

/**
 * A key and its request. The key is part of the fingerprint: without it, the few possible phone numbers could be tried. Rows hold fingerprints
 * of earlier versions for 24 hours: what a request did not have then joins only if it is given.
 */
export const keyUse = (
  key: string,
  {
    alertType,
    waves,
    reference,
    confirm = false,
    waveMs,
    details,
    confirmationsNeeded = DEFAULT_CONFIRMATIONS_NEEDED,
  }: NotificationRequest,
): KeyUse => ({
  keyHash: hash('sha256', key),
  fingerprint: hash(
    'sha256',
    JSON.stringify([
      key,
      alertType.name,
      waves,
      reference ?? '',
      confirm,
      waveMs ?? 0,
      ...(details === undefined ? [] : [{ details }]),
      ...(confirmationsNeeded === DEFAULT_CONFIRMATIONS_NEEDED ? [] : [{ confirmationsNeeded }]),
    ]),
  ),
});
