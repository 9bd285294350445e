import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const MOST_SKEW_MS = 15 * 60_000;

/**
 * What is wrong with a request's HMAC signature; undefined where nothing is.
 *
 * @param accessKey base64, as in the connection string
 */
export const signatureFault = (request: IncomingMessage, body: string, accessKey: string): string | undefined => {
  const { authorization, host = '' } = request.headers;
  const date = String(request.headers['x-ms-date'] ?? '');
  const contentHash = createHash('sha256').update(body).digest('base64');
  if (request.headers['x-ms-content-sha256'] !== contentHash) return 'x-ms-content-sha256 is not the hash of the body';
  if (!(Math.abs(Date.parse(date) - Date.now()) < MOST_SKEW_MS)) return 'x-ms-date is missing or too far from now';
  const text = `${request.method ?? ''}\n${request.url ?? ''}\n${date};${host};${contentHash}`;
  const signature = createHmac('sha256', Buffer.from(accessKey, 'base64')).update(text).digest('base64');
  const expected = Buffer.from(`HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${signature}`);
  const given = Buffer.from(authorization ?? '');
  return given.length === expected.length && timingSafeEqual(given, expected) ? undefined : 'the signature is wrong';
};
