import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { type App, startApp, testEnvironment } from '../harness/app.ts';
import { loadBundle } from '../harness/bundled.ts';
import { Contract } from '../harness/contract.ts';

const KEY = 'a-key-of-this-test';

const loaded = { release: loadBundle('release'), debug: loadBundle('debug') };

const pathsSchema = z.record(
  z.string(),
  z.record(z.string(), z.looseObject({ security: z.array(z.record(z.string(), z.unknown())) })),
);
const operationsOf = (description: Readonly<Record<string, unknown>>) =>
  Object.entries(pathsSchema.parse(description['paths'])).flatMap(([path, operations]) =>
    Object.entries(operations).map(([verb, { security }]) => ({ path, method: verb.toUpperCase(), security })),
  );

describe.each(['release', 'debug'] as const)('the description of a %s build', (build) => {
  const { description, functions } = loaded[build];
  const text = JSON.stringify(description);

  it('is accepted by a validator of OpenAPI 3.1, and a linter with all of its recommended rules finds nothing', async () => {
    const validator = new Validator();
    expect(await validator.validate(structuredClone(description))).toEqual({ valid: true, errors: undefined });
    expect(validator.version).toBe('3.1');
    const config = await createConfig({ extends: ['recommended-strict'] });
    const found = await lintFromString({ source: text, config });
    expect(found.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`)).toEqual([]);
  });

  it('has no number that is not an integer with bounds: a generated client takes `limit: 3`', () => {
    const numbers = text.match(/\{"type":"(?:number|integer)"[^{}]*\}/g) ?? [];
    expect(numbers.length).toBeGreaterThan(30);
    const bounded = /^\{"type":"integer",(?=.*"minimum":-?\d+)(?=.*"maximum":\d+)(?=.*"format":"int(?:32|64)")/;
    expect(numbers.filter((schema) => !bounded.test(schema))).toEqual([]);
    expect(text).toContain('"name":"limit","schema":{"type":"integer","minimum":1,"maximum":1000');
  });

  it('shows an example of every body but the description itself', () => {
    const bodies = text.match(/"content":\{"[^"]+":\{"schema"/g) ?? [];
    const withExamples = text.match(/"schema":\{"\$ref":"[^"]+"\},"examples":/g) ?? [];
    expect(bodies.length).toBeGreaterThan(30);
    expect(withExamples.length).toBeGreaterThanOrEqual(bodies.length - 1);
  });

  it('has exactly the paths that are registered, and each for every method: those not described are refused', () => {
    const registered = new Map<string, readonly string[]>();
    for (const { type, route, methods } of functions.flatMap(({ bindings }) => Object.values(bindings))) {
      if (type !== 'httpTrigger' || !Array.isArray(methods)) continue;
      const path = `/api/${String(route)}`;
      registered.set(path, [...(registered.get(path) ?? []), ...methods.map(String)]);
    }
    const described = operationsOf(description);
    expect([...new Set(described.map(({ path }) => path))].toSorted()).toEqual([...registered.keys()].toSorted());
    for (const [path, methods] of registered) {
      const own = described.flatMap((one) => (one.path === path ? one.method : []));
      const refused = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
      // No two functions of a path may take the same method: the host would choose one of them.
      expect([path, ...methods.toSorted()]).toEqual([path, ...[...new Set([...own, ...refused])].toSorted()]);
    }
  });

  it(`has the test call: ${build === 'debug'}`, () => {
    expect(text.includes('/api/test-call')).toBe(build === 'debug');
  });
});

describe('GET /api/openapi.json', () => {
  const { description } = loaded.debug;
  let app: App;
  beforeAll(async () => {
    app = await startApp({ environment: testEnvironment(), functionKey: KEY });
  });
  afterAll(() => app.stop());

  it('answers the description to anybody', async () => {
    const response = await fetch(`${app.url}/api/openapi.json`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(await response.json()).toEqual(description);
  });

  it('describes what there is: each operation answers as described, and asks for a key exactly where that is said', async () => {
    const contract = new Contract(description);
    for (const { path, method, security } of operationsOf(description)) {
      const answer = await fetch(`${app.url}${path}`, { method, headers: { 'x-functions-key': KEY } });
      const { status, headers } = answer;
      const body = await answer.text();
      // The host's own 404 has no body.
      expect(status !== 404 || body !== '', `${method} ${path} ${status}`).toBe(true);
      expect(contract.objectionsTo({ method, path, status, headers, body })).toEqual([]);
      const stranger = await fetch(`${app.url}${path}`, { method });
      const needsKey = security.some((one) => 'functionKeyHeader' in one);
      expect(`${method} ${path} ${stranger.status === 401}`).toBe(`${method} ${path} ${needsKey}`);
    }
  });

  it('is what answers are held against: what is not described is found', () => {
    const contract = new Contract(description);
    const json = new Headers({ 'content-type': 'application/json; charset=utf-8' });
    const health = { method: 'GET', path: '/API/Health/?code=x', status: 200, body: '{"status":"ok"}', headers: json };
    expect(contract.objectionsTo(health)).toEqual([]);
    const problem = '{"type":"about:blank","title":"a","status":503,"detail":"b"}';
    const asProblem = new Headers({ 'content-type': 'application/problem+json' });
    for (const wrong of [
      { ...health, status: 204 },
      { ...health, body: '{"status":"ok","tables":2}' },
      { ...health, body: 'ok' },
      { ...health, headers: new Headers() },
      { ...health, method: 'DELETE' },
      { ...health, path: '/api/healthy' },
      { ...health, path: '/api/events', method: 'OPTIONS', status: 401 },
      { ...health, status: 503, body: problem, headers: asProblem },
    ]) {
      expect(contract.objectionsTo(wrong)).toHaveLength(1);
    }
  });
});
