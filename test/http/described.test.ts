import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';

import { instantFrom, parseInstant } from '../../src/analytics/model/instant.ts';
import { newNotificationId } from '../../src/calls/model/ids.ts';
import { apiDescription } from '../../src/http/openapi/document.ts';
import { recordEvents } from '../../src/http/record-events.ts';
import { notifications } from '../../src/http/send-notification.ts';
import { ask, codesOf } from './asking.ts';

const COUNT = 1_000;

const recording = recordEvents({
  recorder: { record: async (messages) => Promise.resolve(messages.map(() => 'recorded' as const)) },
  // A day after all times that the description has.
  now: () => instantFrom(parseInstant('3000-01-02T00:00:00Z') ?? 0n),
});
const sending = notifications({
  send: async ({ waves }) =>
    Promise.resolve({
      kind: 'sent',
      id: newNotificationId(0, '3f0c0000-0000-4000-8000-0000000000e1'),
      calls: waves
        .flat()
        .map(({ number }) => ({ recipient: number, status: 'waiting', code: 'line', reason: 'busy', since: 0 })),
    }),
  list: async () => Promise.resolve({ found: [], next: undefined }),
  needingAttention: async () => Promise.resolve({ notifications: [], phone: { usable: true } }),
});

const { body: description } = await ask(apiDescription(() => [recording, sending]).handler, '/api/openapi.json');
const ajv = new Ajv2020({ strict: false });
addFormats(ajv);
ajv.addSchema(z.looseObject({}).parse(description), 'api');

const schemaSchema = z.looseObject({
  $ref: z.string().optional(),
  type: z.string().optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  oneOf: z.array(z.unknown()).optional(),
  pattern: z.string().optional(),
  minimum: z.int().default(-10),
  maximum: z.int().default(10),
  minItems: z.int().default(0),
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
  items: z.unknown().optional(),
  propertyNames: z.unknown().optional(),
  additionalProperties: z.unknown().optional(),
});

/** The part of the description at a JSON Pointer. */
const partAt = (pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((at, step) => Reflect.get(Object(at), step.replaceAll('~1', '/')), description);

/** Values of a schema, as far as the schemas of these bodies go. Some values break its other rules. */
const valuesOf = (given: unknown): fc.Arbitrary<unknown> => {
  const schema = schemaSchema.parse(given);
  const { properties, required, minItems } = schema;
  if (schema.$ref !== undefined) return valuesOf(partAt(schema.$ref));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.oneOf !== undefined) return fc.oneof(...schema.oneOf.map(valuesOf));
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'integer') return fc.integer({ min: schema.minimum, max: schema.maximum });
  if (schema.type === 'array') {
    return fc.array(valuesOf(schema.items), { minLength: minItems, maxLength: minItems + 3 });
  }
  if (schema.type === 'string') {
    return schema.pattern === undefined
      ? fc.string({ minLength: 1 })
      : fc.stringMatching(new RegExp(schema.pattern, 'u'));
  }
  if (schema.propertyNames !== undefined) {
    return fc.dictionary(valuesOf(schema.propertyNames).map(String), valuesOf(schema.additionalProperties), {
      maxKeys: 4,
    });
  }
  const members = Object.entries(properties).map(([name, member]) => [name, valuesOf(member)] as const);
  return fc.record(Object.fromEntries(members), { requiredKeys: required });
};

// The description has some rules in words: for notifications, the number of confirmations and of recipients in all waves.
it.each([
  [recording, 'application/cloudevents-batch+json', ['too_early', 'too_late', 'too_many']],
  [sending, 'application/json', ['out_of_range', 'too_many']],
] as const)('$name accepts bodies made from the description alone', async (route, mediaType, inWords) => {
  const address = `/api/${route.path}`;
  const pointer = ['', 'paths', address, 'post', 'requestBody', 'content', mediaType, 'schema']
    .map((step) => step.replaceAll('/', '~1'))
    .join('/');
  const isValid = ajv.compile({ $ref: `api#${pointer.replaceAll('+', '%2B')}` });
  const made = fc.sample(
    valuesOf(partAt(pointer)).filter((value) => isValid(value)),
    { numRuns: COUNT, seed: 1 },
  );
  let accepted = 0;
  for (const value of made) {
    const headers = { 'content-type': mediaType };
    const answer = await ask(route.handler, address, { method: 'POST', body: JSON.stringify(value), headers });
    if (answer.status < 300) accepted += 1;
    const { code, errors } = answer.status < 300 ? { code: undefined, errors: [] } : codesOf(answer);
    const faults = code === 'invalid_request' || code === 'events_refused' ? errors.map(([fault]) => fault) : [code];
    const unexpected = faults.filter((fault) => fault !== undefined && !inWords.some((one) => one === fault));
    expect({ value, unexpected }).toEqual({ value, unexpected: [] });
  }
  expect(accepted).toBeGreaterThan(COUNT / 2);
});
