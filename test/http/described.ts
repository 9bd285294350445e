import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as fc from 'fast-check';
import { z } from 'zod';

import { instantFrom, parseInstant } from '../../src/analytics/model/instant.ts';
import { newNotificationId } from '../../src/calls/model/ids.ts';
import type { NotificationRequest, Sent } from '../../src/calls/phone.ts';
import { apiDescription } from '../../src/http/openapi/document.ts';
import { recordEvents } from '../../src/http/record-events.ts';
import type { Route } from '../../src/http/route/route.ts';
import { notifications } from '../../src/http/send-notification.ts';
import { Contract } from '../harness/contract.ts';
import { mutated } from './mutated.ts';
import { type Answer, ask, codesOf } from './asking.ts';

/** A day after all times that the description has. */
const NOW = instantFrom(parseInstant('3000-01-02T00:00:00Z') ?? 0n);

const ID = newNotificationId(0, '3f0c0000-0000-4000-8000-0000000000e1');

const waiting = async ({ waves }: NotificationRequest): Promise<Sent> =>
  Promise.resolve({
    kind: 'sent',
    id: ID,
    calls: waves.flat().map(({ number: recipient }) => ({
      recipient,
      status: 'waiting',
      code: 'line',
      reason: 'not dialed yet',
      since: 0,
    })),
  });

/** A path that takes a body, in this process, with its description and nothing else to go by. */
export interface Described {
  /** Bodies that are made from the description alone. */
  readonly valid: (count: number) => readonly unknown[];
  /** Bodies that it does not describe, each of which differs from one that it does by one value. */
  readonly invalid: (count: number) => readonly unknown[];
  /** @throws where the answer is not as described */
  readonly post: (body: unknown) => Promise<Answer>;
}

/** What is refused by a rule that the description has in words. */
export const RULES_IN_WORDS = {
  events: new Set(['too_early', 'too_late', 'too_many', 'day_closed']),
  // More confirmations than recipients, and more than 50 in all waves together.
  notifications: new Set(['out_of_range', 'too_many']),
} as const satisfies Record<string, ReadonlySet<string>>;

/** The codes of what is wrong by an answer; none if it is good. */
export const faultsIn = (answer: Answer): readonly string[] => {
  if (answer.status < 300) return [];
  const { code, errors } = codesOf(answer);
  return errors.length === 0 ? [code] : errors.map(([fault = code]) => fault);
};

/** The paths for events and notifications. */
export const describedPaths = async (): Promise<Readonly<Record<'events' | 'notifications', Described>>> => {
  const recording = recordEvents({
    recorder: { record: async (messages) => Promise.resolve(messages.map(() => 'recorded' as const)) },
    now: () => NOW,
  });
  const sending = notifications({
    send: waiting,
    list: async () => Promise.resolve({ found: [], next: undefined }),
    needingAttention: async () => Promise.resolve({ notifications: [], phone: { usable: true } }),
  });
  const description = apiDescription(() => [recording, sending]);
  const { body } = await ask(description.handler, '/api/openapi.json');
  const contract = new Contract(JSON.stringify(body));
  return {
    events: path(recording, 'application/cloudevents-batch+json', body, contract),
    notifications: path(sending, 'application/json', body, contract),
  };
};

const path = (route: Route, mediaType: string, description: unknown, contract: Contract): Described => {
  const address = `/api/${route.path}`;
  const pointer = ['paths', address, 'post', 'requestBody', 'content', mediaType, 'schema'];
  const schema = inlined(
    pointer.reduce<unknown>((at, step) => Reflect.get(Object(at), step), description),
    description,
  );
  const ajv = new Ajv2020({ strict: false });
  addFormats(ajv);
  const isValid = ajv.compile(schema);
  const values = valuesOf(schema).filter((value) => isValid(value));
  return {
    valid: (count) => fc.sample(values, { numRuns: count, seed: 1 }),
    invalid: (count) =>
      fc.sample(
        values.chain(mutated).filter((value) => !isValid(value)),
        { numRuns: count, seed: 2 },
      ),
    post: async (value) => {
      const sent = JSON.stringify(value) ?? '';
      const answer = await ask(route.handler, address, {
        method: 'POST',
        body: sent,
        headers: { 'content-type': mediaType },
      });
      const response = new Response(null, { status: answer.status, headers: answer.headers });
      const objections = contract.objectionsTo('POST', address, response, JSON.stringify(answer.body));
      if (objections.length > 0) throw new Error(`${sent} → ${answer.status} ${objections.join('; ')}`);
      return answer;
    },
  };
};

const schemaSchema = z.looseObject({
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

/** What a schema describes, as far as the schemas of these paths go; whoever uses it checks each value against the schema. */
const valuesOf = (given: unknown): fc.Arbitrary<unknown> => {
  const schema = schemaSchema.parse(given);
  const { properties, required, minItems } = schema;
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.oneOf !== undefined) return fc.oneof(...schema.oneOf.map(valuesOf));
  switch (schema.type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.integer({ min: schema.minimum, max: schema.maximum });
    case 'array':
      return fc.array(valuesOf(schema.items), { minLength: minItems, maxLength: minItems + 3 });
    case 'string':
      return schema.pattern === undefined
        ? fc.string({ minLength: 1 })
        : fc.stringMatching(new RegExp(schema.pattern, 'u'));
    case 'object': {
      if (schema.propertyNames !== undefined) {
        const pair = fc.tuple(valuesOf(schema.propertyNames), valuesOf(schema.additionalProperties));
        return fc.array(pair, { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs));
      }
      const members: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(
        Object.entries(properties).map(([name, member]) => [name, valuesOf(member)]),
      );
      return fc.record(members, { requiredKeys: required });
    }
    case undefined:
    default:
      throw new TypeError(`this test makes no values of ${JSON.stringify(given)}`);
  }
};

/** A schema without references. */
const inlined = (value: unknown, description: unknown): object =>
  z.looseObject({}).parse(withoutRefs(value, description));

const withoutRefs = (value: unknown, description: unknown): unknown => {
  if (Array.isArray(value)) return value.map((one) => withoutRefs(one, description));
  if (typeof value !== 'object' || value === null) return value;
  if ('$ref' in value) {
    const steps = String(value.$ref).split('/').slice(1);
    return withoutRefs(
      steps.reduce<unknown>((at, step) => Reflect.get(Object(at), step), description),
      description,
    );
  }
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutRefs(member, description)]));
};
