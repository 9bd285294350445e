import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

import type { HttpRequest, HttpResponseInit } from '@azure/functions';
import * as z from 'zod';

import { type CsvRows, csvText } from '../../csv.ts';
import { answerHeader } from './answers.ts';
import { parameter } from './fields.ts';

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

/** Whether a caller takes a compressed answer, by its `Accept-Encoding`. */
export const acceptsGzip = (acceptEncoding: string | null | undefined): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0+)?\s*(?:,|$))/i.test(acceptEncoding ?? '');

/** The tag of the compressed form: another encoding is another representation. */
export const gzippedTag = (tag: string): string => tag.replace(/"$/, '-gzip"');

/** Shorter bodies are sent as they are. */
const WORTH_GZIP = 1_024;

/** Whether a caller prefers `text/csv` to JSON, by its `Accept`: with equal weights, whichever it names first. */
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

/** What a conditional operation gives back. */
interface ConditionalReply {
  readonly jsonBody?: unknown;
  /** The same as a table, for a caller who prefers that. */
  readonly csv?: (() => CsvRows) | undefined;
}

/** The answer in the form that the caller accepts, or the news that the caller has it already. */
export const conditionalAnswer = async (
  { jsonBody, csv }: ConditionalReply,
  { headers: asked }: HttpRequest,
): Promise<HttpResponseInit> => {
  const asCsv = csv !== undefined && prefersCsv(asked.get('accept'));
  const body = asCsv ? csvText(csv()) : JSON.stringify(jsonBody);
  const zipped = body.length >= WORTH_GZIP && acceptsGzip(asked.get('accept-encoding'));
  const tag = zipped ? gzippedTag(entityTag(body)) : entityTag(body);
  const headers = {
    ETag: tag,
    'Cache-Control': REVALIDATED,
    Vary: csv === undefined ? 'Accept-Encoding' : 'Accept, Accept-Encoding',
  };
  if (isKnown(asked.get('if-none-match'), tag)) return { status: 304, headers };
  return {
    status: 200,
    headers: {
      ...headers,
      'content-type': asCsv ? 'text/csv; charset=utf-8' : 'application/json',
      ...(zipped && { 'Content-Encoding': 'gzip' }),
    },
    body: zipped ? await promisify(gzip)(body) : body,
  };
};

/** What the description says about conditional operations. */
export const CONDITIONAL = {
  requestHeaders: z.object({
    'If-None-Match': parameter(
      z.string().optional(),
      'The ETag of the answer that the caller has, several of them, or `*`.',
      '"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"',
    ),
  }),
  answerHeaders: z.object({
    ETag: answerHeader('ETag', z.string().regex(/^"[\w-]+"$/), 'Changes with the body, and only with it.'),
    'Cache-Control': answerHeader(
      'Cache-Control',
      z.literal(REVALIDATED),
      'Keep it, and ask each time whether it has changed.',
    ),
    Vary: answerHeader('VaryOfAnswer', z.string(), 'Answered in the form and the encoding that are accepted.'),
  }),
  notModified: 'The caller has this answer already: what happened has not changed.',
} as const;
