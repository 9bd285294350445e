import type { HttpHandler, HttpMethod, HttpRequest, HttpResponseInit } from '@azure/functions';
import type * as z from 'zod';

import { inInvocation, type Log } from '../../log.ts';
import { answeringErrors } from '../error-edge.ts';
import { Problem } from '../problem.ts';
import type { ProblemCode } from '../problem-types.ts';
import { type Answers, type Given, type Reply, REQUEST_ID } from './answers.ts';
import { readBody, type RequestBody } from './body.ts';
import { conditionalAnswer } from './conditional.ts';
import { readHeaders, readPath, readQuery } from './fields.ts';
import { noteLostBody } from './lost-body.ts';

/** The methods that operations are declared for. `HEAD` follows from `GET`. */
export type Method = 'GET' | 'POST' | 'OPTIONS';

/** The parsed input of an operation's handler. A part that the operation does not declare is undefined. */
export interface Incoming<Path, Query, Headers, Body> {
  readonly path: Path;
  readonly query: Query;
  readonly headers: Headers;
  readonly body: Body;
  /** The query as it was sent, with its `?`; empty if the request has no query. */
  readonly search: string;
  readonly log: Log;
}

/** The fields after parsing by their schema; undefined if no schema is declared. */
type Parsed<Fields> = Fields extends z.ZodObject ? z.output<Fields> : unknown extends Fields ? unknown : undefined;

/** One operation: a method on a path. */
export interface Operation<
  Of extends Answers = Answers,
  Path = unknown,
  Query = unknown,
  Headers = unknown,
  Body = unknown,
> {
  /** Its name in the description; unique. */
  readonly operationId: string;
  readonly tag: 'analytics' | 'events' | 'calls' | 'callbacks' | 'service';
  readonly summary: string;
  readonly description?: string;
  /** The parameters in the route's path. */
  readonly path?: Path & z.ZodObject;
  /** All query parameters; `any`: the query is ignored. */
  readonly query: Query & (z.ZodObject | 'any');
  readonly headers?: Headers & z.ZodObject;
  readonly body?: RequestBody<Body>;
  /** With it, a 200 has an ETag, and becomes a 304 for a caller who already has it. `public`: caches that many share may store it. */
  readonly conditional?: true | 'public';
  /**
   * Refuses a request by its headers, before the rest of it is read.
   *
   * @throws {Problem}
   */
  readonly demand?: (headers: HttpRequest['headers'], log: Log) => void | Promise<void>;
  /** True: the operation needs the bearer token of a callback, for the description. */
  readonly hasCallbackToken?: boolean;
  readonly answers: Of;
  /** In addition to the problems that follow from the rest of the declaration, such as `invalid_request` or `not_json`. */
  readonly problems?: readonly ProblemCode[];
  // A method, not a property: TypeScript then accepts an operation with narrower types as an `Operation`.
  handle(
    this: void,
    incoming: Incoming<Parsed<Path>, Parsed<Query>, Parsed<Headers>, Body>,
  ): (Given<Of> & Reply) | Promise<Given<Of> & Reply>;
}

/**
 * Declares one operation: its input, its answers, and the function between them. The input is checked before `handle`
 * gets it; its result is one of `answers`, by type.
 *
 * @example
 * operation({
 *   operationId: 'getHealth',
 *   tag: 'service',
 *   summary: 'Whether storage answers',
 *   query: 'any',
 *   answers: { 200: { description: 'It does.', schema: healthSchema } },
 *   handle: () => ({ status: 200, jsonBody: { status: 'ok' } }),
 * })
 */
export const operation = <
  const Of extends Answers,
  Path = undefined,
  Query = 'any',
  Headers = undefined,
  Body = undefined,
>(
  declared: Operation<Of, Path, Query, Headers, Body>,
  // A copy: TypeScript then compares member by member and needs no cast.
): Operation => ({ ...declared });

/** The path of one function, with its operations by method. */
export interface RouteDeclaration extends Readonly<Partial<Record<Method, Operation>>> {
  /** The function's name. */
  readonly name: string;
  /** Below `/api/`, without a slash at its ends; parameters as in `notifications/{id}`. */
  readonly path: string;
  /** `function`: the Functions host demands a function key before any code of this service runs. */
  readonly authLevel: 'anonymous' | 'function';
  /** True: another function of this path handles `OPTIONS`. */
  readonly optionsAreElsewhere?: boolean;
}

/** A declared route, ready to be registered. */
export interface Route extends RouteDeclaration {
  /** The methods under which the route is registered, refused methods included. Otherwise the host answers an empty 404. */
  readonly methods: HttpMethod[];
  readonly handler: HttpHandler;
}

/** All of them, in the order of the description. */
export const METHODS: readonly Method[] = ['GET', 'POST', 'OPTIONS'];

/**
 * A route is registered for these as well, to refuse them with a problem. A route with `OPTIONS` alone is not: another function handles the other
 * methods of its path.
 */
const REFUSED: readonly HttpMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Declares a route. `HEAD` answers what `GET` does, without the body; `OPTIONS` says which methods there are. */
export const route = (declared: RouteDeclaration): Route => {
  const { optionsAreElsewhere = false } = declared;
  const allow = [declared.GET && 'GET, HEAD', declared.POST && 'POST', 'OPTIONS'].filter(Boolean).join(', ');
  const handler = answeringErrors(async (request, log) => {
    const method = METHODS.find((name) => name === (request.method === 'HEAD' ? 'GET' : request.method));
    const operationHere = method && declared[method];
    if (operationHere !== undefined) return respond(operationHere, request, log);
    if (method === 'OPTIONS') return { status: 204, headers: { allow } };
    throw new Problem('method_not_allowed', { detail: `This path accepts ${allow}.`, headers: { allow } });
  });
  return {
    ...declared,
    methods: [
      ...(declared.GET === undefined && declared.POST === undefined ? [] : REFUSED),
      ...(optionsAreElsewhere ? [] : ['OPTIONS' as const]),
    ],
    handler: async (request, context) => {
      const answer = await inInvocation(context, async (log) => handler(request, log));
      const headers = new Headers(answer.headers);
      headers.set(REQUEST_ID, context.invocationId);
      return request.method === 'HEAD' ? withoutBody(answer, headers) : { ...answer, headers };
    },
  };
};

const single =
  (method: Method) =>
  <const Of extends Answers, Path = undefined, Query = 'any', Headers = undefined, Body = undefined>(
    name: string,
    path: string,
    declared: Operation<Of, Path, Query, Headers, Body> & Pick<RouteDeclaration, 'authLevel'>,
  ): Route =>
    route({ name, path, authLevel: declared.authLevel, [method]: operation(declared) });

/** A route with `GET` alone. @example get('Health', 'health', { authLevel: 'anonymous', operationId: 'getHealth', … }) */
export const get = single('GET');

/** A route with `POST` alone. */
export const post = single('POST');

const withoutBody = ({ status, jsonBody }: HttpResponseInit, headers: Headers): HttpResponseInit => {
  if (jsonBody !== undefined) headers.set('content-type', 'application/json');
  return { ...(status === undefined ? {} : { status }), headers };
};

const bodyOf = async (
  request: HttpRequest,
  body: RequestBody<unknown>,
  declared: Operation,
  log: Log,
): Promise<unknown> => {
  try {
    return await readBody(request, body);
  } catch (error) {
    if (error instanceof Problem && error.code === 'length_required') noteLostBody(request, declared, log);
    throw error;
  }
};

const respond = async (declared: Operation, request: HttpRequest, log: Log): Promise<HttpResponseInit> => {
  const { demand, path, query, headers, body, conditional, answers, handle } = declared;
  await demand?.(request.headers, log);
  const reply = await handle({
    path: path && readPath(request, path),
    query: query === 'any' ? undefined : readQuery(request, query),
    headers: headers && readHeaders(request, headers),
    body: body?.parse(await bodyOf(request, body, declared, log), request.headers),
    search: /\?[^#]*/.exec(request.url)?.[0] ?? '',
    log,
  });
  const mediaType = answers[reply.status]?.mediaType;
  const contentType = mediaType?.startsWith('text/') === true ? `${mediaType}; charset=utf-8` : mediaType;
  const answer =
    conditional === undefined
      ? { ...reply, headers: { 'content-type': contentType, ...reply.headers } }
      : await conditionalAnswer(reply, request, contentType, conditional === 'public');
  return { ...answer, headers: definedHeaders(answer.headers) };
};

/** The headers that have a value. */
const definedHeaders = (headers: Readonly<Record<string, string | undefined>> = {}): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
