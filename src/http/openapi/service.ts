import { healthAnswerSchema } from '../answers.ts';
import { answer, jsonSchema, type NamedSchemas, type Paths, problemAnswer, unexpected } from './operation.ts';

/** The schemas that the service's paths refer to. */
export const serviceSchemas = (): NamedSchemas => ({ Health: jsonSchema(healthAnswerSchema, 'output') });

/** The endpoints about the service itself. */
export const servicePaths = (): Paths => ({
  '/api/health': {
    get: {
      operationId: 'getHealth',
      tags: ['service'],
      summary: 'Whether storage answers',
      security: [],
      responses: {
        '200': answer('It does.', { schema: 'Health', examples: { ok: { status: 'ok' } } }),
        ...unexpected(),
        '503': problemAnswer(
          'It does not.',
          { title: 'Service Unavailable', status: 503, detail: 'The service cannot work now.' },
          { headers: ['Retry-After'] },
        ),
      },
    },
  },
  '/api/openapi.json': {
    get: {
      operationId: 'getDescription',
      tags: ['service'],
      summary: 'This description',
      security: [],
      responses: {
        '200': {
          description: 'OpenAPI 3.1.',
          content: { 'application/json': { schema: { type: 'object', required: ['openapi', 'info', 'paths'] } } },
        },
        ...unexpected(),
      },
    },
  },
});
