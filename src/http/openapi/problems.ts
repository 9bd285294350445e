import * as z from 'zod';
import type { ZodOpenApiResponsesObject } from 'zod-openapi';

import { PROBLEM_CODES, PROBLEM_TYPES, type ProblemCode } from '../problem-types.ts';
import {
  PROBLEM_MEDIA_TYPE,
  PROBLEM_STATUSES,
  problemBody,
  type ProblemInit,
  problemSchema,
  type ProblemStatus,
} from '../problem.ts';
import { allowHeader, answerHeader, requestIdHeader } from '../route/answers.ts';
import type { Operation, Route } from '../route/route.ts';

/** The problems that follow from the rest of a declaration. */
const derivedCodes = (
  { path, query, headers, body }: Operation,
  { methods, allowed }: Pick<Route, 'methods' | 'allowed'>,
): readonly ProblemCode[] => [
  ...(query !== 'any' || headers !== undefined ? (['invalid_request'] as const) : []),
  ...(path === undefined ? [] : (['not_found'] as const)),
  ...(methods.length > allowed.length ? (['method_not_allowed'] as const) : []),
  ...(body === undefined
    ? []
    : (['empty_body', 'not_gzip', 'not_utf8', 'length_required', 'body_too_large', 'unsupported_encoding'] as const)),
  ...(body === undefined || body.format === 'form' ? [] : (['not_json'] as const)),
  'unexpected',
];

const HEADERS: Readonly<Partial<Record<ProblemStatus, z.ZodRawShape>>> = {
  401: {
    'WWW-Authenticate': answerHeader('WWW-Authenticate', z.literal('Bearer').optional(), 'How to show who calls.'),
  },
  405: allowHeader,
  503: {
    'Retry-After': answerHeader(
      'Retry-After',
      z.string().regex(/^\d+$/).optional(),
      'Seconds to wait before sending the same again. Left out if waiting does not help.',
    ),
  },
};

/** The problems of an operation by status: each code in words, and an example of it. */
export const describeProblems = (declared: Operation, registered: Route): ZodOpenApiResponsesObject => {
  const codes = [...new Set([...derivedCodes(declared, registered), ...(declared.problems ?? [])])];
  const described = PROBLEM_STATUSES.flatMap((status) => {
    const own = codes.filter((code) => PROBLEM_TYPES[code].status === status);
    return own.length === 0 ? [] : [[String(status), describeStatus(status, own)] as const];
  });
  return Object.fromEntries(described);
};

const describeStatus = (status: ProblemStatus, codes: readonly ProblemCode[]) => ({
  description: codes.map((code) => `\`${code}\`: ${PROBLEM_TYPES[code].title}.`).join('\n'),
  headers: z.object({ ...HEADERS[status], ...requestIdHeader }),
  content: {
    [PROBLEM_MEDIA_TYPE]: {
      schema: problemSchema,
      examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
    },
  },
});

const failed = (code: string, reason: string) => ({
  calls: [{ recipient: '+1206•••••02', status: 'failed', code, reason }],
});

const EXAMPLES: Readonly<Partial<Record<ProblemCode, ProblemInit>>> = {
  invalid_request: {
    detail: 'date must be a day that exists, such as 2026-11-21',
    errors: [{ code: 'invalid', field: 'date', detail: 'must be a day that exists, such as 2026-11-21' }],
  },
  events_refused: {
    detail: '1 of 2 events are wrong; the others are recorded.',
    errors: [
      {
        code: 'empty',
        index: 1,
        id: '0c9d0c55-8f42-4f0a-8b0a-3a8d3b6f5a77',
        event_id: 'f-1029',
        field: 'data.camera_id',
        pointer: '/1/data/camera_id',
        detail: 'data.camera_id is empty',
      },
    ],
    extensions: { recorded: 1, unchanged: 0, superseded: 0 },
  },
  impossible_number: {
    extensions: failed('impossible_number', 'no number of this country has this length'),
  },
  nobody_allowed: {
    extensions: failed('not_allowed', 'this number may not be called: see PHONE_ALLOWED_PREFIXES'),
  },
  nobody_callable: {
    detail: 'The call could not be placed.',
    extensions: {
      notification_id: 'fe5c0d1a2b3c-81aa0f9b1d2e7a41c0de',
      ...failed('refused', 'number not found'),
    },
  },
};

/** An example of each problem, which the operations refer to by its code. */
export const problemExamples = (): Readonly<Record<string, { readonly value: unknown }>> =>
  Object.fromEntries(PROBLEM_CODES.map((code) => [code, { value: problemBody(code, EXAMPLES[code] ?? {}) }]));
