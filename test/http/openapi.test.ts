import { randomUUID } from 'node:crypto';

import { createConfig, lintFromString } from '@redocly/openapi-core';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { newNotificationId } from '../../src/calls/model/ids.ts';
import { type App, startApp, testEnvironment } from '../harness/app.ts';
import { loadBundle } from '../harness/bundled.ts';
import { type CheckedFetch, checkedFetch } from '../harness/contract.ts';
import { mutated } from './mutated.ts';

const KEY = 'a-key-of-this-test';

const loaded = { release: loadBundle('release'), debug: loadBundle('debug') };

/** The part of a description that requests are made from. */
const mediaSchema = z.object({ examples: z.record(z.string(), z.object({ value: z.unknown() })) });
const operationSchema = z.object({
  security: z.array(z.record(z.string(), z.unknown())),
  parameters: z
    .array(z.object({ name: z.string(), in: z.string(), example: z.union([z.string(), z.number()]).optional() }))
    .default([]),
  requestBody: z.object({ content: z.record(z.string(), mediaSchema) }).default({ content: {} }),
});
const pathsSchema = z.record(z.string(), z.record(z.string(), operationSchema));

const operationsOf = (description: Readonly<Record<string, unknown>>) =>
  Object.entries(pathsSchema.parse(description['paths'])).flatMap(([path, operations]) =>
    Object.entries(operations).map(([verb, { security, parameters, requestBody }]) => {
      const examples = Object.values(requestBody.content).flatMap((content) => Object.values(content.examples));
      return { path, method: verb.toUpperCase(), security, parameters, examples };
    }),
  );

describe.each(['release', 'debug'] as const)('the description of a %s build', (build) => {
  const { description, functions } = loaded[build];
  const text = JSON.stringify(description);

  it('is OpenAPI 3.1, and a linter with all of its recommended rules finds nothing', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] });
    const found = await lintFromString({ source: text, config });
    expect(found.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`)).toEqual([]);
  });

  it('has no number that is not an integer with bounds: a generated client takes `limit: 3`', () => {
    const numbers = text.match(/\{"type":"(?:number|integer)"[^{}]*\}/g) ?? [];
    expect(numbers.length).toBeGreaterThan(30);
    const bounded = /^\{"type":"integer",(?=.*"minimum":-?\d+)(?=.*"maximum":\d+)(?=.*"format":"int(?:32|64)")/;
    expect(numbers.filter((schema) => !bounded.test(schema))).toEqual([]);
    expect(text).toContain('"name":"limit","schema":{"type":"integer","minimum":1,"maximum":5000');
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
      const refused = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
      // No two functions of a path may take the same method: the host would choose one of them.
      expect([path, ...methods.toSorted()]).toEqual([path, ...[...new Set([...own, ...refused])].toSorted()]);
    }
  });

  it(`has the test call: ${build === 'debug'}`, () => {
    expect(text.includes('/api/test-call')).toBe(build === 'debug');
  });
});

/** Text that can be in an address or a header. */
const text = fc
  .string({ unit: 'grapheme-ascii', maxLength: 60 })
  .map((value) => value.replaceAll(/[^\x20-\x7e]/g, '').trim());

const requestTo = ({ method, path, parameters, examples }: ReturnType<typeof operationsOf>[number]) => {
  const given = (where: 'query' | 'header'): fc.Arbitrary<Record<string, string>> => {
    const values = parameters.flatMap(({ name, in: place, example }) => {
      if (place !== where) return [];
      const value = example === undefined ? text : fc.oneof(text, fc.constant(String(example)));
      return fc.option(value.map((one) => [name, one] as const));
    });
    return fc.tuple(...values).map((pairs) => Object.fromEntries(pairs.filter((pair) => pair !== null)));
  };
  const json = () => fc.constantFrom(...examples).chain(({ value }) => mutated(value));
  return fc.record({
    method: fc.constant(method),
    path: fc
      .string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 60 })
      .map((id) => path.replace(/\{\w+\}/, () => encodeURIComponent(id)))
      .filter((address) => !/\/\.{1,2}(\/|$)/.test(address)),
    query: fc.oneof(given('query'), fc.dictionary(fc.string({ maxLength: 12 }), text, { maxKeys: 3 })),
    headers: given('header'),
    body:
      examples.length === 0
        ? fc.constant(undefined)
        : fc.oneof({ weight: 6, arbitrary: json().map((value) => JSON.stringify(value) ?? '') }, fc.string()),
  });
};

// Left out: valid calls. The ACS of this test does not answer, so each would take seconds; other tests place calls.
const isHarmless = ({ path, body = '' }: { readonly path: string; readonly body: string | undefined }): boolean =>
  !body.includes('Microsoft.Communication.CallConnected') &&
  !(/notifications|test-call/.test(path) && /"\+\d{7,15}"/.test(body));

describe('the service is as it is described', () => {
  const { description } = loaded.debug;
  let app: App;
  let fetchChecked: CheckedFetch;
  beforeAll(async () => {
    app = await startApp({ environment: testEnvironment(), functionKey: KEY });
    fetchChecked = await checkedFetch(app.url);
  });
  afterAll(() => app.stop());

  it('to anybody', async () => {
    const response = await fetch(`${app.url}/api/openapi.json`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(await response.json()).toEqual(description);
  });

  it('in a fifth of the bytes to whoever takes gzip, and in none to whoever has it', async () => {
    const zipped = await fetch(`${app.url}/api/openapi.json`);
    const [length, tag] = ['content-length', 'etag'].map((name) => zipped.headers.get(name) ?? '');
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(Number(length)).toBeLessThan((await zipped.text()).length / 5);
    const plain = await fetch(`${app.url}/api/openapi.json`, { headers: { 'accept-encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(plain.headers.get('etag')).not.toBe(tag);
    const known = await fetchChecked(`${app.url}/api/openapi.json`, { headers: { 'if-none-match': tag ?? '' } });
    expect([known.status, await known.text(), known.headers.get('cache-control')]).toEqual([304, '', 'no-cache']);
  });

  it('in each operation, which asks for a key exactly where that is said', async () => {
    for (const { path, method, security } of operationsOf(description)) {
      const answer = await fetchChecked(`${app.url}${path}`, { method, headers: { 'x-functions-key': KEY } });
      // The host's own 404 has no body.
      expect(`${method} ${path} ${answer.status} ${await answer.text()}`).not.toMatch(/ 404 $/);
      const stranger = await fetch(`${app.url}${path}`, { method });
      const needsKey = security.some((one) => 'functionKeyHeader' in one);
      expect(`${method} ${path} ${stranger.status === 401}`).toBe(`${method} ${path} ${needsKey}`);
    }
  });

  it('in each operation, which names a parameter that is unknown exactly where it asks for a key', async () => {
    for (const { path, method, security } of operationsOf(description)) {
      const headers = { 'x-functions-key': KEY };
      const answer = await fetchChecked(
        `${app.url}${path.replace('{id}', newNotificationId(0, randomUUID()))}?no_parameter=1`,
        { method, headers },
      );
      const said = await answer.text();
      const named =
        answer.status === 400 && said.includes('"field":"no_parameter"') && said.includes('"code":"unknown"');
      const needsKey = security.some((one) => 'functionKeyHeader' in one);
      expect([method, path, named], said).toEqual([method, path, needsKey]);
    }
  });

  // The callback paths differ in their names alone.
  const distinct = operationsOf(description).filter(({ path }) => !/(?<!Anomaly)Callback$/.test(path));
  it.each(distinct.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
    'whatever is sent, and never with a 5xx: %s',
    async (_, operation) => {
      await fc.assert(
        fc.asyncProperty(requestTo(operation).filter(isHarmless), async ({ method, path, query, headers, body }) => {
          const address = `${path}?${new URLSearchParams(query).toString()}`;
          const response = await fetchChecked(`${app.url}${address}`, {
            method,
            headers: { ...headers, 'x-functions-key': KEY },
            ...(body !== undefined && { body }),
          });
          expect(response.status).toBeLessThan(500);
        }),
        { numRuns: 20 },
      );
    },
  );
});
