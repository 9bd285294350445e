import * as z from 'zod';
import type { ZodOpenApiResponsesObject } from 'zod-openapi';

import { PROBLEM_CODES, PROBLEM_TYPES, type ProblemCode } from '../problem-types.ts';
import { PROBLEM_MEDIA_TYPE, PROBLEM_STATUSES, problemBody, problemSchema, type ProblemStatus } from '../problem.ts';
import { allowHeader, answerHeader, requestIdHeader } from '../route/answers.ts';
import type { Operation, Route } from '../route/route.ts';

/** The problems that follow from the rest of a declaration. */
const derivedCodes = (
  { path, query, headers, body }: Operation,
  { GET, POST }: Pick<Route, 'GET' | 'POST'>,
): readonly ProblemCode[] => [
  ...(query !== 'any' || headers !== undefined ? (['invalid_request'] as const) : []),
  ...(path === undefined ? [] : (['not_found'] as const)),
  ...((GET ?? POST) === undefined ? [] : (['method_not_allowed'] as const)),
  ...(body === undefined
    ? []
    : ([
        'empty_body',
        'body_cut_off',
        'not_gzip',
        'not_utf8',
        'length_required',
        'body_too_large',
        'unsupported_encoding',
      ] as const)),
  ...(body === undefined || body.format === 'form' ? [] : (['not_json'] as const)),
  'unexpected',
];

const HEADERS: Readonly<Partial<Record<ProblemStatus, z.ZodRawShape>>> = {
  405: allowHeader,
  503: {
    'Retry-After': answerHeader(
      'Retry-After',
      z.string().regex(/^\d+$/).optional(),
      'Seconds to wait before the next try. Left out if waiting does not help.',
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

const EXAMPLE_ERRORS = [
  { code: 'empty', index: 1, field: 'data.camera_id', pointer: '/1/data/camera_id', detail: 'data.camera_id is empty' },
] as const;

/** An example of each problem, which the operations refer to by its code. */
export const problemExamples = (): Readonly<Record<string, { readonly value: unknown }>> =>
  Object.fromEntries(
    PROBLEM_CODES.map((code) => [
      code,
      { value: problemBody(code, code === 'events_refused' ? { errors: EXAMPLE_ERRORS } : {}) },
    ]),
  );
