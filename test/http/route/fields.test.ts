import { HttpRequest } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { Problem } from '../../../src/http/problem.ts';
import { NO_QUERY, readHeaders, readPath, readQuery } from '../../../src/http/route/fields.ts';

const schema = z.object({ camera_id: z.string().max(5, 'is long').optional(), date: z.string().optional() });

const request = (query: string): HttpRequest =>
  new HttpRequest({ method: 'GET', url: `http://localhost/api/x?${query}` });

const problemFrom = (read: () => unknown): Problem => {
  try {
    read();
  } catch (error) {
    if (error instanceof Problem) return error;
  }
  throw new Error('was not refused');
};

const problemOf = (query: string): Problem => problemFrom(() => readQuery(request(query), schema));

const withHeaders = (headers: Record<string, string>): HttpRequest =>
  new HttpRequest({ method: 'OPTIONS', url: 'http://localhost/api/x', headers });

const forPath = (id: string): HttpRequest =>
  new HttpRequest({ method: 'GET', url: `http://localhost/api/x/${id}`, params: { id } });

describe('query parameters', () => {
  it('are parsed by the schema', () => {
    expect(readQuery(request('camera_id=a+b%2Bc'), schema)).toEqual({ camera_id: 'a b+c' });
    expect(readQuery(request(''), schema)).toEqual({});
  });

  it('with a comma are one value', () => {
    expect(readQuery(request('camera_id=a,b'), schema)).toEqual({ camera_id: 'a,b' });
  });

  it('given more than once are refused', () => {
    expect(problemOf('camera_id=a&camera_id=b').init.errors).toEqual([
      { field: 'camera_id', detail: 'is given more than once' },
    ]);
  });

  it('that are unknown or empty are named, all at once, with those that there are', () => {
    const { status, init } = problemOf('camera=a&date=&code=k');
    expect(status).toBe(400);
    expect(init.errors).toEqual([
      { field: 'camera', detail: 'is unknown: the parameters are camera_id, date' },
      { field: 'date', detail: 'is empty' },
    ]);
    expect(init.detail).toBe('camera is unknown: the parameters are camera_id, date; date is empty');
    expect(() => readQuery(request('a=1'), NO_QUERY)).toThrow('a is unknown: there are no parameters here');
  });

  it('that are wrong are named with what the schema says', () => {
    expect(problemOf('camera_id=abcdef').init.errors).toEqual([{ field: 'camera_id', detail: 'is long' }]);
    const all = problemOf('camera=a&date=&camera_id=abcdef').init.errors?.map(
      (error) => 'field' in error && error.field,
    );
    expect(all).toEqual(['camera', 'date', 'camera_id']);
  });

  it.each(['code=1', 'CODE=', 'clientId=x', 'ClientID=x&clientid=y'])('of the host are ignored: %s', (query) => {
    expect(readQuery(request(query), schema)).toEqual({});
  });

  it('that are wrong are all in errors, the first few in the sentence', () => {
    const { init } = problemOf('a=1&b=1&c=1&d=1&e=1');
    expect(init.errors).toHaveLength(5);
    expect(init.detail).toMatch(/^a is unknown: [^;]+; b is [^;]+; c is [^;]+; and 2 more$/);
  });
});

describe('headers', () => {
  const headersSchema = z.object({
    'WebHook-Request-Origin': z.string('is missing').min(1, 'is empty'),
    'X-Rate': z.string().max(3, 'is long').optional(),
  });

  it('are read in whatever case they come, by the names that the schema gives them', () => {
    const sent = withHeaders({ 'webhook-request-ORIGIN': 'a.example', 'x-other': '1' });
    expect(readHeaders(sent, headersSchema)).toEqual({ 'WebHook-Request-Origin': 'a.example' });
  });

  it('that are missing or wrong are named', () => {
    const { status, init } = problemFrom(() => readHeaders(withHeaders({ 'x-rate': '1000' }), headersSchema));
    expect([status, init.errors]).toEqual([
      400,
      [
        { field: 'WebHook-Request-Origin', detail: 'is missing' },
        { field: 'X-Rate', detail: 'is long' },
      ],
    ]);
    expect(init.detail).toBe('WebHook-Request-Origin is missing; X-Rate is long');
  });
});

describe('parameters of the path', () => {
  const pathSchema = z.object({ id: z.uuid() });

  it('are parsed by the schema', () => {
    const id = '401f2d00-5d56-4d8a-b1e3-0242ac120002';
    expect(readPath(forPath(id), pathSchema)).toEqual({ id });
  });

  it('that are malformed name nothing: 404', () => {
    expect(problemFrom(() => readPath(forPath('x'), pathSchema)).status).toBe(404);
  });
});
