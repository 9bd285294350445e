import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { type App, startApp, testEnvironment } from '../harness/app.ts';
import { Contract, debugDescription } from '../harness/contract.ts';

/** The part of the description that requests are made from. */
const mediaSchema = z.object({ examples: z.record(z.string(), z.object({ value: z.unknown() })) });
const operationSchema = z.object({
  parameters: z
    .array(z.object({ name: z.string(), in: z.string(), example: z.union([z.string(), z.number()]).optional() }))
    .default([]),
  requestBody: z.object({ content: z.record(z.string(), mediaSchema) }).default({ content: {} }),
});
const pathsSchema = z.record(z.string(), z.record(z.string(), operationSchema));

const description = debugDescription();
const operations = Object.entries(pathsSchema.parse(description['paths'])).flatMap(([path, verbs]) =>
  Object.entries(verbs).map(([verb, { parameters, requestBody }]) => {
    const examples = Object.values(requestBody.content).flatMap((content) => Object.values(content.examples));
    return { method: verb.toUpperCase(), path, parameters, examples };
  }),
);
// The callback paths differ in their names alone.
const distinct = operations.filter(({ path }) => !path.endsWith('Callback') || path.endsWith('/AnomalyCallback'));

/** JSON values, with those that often break parsers. */
const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(
    '',
    '\u0000',
    '__proto__',
    'constructor',
    '-1',
    '1e999',
    '9'.repeat(400),
    '\uD800',
    [[[[]]]],
    {},
    null,
  ),
);

/** The example with one value, at any depth, replaced, or removed where it is a member. */
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

/** Text that can be in an address or a header. */
const text = fc
  .string({ unit: 'grapheme-ascii', maxLength: 60 })
  .map((value) => value.replaceAll(/[^\x20-\x7e]/g, '').trim());

const requestTo = ({ method, path, parameters, examples }: (typeof operations)[number]) => {
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

describe('whatever is sent to an endpoint', () => {
  const contract = new Contract(description);
  let app: App;
  beforeAll(async () => {
    app = await startApp({ environment: testEnvironment() });
  });
  afterAll(() => app.stop());

  it.each(distinct.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
    '%s answers as described, and never with a 5xx',
    async (_, operation) => {
      await fc.assert(
        fc.asyncProperty(requestTo(operation).filter(isHarmless), async ({ method, path, query, headers, body }) => {
          const address = `${path}?${new URLSearchParams(query).toString()}`;
          const response = await fetch(`${app.url}${address}`, {
            method,
            headers,
            ...(body !== undefined && { body }),
          });
          const answer = { method, path: address, status: response.status, headers: response.headers };
          expect(contract.objectionsTo({ ...answer, body: await response.text() })).toEqual([]);
          expect(response.status).toBeLessThan(500);
        }),
        { numRuns: 50 },
      );
    },
  );

  it('leaves the app healthy', async () => {
    expect((await fetch(`${app.url}/api/health`)).status).toBe(200);
  });
});
