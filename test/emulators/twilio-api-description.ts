import { readFileSync } from 'node:fs';

import { Ajv } from 'ajv';
import { z } from 'zod';

const schemaOf = z.record(z.string(), z.unknown());
const operationSchema = z.object({
  requestBody: z
    .object({
      content: z.object({
        'application/x-www-form-urlencoded': z.object({
          schema: z.object({ properties: schemaOf, required: z.array(z.string()).default([]) }),
        }),
      }),
    })
    .optional(),
  parameters: z.array(z.object({ name: z.string(), in: z.string() })),
  responses: z.record(
    z.string(),
    z.object({ content: z.object({ 'application/json': z.object({ schema: schemaOf }) }) }),
  ),
});
const documentSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.object({ schemas: schemaOf }),
});

const file = new URL('fixtures/twilio-calls-api.json', import.meta.url);
const document = documentSchema.parse(JSON.parse(readFileSync(file, 'utf8')));

const BASE = '/2010-04-01/Accounts/{AccountSid}';
const operationOf = (method: string, path: string) => {
  const template = path.startsWith('/Calls/') ? `${BASE}/Calls/{Sid}.json` : `${BASE}${path}`;
  const operation = document.paths[template]?.[method.toLowerCase()];
  if (operation === undefined) throw new Error(`${method} ${path} is not in Twilio's description`);
  return operation;
};

const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
ajv.addSchema({ $id: 'twilio', components: document.components });

/** JSON Schema has no `nullable`. */
const withNull = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(withNull);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { nullable, ...rest } = schemaOf.parse(schema);
  const inner = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, withNull(value)]));
  return nullable === true ? { anyOf: [{ type: 'null' }, inner] } : inner;
};

const withDocument = (schema: unknown): Record<string, unknown> => ({
  ...schemaOf.parse(withNull(schema)),
  components: withNull(document.components),
});

/** What Twilio's own description has against a request; nothing where it fits. */
export const requestFaults = (method: string, path: string, names: Iterable<string>): readonly string[] => {
  const { requestBody, parameters } = operationOf(method, path);
  const form = requestBody?.content['application/x-www-form-urlencoded'].schema;
  const known = new Set([
    ...Object.keys(form?.properties ?? {}),
    ...parameters.flatMap((one) => (one.in === 'query' ? one.name : [])),
  ]);
  const given = [...names];
  return [
    ...given.filter((name) => !known.has(name)).map((name) => `${name} is unknown`),
    ...(form?.required ?? []).filter((name) => !given.includes(name)).map((name) => `${name} is missing`),
  ];
};

/** What Twilio's own description has against an answer; nothing where it fits. */
export const answerFaults = (method: string, path: string, status: number, body: unknown): readonly string[] => {
  const answer = operationOf(method, path).responses[status];
  if (answer === undefined) return [`${status} is not an answer`];
  const validate = ajv.compile(withDocument(answer.content['application/json'].schema));
  return validate(body) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
};
