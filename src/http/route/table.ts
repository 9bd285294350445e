import * as z from 'zod';

import { csvText } from '../../csv.ts';
import { type Route, type RouteDeclaration, route } from './route.ts';

const TABLE = z.string().meta({ id: 'Table' });

/**
 * A route whose answer is also a table, and the route of that table: the same path with `.csv`. Each has one media type alone, so that
 * generated clients need no cast.
 *
 * @example ...withTable(analyticsSeries(analytics, windowSeconds)) // analytics/series and analytics/series.csv
 * @throws {TypeError} if its answer declares no table
 */
export const withTable = (whole: Route): readonly [Route, Route] => {
  const { name, path, authLevel, GET: json } = whole;
  const { hasTable, description } = json?.answers[200] ?? {};
  if (json === undefined || hasTable === undefined) throw new TypeError(`${name} has no table`);
  const declared: RouteDeclaration = {
    name: `${name}Csv`,
    path: `${path}.csv`,
    authLevel,
    GET: {
      ...json,
      operationId: `${json.operationId}Csv`,
      summary: `${json.summary}, as a table`,
      answers: {
        200: {
          description: `${description} A row for each; the first line names the columns.`,
          mediaType: 'text/csv',
          schema: TABLE,
        },
      },
      handle: async (incoming) => {
        const { csv } = await json.handle(incoming);
        return { status: 200, body: csvText(csv?.() ?? []) };
      },
    },
  };
  return [whole, route(declared)];
};
