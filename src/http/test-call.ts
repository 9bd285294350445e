import * as z from 'zod';

import type { PlaceCalls } from '../calls/place-calls.ts';
import { CALLS_ANSWERS, CALLS_PROBLEMS, callsAnswer } from './placed-calls.ts';
import { alertTypeName, alertTypeOf, MAX_RECIPIENTS_BYTES, recipientsSchema } from './recipients.ts';
import { jsonBody } from './route/body.ts';
import { operation, type Route, route } from './route/route.ts';

/**
 * `POST /api/test-call`, **debug builds only**: the body is a JSON array of phone numbers; calls them as an alert of the type
 * `alert_type` (default `Custom`) would, and answers as `POST /api/notifications` does.
 *
 * Everything is declared inside the function: a call outside it would keep this module in a release bundle.
 */
export const testCall = (placeCalls: PlaceCalls): Route =>
  route({
    name: 'TestCall',
    path: 'test-call',
    authLevel: 'function',
    POST: operation({
      operationId: 'placeTestCall',
      tag: 'calls',
      summary: 'Place test calls (debug builds only)',
      query: z.object({
        alert_type: alertTypeName
          .default('Custom')
          .meta({ param: { description: 'What is said.', example: 'BurnJob' } }),
      }),
      body: jsonBody(recipientsSchema.meta({ id: 'PhoneNumbers' }), {
        maxBytes: MAX_RECIPIENTS_BYTES,
        examples: { one: ['+12065550100'] },
        element: 'recipient',
      }),
      answers: CALLS_ANSWERS,
      problems: CALLS_PROBLEMS,
      handle: async ({ query, body: recipients, log }) =>
        callsAnswer(recipients, await placeCalls(alertTypeOf(query.alert_type), recipients, log)),
    }),
  });
