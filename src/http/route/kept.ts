import * as z from 'zod';

import { answerHeader } from './answers.ts';
import { acceptsGzip, gzippedTag, isKnown } from './conditional.ts';
import { parameter } from './fields.ts';

/** A body that is the same for everybody and as long as the process runs, in both encodings: compressing it for each caller would cost anybody's request. */
export interface KeptBody {
  /** Strong, of the plain body. */
  readonly etag: string;
  readonly plain: Uint8Array;
  readonly gzipped: Uint8Array;
}

/** The headers of a request for a kept body. */
export const KEPT_REQUEST_HEADERS = z.object({
  'Accept-Encoding': parameter(z.string().optional(), 'With `gzip` it is sent compressed.', 'gzip'),
  'If-None-Match': parameter(z.string().optional(), 'The ETag of the answer that the caller has.', '"a-tag"'),
});

/** The headers of its answers. */
export const KEPT_ANSWER_HEADERS = z.object({
  ETag: z.string().describe('Of the answer in the encoding that was accepted.'),
  'Cache-Control': z.literal('no-cache').describe('Keep it, and ask each time whether it has changed.'),
  Vary: answerHeader('Vary', z.string(), 'Answered in the encoding that is accepted.'),
});

/** The answer with the body, compressed if the caller takes that, or with the news that the caller has it already. */
export const keptAnswer = ({ etag, plain, gzipped }: KeptBody, asked: z.output<typeof KEPT_REQUEST_HEADERS>) => {
  const isZipped = acceptsGzip(asked['Accept-Encoding']);
  const tag = isZipped ? gzippedTag(etag) : etag;
  const headers = { 'Cache-Control': 'no-cache' as const, ETag: tag, Vary: 'Accept-Encoding' };
  if (isKnown(asked['If-None-Match'], tag)) return { status: 304 as const, headers };
  return {
    status: 200 as const,
    headers: { ...headers, 'Content-Encoding': isZipped ? 'gzip' : undefined },
    body: isZipped ? gzipped : plain,
  };
};
