import { createHash } from 'node:crypto';

import * as z from 'zod';

/** The strong tag of a body. */
export const entityTag = (body: string): string => `"${createHash('sha256').update(body).digest('base64url')}"`;

/**
 * Whether the caller has the answer already, by its `If-None-Match`: `*`, or a list of tags, compared weakly (RFC 9110, 13.1.2).
 *
 * @param ifNoneMatch null or undefined where the request has none
 */
export const isKnown = (ifNoneMatch: string | null | undefined, tag: string): boolean => {
  const text = ifNoneMatch?.trim() ?? '';
  if (text === '*') return true;
  // A tag may contain commas: the list cannot be split at them.
  const known = [...text.matchAll(/"[\x21\x23-\x7e\x80-\xff]*"/g)].map(([one]) => one);
  return known.includes(tag);
};

/** An answer that may be kept, and is asked about again every time. It belongs to whoever has the key. */
const REVALIDATED = 'private, no-cache';

/** The headers of a conditional answer. */
export const conditionalHeaders = (tag: string) => ({ ETag: tag, 'Cache-Control': REVALIDATED });

/** What the description says about conditional operations. */
export const CONDITIONAL = {
  requestHeaders: z.object({
    'If-None-Match': z
      .string()
      .optional()
      .meta({
        param: {
          description: 'The ETag of the answer that the caller has, several of them, or `*`.',
          example: '"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"',
        },
      }),
  }),
  answerHeaders: z.object({
    ETag: z
      .string()
      .regex(/^"[\w-]+"$/)
      .meta({ header: { id: 'ETag', description: 'Changes with the body, and only with it.' } }),
    'Cache-Control': z
      .literal(REVALIDATED)
      .meta({ header: { id: 'Cache-Control', description: 'Keep it, and ask each time whether it has changed.' } }),
  }),
  notModified: 'The caller has this answer already: what happened has not changed.',
} as const;
