import { constants, gzipSync } from 'node:zlib';

import * as z from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';

import { type Answer, requestIdHeader, type StaticBody } from '../route/answers.ts';
import type { DescribedContent } from '../route/body.ts';
import { CONDITIONAL, entityTag } from '../route/conditional.ts';
import { isHidden } from '../route/fields.ts';
import { get, METHODS, type Operation, type Route } from '../route/route.ts';
import { ABOUT, SECURITY_SCHEMES } from './about.ts';
import { describeProblems, problemExamples } from './problems.ts';
import { describeWebhooks } from './webhooks.ts';

const INT32_MAX = 2 ** 31 - 1;

/**
 * `GET /api/openapi.json`: the description of the API, OpenAPI 3.1.
 *
 * @param routes all routes of this build
 */
export const apiDescription = (routes: () => readonly Route[]): Route => {
  let made: StaticBody | undefined;
  return get('OpenApi', 'openapi.json', {
    authLevel: 'anonymous',
    operationId: 'getDescription',
    tag: 'service',
    summary: 'This description',
    query: 'any',
    conditional: 'public',
    answers: {
      200: {
        description: 'OpenAPI 3.1.',
        mediaType: 'application/json',
        schema: z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) }),
      },
    },
    handle: () => {
      // Made and compressed at the first request: most instances get none, and it would delay the start.
      made ??= staticBody(JSON.stringify(describeApi(routes())));
      return { status: 200, staticBody: made };
    },
  });
};

const staticBody = (text: string): StaticBody => ({
  etag: entityTag(text),
  plain: Buffer.from(text),
  gzipped: gzipSync(text, { level: constants.Z_BEST_COMPRESSION }),
});

/** From the declarations that register the routes and check the requests. Takes some milliseconds: call it once. */
const describeApi = (routes: readonly Route[]) =>
  createDocument(
    {
      ...ABOUT,
      paths: describePaths(routes),
      webhooks: describeWebhooks(),
      components: { securitySchemes: SECURITY_SCHEMES, examples: problemExamples() },
    },
    {
      override: ({ jsonSchema, io }) => {
        // Within 1.x answers may gain members, as the description says.
        if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
        // Without a format, the generated clients of some languages store a count in 32 bits.
        if (jsonSchema.type === 'integer') {
          jsonSchema.format = (jsonSchema.maximum ?? Infinity) > INT32_MAX ? 'int64' : 'int32';
        }
      },
    },
  );

/** Several routes may share a path, each with its own methods. */
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

const describeOperation = (declared: Operation, registered: Route): ZodOpenApiOperationObject => {
  const { operationId, tag, summary, description = `${summary}.`, body, hasCallbackToken, answers } = declared;
  return {
    operationId,
    tags: [tag],
    summary,
    description: answers[200]?.hasTable === true ? `${description}\n${TABLE}` : description,
    security: [
      ...(registered.authLevel === 'function' ? [{ functionKeyHeader: [] }, { functionKeyQuery: [] }] : []),
      ...(hasCallbackToken === true ? [{ callbackToken: [] }] : []),
    ],
    ...describeParameters(declared),
    ...(body && {
      requestBody: { required: body.isOptional !== true, content: mapValues(body.content, describeContent) },
    }),
    responses: {
      ...(registered.authLevel === 'function' && { 401: KEY_REFUSED }),
      ...describeAnswers(declared),
      ...describeProblems(declared, registered),
    },
  };
};

const describeParameters = (declared: Operation): Pick<ZodOpenApiOperationObject, 'requestParams'> => {
  const { path, query, headers = declared.conditional === true ? CONDITIONAL.requestHeaders : undefined } = declared;
  const given = {
    ...(path && { path }),
    ...(query !== 'any' && { query: withoutHidden(query) }),
    ...(headers && { header: headers }),
  };
  const isEmpty = Object.values(given).every(({ shape }) => Object.keys(shape).length === 0);
  return isEmpty ? {} : { requestParams: given };
};

const withoutHidden = ({ shape }: z.ZodObject) =>
  z.object(Object.fromEntries(Object.entries(shape).filter(([, schema]) => !isHidden(schema))));

const TABLE = 'As a table: `Accept: text/csv`, or this path with `.csv`.';

/** Answered by the Functions host, before any code of this service runs. */
const KEY_REFUSED = { description: 'The function key is missing or wrong. Empty: the Functions host answers this.' };

const describeAnswers = ({ answers, conditional }: Operation): ZodOpenApiResponsesObject => {
  const { 200: answer } = answers;
  if (conditional === undefined || answer === undefined) return mapValues(answers, describeAnswer);
  const headers = z.object({ ...answer.headers?.shape, ...CONDITIONAL.answerHeaders });
  const all = { ...answers, 200: { ...answer, headers }, 304: { description: CONDITIONAL.notModified, headers } };
  return mapValues(all, describeAnswer);
};

const describeAnswer = ({ description, headers, schema, mediaType = 'application/json' }: Answer) => ({
  description,
  headers: withRequestId(headers),
  ...(schema && { content: { [mediaType]: { schema } } }),
});

const withRequestId = ({ shape }: z.ZodObject = z.object({})) => z.object({ ...shape, ...requestIdHeader });

const describeContent = ({ schema, examples }: DescribedContent) => ({
  schema,
  examples: mapValues(examples, (value) => ({ value })),
});

const mapValues = <Value, Mapped>(of: Readonly<Record<string, Value>>, map: (value: Value) => Mapped) =>
  Object.fromEntries(Object.entries(of).map(([key, value]) => [key, map(value)]));
