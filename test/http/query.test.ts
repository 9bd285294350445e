import { HttpRequest } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { Problem } from '../../src/http/problem.ts';
import { badQuery, readQuery } from '../../src/http/query.ts';

const schema = z.object({ camera_id: z.string().max(5, 'is long').optional(), date: z.string().optional() });

/** As the host hands it on without streaming: repeated parameters joined with commas. */
const request = (query: string): HttpRequest => {
  const joined: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(query))
    joined[name] = name in joined ? `${joined[name]},${value}` : value;
  return new HttpRequest({ method: 'GET', url: `http://localhost/api/x?${query}`, query: joined });
};

const problemOf = (query: string): Problem => {
  try {
    readQuery(request(query), schema);
  } catch (error) {
    if (error instanceof Problem) return error;
  }
  throw new Error('was not refused');
};

describe('query parameters', () => {
  it('are parsed by the schema', () => {
    expect(readQuery(request('camera_id=a+b%2Bc'), schema)).toEqual({ camera_id: 'a b+c' });
    expect(readQuery(request(''), schema)).toEqual({});
  });

  it('with a comma are one value', () => {
    expect(readQuery(request('camera_id=a,b'), schema)).toEqual({ camera_id: 'a,b' });
  });

  it('given more than once are refused, though the host joins them with a comma', () => {
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
    expect(() => readQuery(request('a=1'), z.object({}))).toThrow('a is unknown: there are no parameters here');
  });

  it('that are wrong are named with what the schema says', () => {
    expect(problemOf('camera_id=abcdef').init.errors).toEqual([{ field: 'camera_id', detail: 'is long' }]);
  });

  it.each(['code=1', 'CODE=', 'clientId=x', 'ClientID=x&clientid=y'])('of the host are passed over: %s', (query) => {
    expect(readQuery(request(query), schema)).toEqual({});
  });

  it('can be refused later on as well', () => {
    const { status, init } = badQuery([{ field: 'date', detail: 'is too far away' }]);
    expect([status, init.detail]).toEqual([400, 'date is too far away']);
  });
});
