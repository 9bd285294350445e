import { gunzipSync } from 'node:zlib';

import { HttpRequest, HttpResponse, InvocationContext, type HttpHandler } from '@azure/functions';
import { expect } from 'vitest';
import { z } from 'zod';

import { problemSchema } from '../../src/http/problem.ts';

/** An answer: status, headers and parsed body; text where it is not JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** The optional parts of a request. `params` are the parameters of the path. */
interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly params?: Readonly<Record<string, string>>;
}

/**
 * A handler's answer to a request, both in the classes that the Functions worker uses.
 *
 * @param onLog gets each line that the handler logs, parsed
 */
export const ask = async (
  handler: HttpHandler,
  path: string,
  { method = 'GET', headers = {}, body, params = {} }: Asked = {},
  onLog: (line: unknown) => void = () => undefined,
): Promise<Answer> => {
  const request = new HttpRequest({
    method,
    url: `http://localhost${path}`,
    headers: { ...headers },
    params: { ...params },
    ...(body !== undefined && { body: typeof body === 'string' ? { string: body } : { bytes: body } }),
  });
  const logHandler = (_level: unknown, ...said: unknown[]) => said.forEach((line) => onLog(JSON.parse(String(line))));
  const result = await handler(request, new InvocationContext({ functionName: 'tested', logHandler }));
  const response = new HttpResponse(z.record(z.string(), z.unknown()).parse(result));
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = (response.headers.get('content-encoding') === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8');
  const isJson = response.headers.get('content-type')?.includes('json') ?? true;
  const answered = text === '' ? undefined : isJson ? JSON.parse(text) : text;
  return { status: response.status, headers: response.headers, body: answered };
};

/** The problem (RFC 9457) that an answer is. */
export const problemOf = ({ status, headers, body }: Answer): z.output<typeof problemSchema> => {
  const problem = problemSchema.parse(body);
  const said = [headers.get('content-type'), problem.status, problem.type];
  expect(said).toEqual(['application/problem+json', status, `/api/problems#${problem.code}`]);
  return problem;
};
