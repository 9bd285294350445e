import { hash } from 'node:crypto';
import type { NotificationRequest } from '../model/notification-request.ts';
import { DEFAULT_CONFIRMATIONS_NEEDED } from './policy.ts';

/** The `Idempotency-Key` of a request and what it is for, as hashes: the key's characters are the caller's. */
export interface KeyUse {
  readonly keyHash: string;
  readonly fingerprint: string;
}

/** How long a key belongs to its first request, in milliseconds. */
export const KEY_HOLDS_MS = 86_400_000;

/** The hashes of a key and its request. The fingerprint includes the key: otherwise the few possible phone numbers could be guessed. */
export const keyUse = (
  key: string,
  { alertType, waves, reference, details, waveMs, ...asked }: NotificationRequest,
): KeyUse => {
  const { confirm = false, confirmationsNeeded = DEFAULT_CONFIRMATIONS_NEEDED } = asked;
  const all = [key, alertType.name, waves, reference, details, confirm, waveMs, confirmationsNeeded];
  return { keyHash: hash('sha256', key), fingerprint: hash('sha256', JSON.stringify(all)) };
};
