import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type App, startApp, testEnvironment } from '../harness/app.ts';
import { loadBundle } from '../harness/bundled.ts';
import { Contract } from '../harness/contract.ts';

const KEY = 'a-key-of-this-test';

const loaded = { release: loadBundle('release'), debug: loadBundle('debug') };
const release = loaded.release.description;
const debug = loaded.debug.description;

const pathsOf = (document: { readonly paths?: unknown }): readonly string[] => Object.keys(Object(document.paths));

describe.each([
  ['release', release],
  ['debug', debug],
])('the description of a %s build', (_, document) => {
  it('is accepted by a validator of OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate({ ...structuredClone(document) });
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
    expect(validator.version).toBe('3.1');
  });

  it('has no finding of a linter with all of its recommended rules', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] });
    const found = await lintFromString({ source: JSON.stringify(document), config });
    expect(found.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`)).toEqual([]);
  });

  it('has no number that is not an integer with bounds: a generated client takes `limit: 3`', () => {
    const numbers = JSON.stringify(document).match(/\{"type":"(?:number|integer)"[^{}]*\}/g) ?? [];
    expect(numbers.length).toBeGreaterThan(30);
    const bounded = /^\{"type":"integer",(?=.*"minimum":-?\d+)(?=.*"maximum":\d+)(?=.*"format":"int(?:32|64)")/;
    expect(numbers.filter((schema) => !bounded.test(schema))).toEqual([]);
    expect(JSON.stringify(document)).toContain('"name":"limit","schema":{"type":"integer","minimum":1,"maximum":1000');
  });

  it('has nothing but examples that are as described', () => {
    expect(new Contract(document).objectionsToExamples()).toEqual([]);
  });

  it('shows an example of every body', () => {
    const bodies = JSON.stringify(document).match(/"content":\{"[^"]+":\{"schema"/g) ?? [];
    const withExamples = JSON.stringify(document).match(/"schema":\{"\$ref":"[^"]+"\},"examples":/g) ?? [];
    // The description itself is the one body without an example.
    expect(bodies.length).toBeGreaterThan(30);
    expect(withExamples.length).toBeGreaterThanOrEqual(bodies.length - 1);
  });
});

describe('the test call', () => {
  it('is described in debug builds only', () => {
    expect(pathsOf(debug)).toContain('/api/test-call');
    expect(pathsOf(release)).toEqual(pathsOf(debug).filter((path) => path !== '/api/test-call'));
  });
});

describe('the contract', () => {
  const contract = new Contract(debug);
  const health = { method: 'GET', path: '/api/health', status: 200, body: '{"status":"ok"}' };
  const json = new Headers({ 'content-type': 'application/json; charset=utf-8' });

  it('accepts an answer that is as described, whatever its case, query and trailing slash', () => {
    expect(contract.objectionsTo({ ...health, headers: json })).toEqual([]);
    expect(contract.objectionsTo({ ...health, path: '/API/Health/?code=x', headers: json })).toEqual([]);
    const unknown = { method: 'GET', path: '/api/nothing', status: 404, headers: new Headers(), body: '' };
    expect(contract.objectionsTo(unknown)).toEqual([]);
  });

  it.each([
    ['a status', { ...health, status: 204 }, json],
    ['a member', { ...health, body: '{"status":"ok","tables":2}' }, json],
    ['a value', { ...health, body: '{"status":"fine"}' }, json],
    ['text that is not JSON', { ...health, body: 'ok' }, json],
    ['a media type', health, new Headers({ 'content-type': 'text/plain' })],
    ['no media type', health, new Headers()],
    ['a method', { ...health, method: 'DELETE' }, json],
    ['a body where there is none', { ...health, path: '/api/events', method: 'OPTIONS', status: 401 }, json],
    [
      'a missing header',
      { ...health, status: 503, body: '{"type":"about:blank","title":"a","status":503,"detail":"b"}' },
      new Headers({ 'content-type': 'application/problem+json' }),
    ],
    ['a wrong path', { ...health, path: '/api/healthy' }, json],
  ])('objects to %s that is not described', (_, answer, headers) => {
    expect(contract.objectionsTo({ ...answer, headers })).toHaveLength(1);
  });
});

describe('GET /api/openapi.json', () => {
  let app: App;
  beforeAll(async () => {
    app = await startApp({ environment: testEnvironment(), functionKey: KEY });
  });
  afterAll(() => app.stop());

  it('answers the description to anybody', async () => {
    const response = await fetch(`${app.url}/api/openapi.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual(debug);
  });

  it('describes every path that there is: each answers something else than 404, as described', async () => {
    const contract = new Contract(debug);
    for (const [path, operations] of Object.entries(Object(debug['paths']))) {
      for (const verb of Object.keys(Object(operations))) {
        const method = verb.toUpperCase();
        const response = await fetch(`${app.url}${path}`, { method, headers: { 'x-functions-key': KEY } });
        const { status, headers } = response;
        const body = await response.text();
        // The host's own 404 has no body.
        expect(status !== 404 || body !== '', `${method} ${path} ${status}`).toBe(true);
        expect(contract.objectionsTo({ method, path, status, headers, body })).toEqual([]);
      }
    }
  });

  it('asks for a key exactly where the description says so', async () => {
    for (const [path, operations] of Object.entries(Object(debug['paths']))) {
      for (const [verb, operation] of Object.entries(Object(operations))) {
        const needsKey = JSON.stringify(Object(operation).security).includes('functionKey');
        const response = await fetch(`${app.url}${path}`, { method: verb.toUpperCase() });
        expect(`${verb} ${path} ${response.status === 401}`).toBe(`${verb} ${path} ${needsKey}`);
      }
    }
  });
});

describe.each([
  ['release', loaded.release],
  ['debug', loaded.debug],
])('a %s build', (_, { functions, description }) => {
  it('describes exactly the paths that it registers, and is registered for every method: those it does not describe it refuses', () => {
    const paths: unknown = description['paths'];
    const registered = new Map<string, readonly string[]>();
    for (const { type, route, methods } of functions.flatMap(({ bindings }) => Object.values(bindings))) {
      if (type !== 'httpTrigger' || !Array.isArray(methods)) continue;
      const path = `/api/${String(route)}`;
      const ofPath = [...(registered.get(path) ?? []), ...methods.map(String)];
      // No two functions of a path may take the same method: the host would choose one of them.
      expect(new Set(ofPath).size, path).toBe(ofPath.length);
      registered.set(path, ofPath);
    }
    expect(Object.keys(Object(paths)).toSorted()).toEqual([...registered.keys()].toSorted());
    for (const [path, methods] of registered) {
      const described = Object.keys(Object(Object(paths)[path])).map((verb) => verb.toUpperCase());
      expect(methods).toEqual(expect.arrayContaining([...described, 'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']));
    }
  });
});
