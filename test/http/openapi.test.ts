import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';

import { createConfig, lintFromString } from '@redocly/openapi-core';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { newNotificationId } from '../../src/calls/model/ids.ts';
import { readText } from '../docs/markdown.ts';
import { type App, startApp, testEnvironment } from '../harness/app.ts';
import { loadBundle } from '../harness/bundled.ts';
import { type CheckedFetch, checkedFetch } from '../harness/contract.ts';

const KEY = 'a-key-of-this-test';

/** The declarations that every program in TypeScript has. */
const LIBRARIES = 'test/http/generators/node_modules/typescript/lib';

const loaded = { release: loadBundle('release'), debug: loadBundle('debug') };

/** The part of a description that requests are made from. */
const mediaSchema = z.object({ examples: z.record(z.string(), z.object({ value: z.unknown() })) });
const operationSchema = z.object({
  security: z.array(z.record(z.string(), z.unknown())),
  parameters: z
    .array(z.object({ name: z.string(), in: z.string(), example: z.union([z.string(), z.number()]).optional() }))
    .default([]),
  responses: z.record(z.string(), z.looseObject({ headers: z.looseObject({}).default({}) })),
  requestBody: z.object({ content: z.record(z.string(), mediaSchema) }).default({ content: {} }),
});
const pathsSchema = z.record(z.string(), z.record(z.string(), operationSchema));

const operationsOf = (description: Readonly<Record<string, unknown>>) =>
  Object.entries(pathsSchema.parse(description['paths'])).flatMap(([path, operations]) =>
    Object.entries(operations).map(([verb, { security, parameters, requestBody, responses }]) => {
      const examples = Object.values(requestBody.content).flatMap((content) => Object.values(content.examples));
      const hasBody = Object.keys(requestBody.content).length > 0;
      return { path, method: verb.toUpperCase(), security, parameters, examples, hasBody, responses };
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
    const globals = ['lib.dom.d.ts', 'lib.es5.d.ts', 'lib.es2015.collection.d.ts'].flatMap((file) =>
      [...readText(`${LIBRARIES}/${file}`).matchAll(/^(?:declare var|interface|type) (\w+)/gm)].map(([, name]) => name),
    );
    expect(globals).toEqual(expect.arrayContaining(['Notification', 'Event', 'Map']));
    const names = Object.keys(schemas);
    expect(names).toContain('NotificationState');
    expect(names.filter((name) => /(?:Input|Output)$/.test(name) || globals.includes(name))).toEqual([]);
  });

  it('has an ETag for every 200 of a GET that needs a key', () => {
    const keyed = operationsOf(loaded.debug.description).filter(
      ({ method, security }) => method === 'GET' && security.length > 0,
    );
    expect(keyed.filter(({ responses }) => responses['200']?.headers['ETag'] === undefined)).toEqual([]);
  });

  it('shows an example of every body that is sent and of every problem', () => {
    const requests = operationsOf(loaded.debug.description);
    expect(requests.filter(({ examples, hasBody }) => hasBody && examples.length === 0)).toEqual([]);
    const problems = description.match(/"application\/problem\+json":\{/g) ?? [];
    const shown = description.match(/\{"\$ref":"#\/components\/schemas\/Problem"\},"examples":\{"/g);
    expect([problems.length > 100, shown?.length]).toEqual([true, problems.length]);
  });

  it.each(['release', 'debug'] as const)(
    'of a %s build has exactly the registered paths, and each for every method: those not described are refused',
    (build) => {
      const registered = new Map<string, readonly string[]>();
      for (const { type, route, methods } of loaded[build].functions.flatMap(({ bindings }) =>
        Object.values(bindings),
      )) {
        if (type !== 'httpTrigger' || !Array.isArray(methods)) continue;
        const path = `/api/${String(route)}`;
        registered.set(path, [...(registered.get(path) ?? []), ...methods.map(String)]);
      }
      expect(registered.has('/api/test-call')).toBe(build === 'debug');
      const described = operationsOf(loaded[build].description);
      expect([...new Set(described.map(({ path }) => path))].toSorted()).toEqual([...registered.keys()].toSorted());
      for (const [path, methods] of registered) {
        const own = described.flatMap((one) => (one.path === path ? one.method : []));
        const refused = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
        // No two functions of a path may take the same method: the host would choose one of them.
        expect([path, ...methods.toSorted()]).toEqual([path, ...[...new Set([...own, ...refused])].toSorted()]);
      }
    },
  );
});

/** Text that can be in an address or a header. */
const text = fc
  .string({ unit: 'grapheme-ascii', maxLength: 60 })
  .map((value) => value.replaceAll(/[^\x20-\x7e]/g, '').trim());

/** JSON values, with values that often break parsers. */
const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom('', '\u0000', '__proto__', 'constructor', '1e999', '9'.repeat(400), '\uD800', [[[[]]]], {}, null),
);

/** A JSON value with one value in it, at any depth, replaced, or removed if it is a member. */
const mutated = (value: unknown): fc.Arbitrary<unknown> => {
  const members: readonly (readonly [string, unknown])[] = Object.entries(Object(value));
  if (typeof value !== 'object' || members.length === 0) return anyJson;
  const inside = fc.constantFrom(...members).chain(([name, member]) =>
    fc.option(mutated(member), { nil: undefined, freq: 6 }).map((other) => {
      if (Array.isArray(value)) return value.with(Number(name), other);
      return Object.fromEntries([...members, [name, other]]);
    }),
  );
  return fc.oneof({ weight: 1, arbitrary: anyJson }, { weight: 5, arbitrary: inside });
};

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

  it('to anybody, compressed in a fifth of the bytes, and in none to a caller who has it', async () => {
    const zipped = await fetch(`${app.url}/api/openapi.json`);
    const { headers } = zipped;
    expect([zipped.status, headers.get('content-type')]).toEqual([200, 'application/json']);
    const said = await zipped.text();
    expect(JSON.parse(said)).toEqual(description);
    expect(headers.get('content-encoding')).toBe('gzip');
    expect(Number(headers.get('content-length'))).toBeLessThan(said.length / 5);
    const asked = { headers: { 'if-none-match': headers.get('etag') ?? '' } };
    const known = await fetchChecked(`${app.url}/api/openapi.json`, asked);
    expect([known.status, await known.text(), known.headers.get('cache-control')]).toEqual([304, '', 'no-cache']);
  });

  it('also after a client that left in the middle of its body, which wakes nobody', async () => {
    const headers = { 'content-length': 1_000 };
    const outgoing = httpRequest(`${app.url}/api/AnomalyCallback`, { method: 'POST', headers });
    outgoing.once('error', () => undefined).write('[');
    await once(outgoing, 'socket');
    await expect.poll(async () => (await fetch(`${app.url}/api/health`)).status).toBe(200);
    await new Promise((closed) => void outgoing.once('close', closed).destroy());
    await (await fetch(`${app.url}/api/health`)).text();
    expect(app.output()).not.toMatch(/unexpected error|failed/);
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
