import { MAX_ID_LENGTH } from '../../analytics/model/identifier.ts';
import { dayQuery, rangeQuery } from '../analytics-query.ts';
import { analyticsAnswerSchema } from '../answers.ts';
import {
  answer,
  type Described,
  jsonSchema,
  type NamedSchemas,
  type ParameterText,
  type Paths,
  problemAnswer,
  queryParameters,
  storageUnavailable,
  unexpected,
  withFunctionKey,
} from './operation.ts';

/** The schemas that the analytics' paths refer to. */
export const analyticsSchemas = (): NamedSchemas => ({ Analytics: jsonSchema(analyticsAnswerSchema, 'output') });

/** The two analytics endpoints. */
export const analyticsPaths = (): Paths => ({
  '/api/analytics': {
    get: {
      operationId: 'getAnalytics',
      tags: ['analytics'],
      summary: 'What happened in a period',
      description:
        'Both ends are included, to the microsecond; both are given or neither. Neither: the sliding window that ends now. At most 366 days.',
      security: withFunctionKey.security,
      parameters: queryParameters(rangeQuery, {
        ts_utc_start: { description: `The first moment. ${TIME_FORM}`, example: '2026-11-21T00:00:00Z' },
        ts_utc_end: { description: `The last moment. ${TIME_FORM}`, example: '2026-11-21T23:59:59.999999Z' },
        camera_id: CAMERA_ID,
      }),
      responses: answers('ts_utc_end is missing: give both ends or neither', 'ts_utc_end'),
    },
  },
  '/api/analytics/day': {
    get: {
      operationId: 'getAnalyticsOfDay',
      tags: ['analytics'],
      summary: 'What happened on a UTC day',
      security: withFunctionKey.security,
      parameters: queryParameters(dayQuery, {
        date: {
          description: 'A UTC day that exists; today where none is given.',
          example: '2026-11-21',
          schema: { format: 'date' },
        },
        camera_id: CAMERA_ID,
      }),
      responses: answers('date must be a day that exists, such as 2026-11-21', 'date'),
    },
  },
});

const TIME_FORM = 'ISO 8601 with `Z`, an offset, or nothing (then it is UTC); a `+` that became a space is understood.';

const CAMERA_ID: ParameterText = {
  description: 'One camera alone; all cameras where none is given.',
  example: 'ridge-04',
  schema: { minLength: 1, maxLength: MAX_ID_LENGTH },
};

const answers = (detail: string, field: string): Readonly<Record<string, Described>> => ({
  '200': answer('What happened. Every configured category is present in all three maps, 0 where nothing happened.', {
    schema: 'Analytics',
    examples: { day: EXAMPLE },
  }),
  '400': problemAnswer('A parameter is wrong, unknown, empty or given twice.', {
    title: 'Bad Request',
    status: 400,
    detail,
    errors: [{ field, detail: detail.slice(field.length + 1) }],
  }),
  ...withFunctionKey.refusal,
  ...unexpected(),
  ...storageUnavailable(),
});

const EXAMPLE = {
  ts_utc_start: '2026-11-21T00:00:00+00:00',
  ts_utc_end: '2026-11-21T23:59:59.999999+00:00',
  total_events: 2,
  active_cameras: 2,
  active_camera_ids: ['ridge-04', 'ridge-05'],
  counts_per_category: { fire: 0, smoke: 1, structure: 0 },
  reviewed_total_events: 1,
  reviewed_counts_per_category: { fire: 1, smoke: 0, structure: 0 },
  annotated_total_events: 1,
  annotated_counts_per_category: { fire: 1, smoke: 0, structure: 0 },
};
