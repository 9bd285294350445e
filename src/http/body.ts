import type { HttpRequest } from '@azure/functions';

import { Problem } from './problem.ts';

/**
 * The JSON value in a request's body.
 *
 * @param maxBytes the most the body may have, in bytes
 * @throws {Problem} 413 where the body is larger; 400 where it is missing, not UTF-8 or not JSON
 */
export const readJson = async (request: HttpRequest, maxBytes: number): Promise<unknown> => {
  const announced = Number(request.headers.get('content-length') ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.byteLength > maxBytes) throw tooLarge(maxBytes);
  if (bytes.byteLength === 0) throw new Problem(400, { detail: 'The body is empty.' });
  return parseJson(decodeUtf8(bytes));
};

const tooLarge = (maxBytes: number): Problem =>
  new Problem(413, { detail: `The body is larger than ${maxBytes} bytes.` });

const decodeUtf8 = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Problem(400, { detail: 'The body is not valid UTF-8.' }, { cause: error });
  }
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Problem(400, { detail: 'The body is not valid JSON.' }, { cause: error });
  }
};
