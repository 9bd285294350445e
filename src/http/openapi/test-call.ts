import { callAnswers } from './calls.ts';
import {
  content,
  jsonSchema,
  type NamedSchemas,
  type Paths,
  queryParameters,
  withFunctionKey,
} from './operation.ts';
import { recipientsSchema } from '../recipients.ts';
import { testCallQuery } from '../test-call.ts';

/** The schemas that the test call's path refers to. */
export const testCallSchemas = (): NamedSchemas => ({ PhoneNumbers: jsonSchema(recipientsSchema, 'input') });

/** The test call, which only debug builds have: nothing of this module may stay in a release bundle. */
export const testCallPaths = (): Paths => ({
  '/api/test-call': {
    post: {
      operationId: 'placeTestCall',
      tags: ['calls'],
      summary: 'Place test calls (debug builds only)',
      security: withFunctionKey.security,
      parameters: queryParameters(testCallQuery, {
        alert_type: { description: 'What is said.', example: 'BurnJob' },
      }),
      requestBody: {
        required: true,
        content: content({ schema: 'PhoneNumbers', examples: { one: ['+12065550100'] } }),
      },
      responses: callAnswers(),
    },
  },
});
