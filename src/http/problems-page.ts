import * as z from 'zod';

import { CALL_REASONS, defaultDetail, FAULTS, PROBLEM_CODES, PROBLEM_TYPES } from './problem-types.ts';
import { get, type Route } from './route/route.ts';

const section = (title: string, about: string, codes: readonly (readonly [code: string, text: string])[]): string =>
  [
    `<h2>${title}</h2><p>${about}</p><dl>`,
    ...codes.map(([code, text]) => `<dt id="${code}"><code>${code}</code></dt><dd>${withCode(text)}</dd>`),
    '</dl>',
  ].join('\n');

/** A text of the tables as HTML: names in back quotes become code. The texts have no character that HTML would interpret. */
const withCode = (text: string): string => text.replaceAll(/`([^`]+)`/g, '<code>$1</code>');

const page = (): string =>
  [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Codes of the API</title></head><body>',
    '<h1>Codes of the API</h1>',
    section(
      'Problems',
      'The <code>code</code> of a problem. Its <code>type</code> leads here.',
      PROBLEM_CODES.map((code) => [code, `${PROBLEM_TYPES[code].status}. ${defaultDetail(code)}`]),
    ),
    section('Faults', 'The <code>code</code> of one of the <code>errors</code> of a problem.', Object.entries(FAULTS)),
    section(
      'Calls',
      'The <code>code</code> of a recipient in <code>calls</code> that is not called, or not yet.',
      Object.entries(CALL_REASONS),
    ),
    '</body></html>',
  ].join('\n');

/** `GET /api/problems`: what the codes of answers mean, for people. It is public. */
export const problemsPage = (): Route =>
  get('Problems', 'problems', {
    authLevel: 'anonymous',
    operationId: 'getProblems',
    tag: 'service',
    summary: 'What the codes of answers mean',
    query: 'any',
    answers: {
      200: {
        description: 'A page with an anchor for each code.',
        mediaType: 'text/html',
        schema: z.string().meta({ id: 'CodesPage' }),
      },
    },
    handle: () => ({ status: 200, body: page() }),
  });
