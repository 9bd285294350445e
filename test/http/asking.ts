import { gunzipSync } from 'node:zlib';

import { HttpRequest, HttpResponse, InvocationContext, type HttpHandler, type LogHandler } from '@azure/functions';
import { z } from 'zod';

/** An answer: status, headers and parsed body. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Text where it is not JSON. */
  readonly body: unknown;
}

/** The optional parts of a request. */
export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** The parameters of the path. */
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
  const logHandler: LogHandler = (_level, ...said) => said.forEach((line) => onLog(JSON.parse(String(line))));
  const result = await handler(request, new InvocationContext({ functionName: 'tested', logHandler }));
  const response = new HttpResponse(z.record(z.string(), z.unknown()).parse(result));
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = (response.headers.get('content-encoding') === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8');
  const isJson = response.headers.get('content-type')?.includes('json') ?? true;
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : isJson ? JSON.parse(text) : text,
  };
};

const problemSchema = z.looseObject({
  type: z.string(),
  title: z.string().min(1),
  status: z.number(),
  code: z.string(),
  detail: z.string().min(1),
  errors: z
    .array(z.looseObject({ code: z.string(), pointer: z.string().optional(), detail: z.string().min(1) }))
    .optional(),
});

/** @throws if an answer is not a problem (RFC 9457) */
const parsedProblem = ({ status, headers, body }: Answer) => {
  const problem = problemSchema.parse(body);
  const [mediaType, type] = ['application/problem+json', `/api/problems#${problem.code}`];
  if (headers.get('content-type') !== mediaType || problem.status !== status || problem.type !== type)
    throw new Error(`not a problem: ${JSON.stringify(problem)}`);
  return problem;
};

/** What a problem says in words: its status, its sentence, its errors, and its own members. */
export const problemOf = (answer: Answer) => {
  const { type: _, title: __, code: ___, errors, ...said } = parsedProblem(answer);
  const inWords = errors?.map(({ code: _code, pointer: _pointer, ...error }) => error);
  return { ...said, ...(inWords !== undefined && { errors: inWords }) };
};

/** What a problem says to machines: its code, and of each error the code and the pointer. */
export const codesOf = (answer: Answer) => {
  const { code, errors = [] } = parsedProblem(answer);
  return { code, errors: errors.map((error) => [error.code, error.pointer]) };
};
