import { constants, gzipSync } from 'node:zlib';

import * as z from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';

import { PROBLEM_MEDIA_TYPE, PROBLEM_STATUSES, problemBody } from '../problem.ts';
import {
  ALLOW,
  type Answer,
  type ProblemAnswer,
  type ProblemAnswers,
  problemSchema,
  requestIdHeader,
} from '../route/answers.ts';
import { CONDITIONAL, entityTag } from '../route/conditional.ts';
import { type DescribedContent, encodingDetail, tooLargeDetail } from '../route/body.ts';
import { KEPT_ANSWER_HEADERS, KEPT_REQUEST_HEADERS, keptAnswer, type KeptBody } from '../route/kept.ts';
import { METHODS, type Operation, operation, otherMethodDetail, type Route, route } from '../route/route.ts';
import { ABOUT, SECURITY_SCHEMES } from './about.ts';
import { describeWebhooks } from './webhooks.ts';

const INT32_MAX = 2 ** 31 - 1;

/**
 * `GET /api/openapi.json`: the description of the API, OpenAPI 3.1.
 *
 * @param routes all routes of this build
 */
export const apiDescription = (routes: () => readonly Route[]): Route => {
  let kept: KeptBody | undefined;
  return route({
    name: 'OpenApi',
    path: 'openapi.json',
    authLevel: 'anonymous',
    GET: operation({
      operationId: 'getDescription',
      tag: 'service',
      summary: 'This description',
      query: 'any',
      headers: KEPT_REQUEST_HEADERS,
      answers: {
        200: {
          description: 'OpenAPI 3.1.',
          mediaType: 'application/json',
          schema: z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) }),
          headers: KEPT_ANSWER_HEADERS,
        },
        304: { description: 'The caller has this description already.', headers: KEPT_ANSWER_HEADERS },
      },
      handle: ({ headers }) => {
        // Made, and compressed, when first asked for: most instances never are, and none should start later for it.
        kept ??= keep(JSON.stringify(describeApi(routes())));
        return keptAnswer(kept, headers);
      },
    }),
  });
};

const keep = (text: string): KeptBody => ({
  etag: entityTag(text),
  plain: Buffer.from(text),
  gzipped: gzipSync(text, { level: constants.Z_BEST_COMPRESSION }),
});

/**
 * The description of the API, OpenAPI 3.1, made from the declarations that register the routes and check the requests. Takes some
 * milliseconds: call it once.
 */
const describeApi = (routes: readonly Route[]) =>
  createDocument(
    {
      ...ABOUT,
      paths: describePaths(routes),
      webhooks: describeWebhooks(),
      components: { securitySchemes: SECURITY_SCHEMES },
    },
    {
      override: ({ jsonSchema, io }) => {
        // Answers may gain members within a version: see what the description promises.
        if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
        // Without a format, the clients that are generated for some languages take 32 bits for a count.
        if (jsonSchema.type === 'integer') {
          jsonSchema.format = (jsonSchema.maximum ?? Infinity) > INT32_MAX ? 'int64' : 'int32';
        }
      },
    },
  );

/** Several routes may share a path, each with methods of its own. */
const describePaths = (routes: readonly Route[]): ZodOpenApiPathsObject => {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const registered of routes) {
    const item = (paths[`/api/${registered.path}`] ??= {});
    for (const method of METHODS) {
      const own = registered[method];
      if (own !== undefined) item[method.toLowerCase()] = describeOperation(own, registered);
    }
  }
  return paths;
};

const describeOperation = (declared: Operation, { authLevel, ...registered }: Route): ZodOpenApiOperationObject => {
  const { operationId, tag, summary, description, body, hasCallbackToken } = declared;
  return {
    operationId,
    tags: [tag],
    summary,
    description: description ?? `${summary}.`,
    security: [
      ...(authLevel === 'function' ? [{ functionKeyHeader: [] }, { functionKeyQuery: [] }] : []),
      ...(hasCallbackToken === true ? [{ callbackToken: [] }] : []),
    ],
    ...describeParameters(declared),
    ...(body && { requestBody: { required: true, content: mapValues(body.content, describeContent) } }),
    responses: {
      ...(authLevel === 'function' && { 401: KEY_REFUSED }),
      ...describeAnswers(declared),
      ...describeProblems({ ...derivedProblems(declared, registered), ...declared.problems }),
    },
  };
};

const describeParameters = (declared: Operation): Pick<ZodOpenApiOperationObject, 'requestParams'> => {
  const { path, query, headers = declared.conditional === true ? CONDITIONAL.requestHeaders : undefined } = declared;
  const given = { ...(path && { path }), ...(query !== 'any' && { query }), ...(headers && { header: headers }) };
  const isEmpty = Object.values(given).every(({ shape }) => Object.keys(shape).length === 0);
  return isEmpty ? {} : { requestParams: given };
};

/** Answered by the Functions host, before any code of this service runs. */
const KEY_REFUSED = { description: 'The function key is missing or wrong. Empty: the Functions host answers this.' };

/** What follows from the rest of the declaration. */
const derivedProblems = (
  { body }: Operation,
  { methods, allowed }: Pick<Route, 'methods' | 'allowed'>,
): ProblemAnswers => ({
  ...(methods.length > allowed.length && {
    405: {
      codes: ['method_not_allowed'],
      description: 'Another method.',
      headers: ALLOW,
      detail: otherMethodDetail(allowed),
    },
  }),
  ...(body && {
    411: { codes: ['length_required'], description: 'The body was sent in chunks, without Content-Length.' },
    413: { codes: ['body_too_large'], description: 'The body is too large.', detail: tooLargeDetail(body.maxBytes) },
    415: {
      codes: ['unsupported_encoding'],
      description: 'The body has an encoding that is not taken.',
      detail: encodingDetail('br'),
    },
  }),
  500: {
    codes: ['unexpected'],
    description: 'Something unforeseen went wrong. It has been logged; the answer says nothing of it.',
  },
});

const describeAnswers = ({ answers, conditional }: Operation): ZodOpenApiResponsesObject => {
  const described = mapValues(answers, describeAnswer);
  if (conditional !== true) return described;
  const headers = withRequestId(CONDITIONAL.answerHeaders);
  return {
    ...described,
    200: { ...described[200], description: answers[200]?.description ?? '', headers },
    304: { description: CONDITIONAL.notModified, headers },
  };
};

const describeAnswer = ({
  description,
  headers,
  schema,
  mediaType = 'application/json',
  csv,
  examples = {},
}: Answer) => ({
  description,
  headers: withRequestId(headers),
  ...(schema && {
    content: {
      [mediaType]: describeContent({ schema, examples }),
      ...(csv !== undefined && { 'text/csv': describeContent({ schema: z.string(), examples: { table: csv } }) }),
    },
  }),
});

const describeProblems = (problems: ProblemAnswers): ZodOpenApiResponsesObject =>
  Object.fromEntries(
    PROBLEM_STATUSES.flatMap((status) => {
      const problem = problems[status];
      return problem === undefined ? [] : [[String(status), describeProblem(problem)]];
    }),
  );

const describeProblem = ({ codes, description, headers, schema, ...example }: ProblemAnswer) => ({
  description: `${description} Codes: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
  headers: withRequestId(headers),
  content: {
    [PROBLEM_MEDIA_TYPE]: describeContent({
      schema: schema ?? problemSchema,
      examples: { problem: problemBody(codes[0], example) },
    }),
  },
});

const withRequestId = ({ shape }: z.ZodObject = z.object({})) => z.object({ ...shape, ...requestIdHeader });

const describeContent = ({ schema, examples }: DescribedContent) => ({
  schema,
  ...(Object.keys(examples).length > 0 && { examples: mapValues(examples, (value) => ({ value })) }),
});

const mapValues = <Value, Mapped>(of: Readonly<Record<string, Value>>, map: (value: Value) => Mapped) =>
  Object.fromEntries(Object.entries(of).map(([key, value]) => [key, map(value)]));
