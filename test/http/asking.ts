import { gunzipSync } from 'node:zlib';

import { HttpRequest, type HttpRequestInit, HttpResponse, InvocationContext, type HttpHandler } from '@azure/functions';
import { expect } from 'vitest';
import { z } from 'zod';

import { apiDescription } from '../../src/http/openapi/document.ts';
import { problemSchema } from '../../src/http/problem.ts';
import type { Route } from '../../src/http/route/route.ts';
import { Contract } from '../harness/contract.ts';

/** An answer: status, headers and parsed body; text where it is not JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** The optional parts of a request. `params` are the parameters of the path. */
type Asked = Pick<HttpRequestInit, 'method' | 'headers' | 'params'> & { readonly body?: string };

/**
 * An answer to a request, both in the classes that the Functions worker uses.
 *
 * @param onLog gets each line that the handler logs, parsed
 */
export const ask = async (
  handler: HttpHandler,
  path: string,
  { method = 'GET', headers = {}, body, params = {} }: Asked = {},
  onLog: (line: unknown) => void = () => undefined,
): Promise<Answer> => {
  const url = `http://localhost${path}`;
  const sent = body !== undefined && { body: { string: body } };
  const request = new HttpRequest({ method, url, headers, params, ...sent });
  const logHandler = (_level: unknown, ...said: unknown[]) => said.forEach((line) => onLog(JSON.parse(String(line))));
  const result = await handler(request, new InvocationContext({ functionName: 'tested', logHandler }));
  const response = new HttpResponse(z.record(z.string(), z.unknown()).parse(result));
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = (response.headers.get('content-encoding') === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8');
  const isJson = response.headers.get('content-type')?.includes('json') ?? true;
  const answered = text === '' ? undefined : isJson ? JSON.parse(text) : text;
  return { status: response.status, headers: response.headers, body: answered };
};

/** To describe a route takes longer than a request. */
const contracts = new WeakMap<Route, Promise<Contract>>();

const contractOf = async (route: Route): Promise<Contract> => {
  const { body } = await ask(apiDescription(() => [route]).handler, '/api/openapi.json');
  return new Contract(JSON.stringify(body));
};

/** The answer of a route to a described operation. It must be as the description says. */
export const askRoute = async (route: Route, path: string, asked: Asked = {}, onLog?: (line: unknown) => void) => {
  const contract = contracts.get(route) ?? contractOf(route);
  contracts.set(route, contract);
  const answer = await ask(route.handler, path, asked, onLog);
  const { pathname } = new URL(path, 'http://localhost');
  expect((await contract).objectionsTo(asked.method ?? 'GET', pathname, answer, answer.body)).toEqual([]);
  return answer;
};

/** The problem (RFC 9457) that an answer is. */
export const problemOf = ({ body }: Answer) => problemSchema.parse(body);
