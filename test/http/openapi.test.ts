import { randomUUID } from 'node:crypto';

import { createConfig, lintFromString } from '@redocly/openapi-core';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { newNotificationId } from '../../src/calls/model/ids.ts';
import { type App, startApp, testEnvironment } from '../harness/app.ts';
import { loadBundle } from '../harness/bundled.ts';
import { type CheckedFetch, checkedFetch } from '../harness/contract.ts';

const KEY = 'a-key-of-this-test';

const loaded = { release: loadBundle('release'), debug: loadBundle('debug') };

/** A body that is sent, with an example at least. */
const mediaSchema = z.object({
  examples: z.record(z.string(), z.object({ value: z.unknown() })).refine((all) => Object.keys(all).length > 0),
});
/** The part of a description that requests are made from. */
const operationSchema = z.object({
  security: z.array(z.record(z.string(), z.unknown())),
  responses: z.record(z.string(), z.looseObject({ headers: z.looseObject({}).default({}) })),
  requestBody: z.object({ content: z.record(z.string(), mediaSchema) }).default({ content: {} }),
});
const pathsSchema = z.record(z.string(), z.record(z.string(), operationSchema));

const operationsOf = (description: Readonly<Record<string, unknown>>) =>
  Object.entries(pathsSchema.parse(description['paths'])).flatMap(([path, operations]) =>
    Object.entries(operations).map(([verb, { security, requestBody, responses }]) => {
      const examples = Object.values(requestBody.content).flatMap((content) => Object.values(content.examples));
      return { path, method: verb.toUpperCase(), security, examples, responses };
    }),
  );

const integerSchema = z.looseObject({ minimum: z.int(), maximum: z.int(), format: z.string() });

describe('the description', () => {
  const description = JSON.stringify(loaded.debug.description);

  it('is OpenAPI 3.1, and a linter with all of its recommended rules finds nothing', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] });
    const found = await lintFromString({ source: description, config });
    expect(found.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`)).toEqual([]);
  });

  it('has bounds and a format for each integer: a generated client takes `limit: 3`', () => {
    const numbers = (description.match(/\{"type":"integer"[^{}]*\}/g) ?? []).map((text) =>
      integerSchema.parse(JSON.parse(text)),
    );
    expect(numbers.length).toBeGreaterThan(30);
    for (const { maximum, format } of numbers) expect(format).toBe(maximum > 2 ** 31 - 1 ? 'int64' : 'int32');
    expect(description).toContain('"name":"limit","schema":{"type":"integer","minimum":1,"maximum":5000');
  });

  it('has one schema for one thing, and none that is named as a global of the browser or the language', () => {
    const { schemas } = z.object({ schemas: z.looseObject({}) }).parse(loaded.debug.description['components']);
    const names = Object.keys(schemas);
    expect(names).toContain('NotificationState');
    expect(names.filter((name) => /(?:Input|Output)$|^Notification$/.test(name) || name in globalThis)).toEqual([]);
  });

  it('has an ETag for every 200 of a GET that needs a key', () => {
    const keyed = operationsOf(loaded.debug.description).filter(
      ({ method, security }) => method === 'GET' && security.length > 0,
    );
    expect(keyed.filter(({ responses }) => responses['200']?.headers['ETag'] === undefined)).toEqual([]);
  });

  it('shows an example of every problem', () => {
    const problems = description.match(/"application\/problem\+json":\{/g) ?? [];
    const shown = description.match(/\{"\$ref":"#\/components\/schemas\/Problem"\},"examples":\{"/g);
    expect([problems.length > 100, shown?.length]).toEqual([true, problems.length]);
  });

  it.each(['release', 'debug'] as const)('of a %s build has the registered paths, each for every method', (build) => {
    const { description: ofBuild, functions } = loaded[build];
    const described = Map.groupBy(operationsOf(ofBuild), ({ path }) => path);
    const registered = Map.groupBy(
      functions.flatMap(({ bindings }) => Object.values(bindings)).filter(({ type }) => type === 'httpTrigger'),
      ({ route }) => `/api/${String(route)}`,
    );
    expect(registered.has('/api/test-call')).toBe(build === 'debug');
    expect([...described.keys()].toSorted()).toEqual([...registered.keys()].toSorted());
    // No two functions of a path may take the same method: the host would choose one of them.
    const all = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'];
    for (const [path, triggers] of registered)
      expect([
        path,
        triggers
          .flatMap(({ methods }) => methods)
          .map(String)
          .toSorted(),
      ]).toEqual([path, all]);
  });
});

/** JSON values, with values that often break parsers. */
const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom('', '\u0000', '__proto__', 'constructor', '1e999', '\uD800', [[[[]]]], {}, null, undefined),
);

/** A JSON value with one value in it, at any depth, replaced, or removed if it is a member. */
const mutated = (value: unknown): fc.Arbitrary<unknown> => {
  if (typeof value !== 'object' || value === null) return anyJson;
  const inside = Object.entries(value).map(([name, member]) =>
    mutated(member).map((other): unknown =>
      Array.isArray(value) ? value.with(Number(name), other) : Object.assign({}, value, { [name]: other }),
    ),
  );
  return fc.oneof(anyJson, ...inside);
};

// Left out: valid calls. The ACS of this test does not answer, so each would take seconds; other tests place calls.
const isHarmless = (body: string): boolean => !/"\+\d{7,15}"|Communication\.CallConnected/.test(body);

describe('the service is as it is described', () => {
  const { description } = loaded.debug;
  let app: App;
  let fetchChecked: CheckedFetch;
  beforeAll(async () => {
    app = await startApp({ environment: testEnvironment(), functionKey: KEY });
    fetchChecked = await checkedFetch(app.url);
  });
  afterAll(() => app.stop());

  it('to anybody, compressed in a fifth of the bytes, and in none to a caller who has it', async () => {
    const { status, headers } = await fetchChecked(`${app.url}/api/openapi.json`);
    expect([status, headers.get('content-encoding'), headers.get('cache-control')]).toEqual([200, 'gzip', 'no-cache']);
    expect(Number(headers.get('content-length'))).toBeLessThan(JSON.stringify(description).length / 5);
    const asked = { headers: { 'if-none-match': headers.get('etag') ?? '' } };
    expect((await fetchChecked(`${app.url}/api/openapi.json`, asked)).status).toBe(304);
  });

  it('in each operation, which asks for a key, and names an unknown parameter, exactly where that is said', async () => {
    for (const { path, method, security } of operationsOf(description)) {
      const needsKey = security.some((one) => 'functionKeyHeader' in one);
      const address = `${app.url}${path.replace('{id}', newNotificationId(0, randomUUID()))}?no_parameter=1`;
      const stranger = await fetchChecked(address, { method });
      const answer = await fetchChecked(address, { method, headers: { 'x-functions-key': KEY } });
      const said = await answer.text();
      const isNamed = answer.status === 400 && /"code":"unknown","field":"no_parameter"/.test(said);
      // The host's own 404 has no body.
      expect([method, path, answer.status === 404 && said === '']).toEqual([method, path, false]);
      expect([method, path, stranger.status === 401, isNamed], said).toEqual([method, path, needsKey, needsKey]);
    }
  });

  // The callback paths differ in their names alone.
  const posts = operationsOf(description).filter(
    ({ path, examples }) => examples.length > 0 && !/(?<!Anomaly)Callback$/.test(path),
  );
  it.each(posts)('whatever JSON is sent, and never with a 5xx: $path', async ({ path, method, examples }) => {
    const address = `${app.url}${path.replace('{id}', newNotificationId(0, randomUUID()))}`;
    const bodies = fc.oneof(...examples.map(({ value }) => mutated(value))).map((value) => JSON.stringify(value) ?? '');
    const send = async (body: string) => {
      const { status } = await fetchChecked(address, { method, body, headers: { 'x-functions-key': KEY } });
      expect(status).toBeLessThan(500);
    };
    await fc.assert(fc.asyncProperty(bodies.filter(isHarmless), send), { numRuns: 50 });
  });
});
