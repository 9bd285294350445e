import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

import type { HttpRequest } from '@azure/functions';
import * as z from 'zod';

import { csvText } from '../../csv.ts';
import { answerHeader, type Reply, type StaticBody } from './answers.ts';
import { parameter } from './fields.ts';

/** The strong tag of a body. */
export const entityTag = (body: string | Uint8Array): string =>
  `"${createHash('sha256').update(body).digest('base64url')}"`;

/**
 * Whether the caller already has the answer, by its `If-None-Match`: `*`, or a list of tags, compared weakly (RFC 9110, 13.1.2).
 *
 * @param ifNoneMatch null if the request has no such header
 */
export const isKnown = (ifNoneMatch: string | null, tag: string): boolean => {
  const text = ifNoneMatch?.trim() ?? '';
  if (text === '*') return true;
  // A tag may contain commas: the list cannot be split at them.
  const known = [...text.matchAll(/"[\x21\x23-\x7e\x80-\xff]*"/g)].map(([one]) => one);
  return known.includes(tag);
};

/** Whether a caller accepts a compressed answer, by its `Accept-Encoding`. */
export const acceptsGzip = (acceptEncoding: string | null): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0+)?\s*(?:,|$))/i.test(acceptEncoding ?? '');

/** Shorter bodies are sent without compression. */
const WORTH_GZIP = 1_024;

/** Whether a caller prefers `text/csv` to JSON, by its `Accept`: with equal weights, the first in the header. */
const prefersCsv = (accept: string | null): boolean => {
  const weights = new Map(
    (accept ?? '').split(',').map((range) => {
      const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
      const weight = parameters.find((one) => one.startsWith('q='));
      return [type, weight === undefined ? 1 : Number(weight.slice(2))] as const;
    }),
  );
  const [csv = 0, json = 0] = [weights.get('text/csv'), weights.get('application/json')];
  const named = [...weights.keys()];
  return csv > 0 && (csv > json || (csv === json && named.indexOf('text/csv') < named.indexOf('application/json')));
};

/**
 * The answer in the form that the caller accepts, or a 304 for a caller who already has it.
 *
 * @param contentType of the body
 * @param isPublic whether caches that many callers share may store it
 */
export const conditionalAnswer = async (
  { jsonBody, unlistedBody, body, staticBody, csv, headers }: Omit<Reply, 'status'>,
  { headers: asked }: HttpRequest,
  contentType = 'application/json',
  isPublic = false,
): Promise<Reply> => {
  const isTable = csv !== undefined && prefersCsv(asked.get('accept'));
  const { etag, plain, gzipped } = inBothForms(
    staticBody ?? body ?? (isTable ? csvText(csv()) : JSON.stringify(unlistedBody ?? jsonBody)),
  );
  const isZipped = gzipped !== undefined && acceptsGzip(asked.get('accept-encoding'));
  // A compressed body is another representation, with its own tag.
  const tag = isZipped ? etag.replace(/"$/, '-gzip"') : etag;
  const all = {
    ...headers,
    ETag: tag,
    'Cache-Control': isPublic ? 'no-cache' : 'private, no-cache',
    Vary: csv === undefined ? 'Accept-Encoding' : 'Accept, Accept-Encoding',
  };
  if (isKnown(asked.get('if-none-match'), tag)) return { status: 304, headers: all };
  const ofBody = {
    'content-type': isTable ? CSV_CONTENT : contentType,
    'Content-Encoding': isZipped ? 'gzip' : undefined,
  };
  return { status: 200, headers: { ...all, ...ofBody }, body: isZipped ? await gzipped() : plain };
};

const CSV_CONTENT = 'text/csv; charset=utf-8';

const inBothForms = (body: string | Uint8Array | StaticBody) => {
  if (typeof body === 'object' && 'etag' in body) return { ...body, gzipped: () => body.gzipped };
  const gzipped = body.length < WORTH_GZIP ? undefined : async () => promisify(gzip)(body);
  return { etag: entityTag(body), plain: body, gzipped };
};

/** The description of conditional operations. */
export const CONDITIONAL = {
  requestHeaders: z.object({
    'If-None-Match': parameter(
      z.string().optional(),
      'The ETag of the answer that the caller has, several of them, or `*`.',
      '"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"',
    ),
  }),
  answerHeaders: {
    ETag: answerHeader(
      'ETag',
      z.string().regex(/^"[\w-]+"$/),
      'Changes with the body and its encoding, and only with them.',
    ),
    'Cache-Control': answerHeader(
      'Cache-Control',
      z.enum(['no-cache', 'private, no-cache']),
      'Keep the answer, and ask each time whether it has changed.',
    ),
    Vary: answerHeader('Vary', z.string(), 'Answered in the form and the encoding that are accepted.'),
  },
  notModified: 'The caller has this answer already.',
} as const;
