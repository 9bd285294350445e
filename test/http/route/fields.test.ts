import { HttpRequest } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { Problem } from '../../../src/http/problem.ts';
import { readHeaders, readPath, readQuery } from '../../../src/http/route/fields.ts';

const request = (query = '', more: { headers?: Record<string, string>; params?: Record<string, string> } = {}) =>
  new HttpRequest({ method: 'GET', url: `http://localhost/api/x?${query}`, ...more });

const problemFrom = (read: () => unknown): Problem => {
  try {
    read();
  } catch (error) {
    if (error instanceof Problem) return error;
  }
  throw new Error('was not refused');
};

describe('query parameters', () => {
  const schema = z.object({ camera_id: z.string().max(5, 'is long').optional(), date: z.string().optional() });

  it.each([
    ['camera_id=a+b%2Bc', { camera_id: 'a b+c' }],
    ['camera_id=a,b', { camera_id: 'a,b' }],
    ['CODE=&ClientID=x&clientid=y', {}],
  ])('are parsed by the schema, and those of the host are ignored: %s', (query, value) => {
    expect(readQuery(request(query), schema)).toEqual(value);
  });

  it('that are unknown, empty, repeated or wrong are named, all at once', () => {
    const { status, init } = problemFrom(() => readQuery(request('camera=a&date=&date=b&camera_id=abcdef'), schema));
    const unknown = 'is unknown: the parameters are camera_id, date';
    expect([status, init]).toEqual([
      400,
      {
        detail: `camera ${unknown}; date is empty; camera_id is long`,
        errors: [
          { field: 'camera', detail: unknown },
          { field: 'date', detail: 'is empty' },
          { field: 'camera_id', detail: 'is long' },
        ],
      },
    ]);
  });

  it('that are many are all in errors, the first few in the sentence; a name is not repeated in full', () => {
    const { init } = problemFrom(() => readQuery(request(`a=1&5551234567=1&${'x'.repeat(65)}=1&d=1&e=1`), schema));
    expect(init.errors?.map((error) => 'field' in error && error.field)).toEqual([
      'a',
      '…',
      `${'x'.repeat(64)}…`,
      'd',
      'e',
    ]);
    expect(init.detail).toMatch(/^a is unknown: [^;]+; … is [^;]+; x+… is [^;]+; and 2 more$/);
  });
});

it('headers are read in whatever case they come, and those that are missing or wrong are named', () => {
  const schema = z.object({ 'X-Origin': z.string('is missing'), 'X-Rate': z.string().max(3, 'is long').optional() });
  const sent = request('', { headers: { 'x-ORIGIN': 'a.example', 'x-other': '1' } });
  expect(readHeaders(sent, schema)).toEqual({ 'X-Origin': 'a.example' });
  const { status, init } = problemFrom(() => readHeaders(request('', { headers: { 'x-rate': '1000' } }), schema));
  expect([status, init.detail]).toEqual([400, 'X-Origin is missing; X-Rate is long']);
});

it('parameters of the path are parsed by the schema; a malformed one names nothing: 404', () => {
  const id = '401f2d00-5d56-4d8a-b1e3-0242ac120002';
  expect(readPath(request('', { params: { id } }), z.object({ id: z.uuid() }))).toEqual({ id });
  const problem = problemFrom(() => readPath(request('', { params: { id: 'x' } }), z.object({ id: z.uuid() })));
  expect(problem.status).toBe(404);
});
