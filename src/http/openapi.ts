import type { HttpHandler } from '@azure/functions';

import { describeApi, type ExtraDescription } from './openapi/document.ts';
import { answering } from './problem.ts';

/**
 * `GET /api/openapi.json`: the description of the API, OpenAPI 3.1. It is made when it is first asked for: most instances never are,
 * and none should start later for it.
 *
 * @param extra makes the description of what only this build has; undefined for a release build
 * @example openApiHandler(DEBUG ? () => ({ paths: testCallPaths(), schemas: testCallSchemas() }) : undefined)
 */
export const openApiHandler = (extra: (() => ExtraDescription) | undefined): HttpHandler => {
  let document: string | undefined;
  return answering(() => {
    document ??= JSON.stringify(describeApi(extra?.()));
    return { status: 200, headers: { 'content-type': 'application/json' }, body: document };
  });
};
