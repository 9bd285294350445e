import * as z from 'zod';

import { describeApi } from './openapi/document.ts';
import { operation, type Route, route } from './route/route.ts';

/**
 * `GET /api/openapi.json`: the description of the API, OpenAPI 3.1.
 *
 * @param routes all routes of this build
 */
export const apiDescription = (routes: () => readonly Route[]): Route => {
  let document: string | undefined;
  return route({
    name: 'OpenApi',
    path: 'openapi.json',
    authLevel: 'anonymous',
    GET: operation({
      operationId: 'getDescription',
      tag: 'service',
      summary: 'This description',
      query: 'any',
      answers: {
        200: {
          description: 'OpenAPI 3.1.',
          mediaType: 'application/json',
          schema: z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) }),
        },
      },
      handle: () => {
        // Made when first asked for: most instances never are, and none should start later for it.
        document ??= JSON.stringify(describeApi(routes()));
        return { status: 200, body: document };
      },
    }),
  });
};
