import assert from 'node:assert/strict';

import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { z } from 'zod';

/** `fetch` for an app: throws if an answer contradicts the app's own description of its API. */
export type CheckedFetch = (url: string, init?: RequestInit) => Promise<Response>;

const headerSchema = z.looseObject({ required: z.boolean().default(false) });
const responseSchema = z.looseObject({
  headers: z.record(z.string(), z.union([z.strictObject({ $ref: z.string() }), headerSchema])).default({}),
  content: z.record(z.string(), z.unknown()).default({}),
});
const documentSchema = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ responses: z.record(z.string(), responseSchema) }))),
  components: z.looseObject({ headers: z.record(z.string(), headerSchema) }),
});

/** To compile a description takes longer than a request. */
const contracts = new Map<string, Contract>();

/**
 * A `fetch` that compares every answer with the description that an app serves.
 *
 * @param appUrl without a slash at its end; answers of other instances of the same build may be fetched too
 */
export const checkedFetch = async (appUrl: string): Promise<CheckedFetch> => {
  const description = await (await fetch(`${appUrl}/api/openapi.json`)).text();
  const contract = contracts.get(description) ?? new Contract(description);
  contracts.set(description, contract);
  return async (url, init = {}) => {
    const answer = await fetch(url, init);
    const { method = 'GET' } = init;
    const { pathname } = new URL(url);
    const text = await answer.clone().text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    const body: unknown = text === '' ? undefined : isJson ? JSON.parse(text) : text;
    const objections = contract.objectionsTo(method, pathname, answer, body);
    assert.deepEqual(objections, [], `${method} ${pathname} → ${answer.status} is not as described`);
    return answer;
  };
};

/** Whether a path of the description, such as `/api/notifications/{id}`, fits a path. */
const fits = (template: string, path: string): boolean =>
  new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.')}/*$`, 'i').test(path);

/** The description without its openness for later versions: this version answers only described members. */
const closed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, closed(member)]));
  const isObject = members['type'] === 'object' && typeof members['properties'] === 'object';
  return isObject ? { additionalProperties: false, ...members } : members;
};

/** The description of an API, to compare answers with. */
export class Contract {
  readonly #document: z.infer<typeof documentSchema>;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });

  constructor(description: string) {
    this.#document = documentSchema.parse(closed(JSON.parse(description)));
    addFormats(this.#ajv);
    this.#ajv.addSchema(this.#document, 'api');
  }

  /**
   * Everything that is wrong with an answer, in words; empty if the answer agrees with the description.
   *
   * @param body parsed where it is JSON; undefined without a body
   */
  objectionsTo(
    method: string,
    path: string,
    { status, headers }: Pick<Response, 'status' | 'headers'>,
    body: unknown,
  ): readonly string[] {
    const [template = '', operations] = Object.entries(this.#document.paths).find(([one]) => fits(one, path)) ?? [];
    const verb = method.toLowerCase();
    if (operations?.[verb] === undefined) {
      const isOptions = operations !== undefined && method === 'OPTIONS' && status === 204 && headers.has('allow');
      return (isOptions || status === 404) && body === undefined ? [] : ['not described, and not an empty 404'];
    }
    const response = operations[verb].responses[String(status)];
    if (response === undefined) return [`${status} is not described`];
    const here = ['paths', template, verb, 'responses', String(status)];
    const wrongHeaders = Object.entries(response.headers).flatMap(([name, header]) => {
      const described = '$ref' in header ? this.#document.components.headers[name] : header;
      const value = headers.get(name);
      if (value === null) return described?.required === true ? [`the header ${name} is missing`] : [];
      return this.#invalid('$ref' in header ? ['components', 'headers', name] : [...here, 'headers', name], value);
    });
    const mediaType = headers.get('content-type')?.split(';')[0]?.trim() ?? '';
    const isDescribed = body === undefined ? isEmpty(response.content) : Object.hasOwn(response.content, mediaType);
    if (!isDescribed) return [...wrongHeaders, `a body of ${mediaType} is not described`];
    return body === undefined
      ? wrongHeaders
      : [...wrongHeaders, ...this.#invalid([...here, 'content', mediaType], body)];
  }

  /** @param pointer to what has the schema of the value */
  #invalid(pointer: readonly string[], value: unknown): readonly string[] {
    const steps = [...pointer, 'schema'].map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'));
    const validate = this.#ajv.getSchema(`api#/${steps.map(encodeURIComponent).join('/')}`);
    assert(validate, `no schema at ${steps.join('/')}`);
    void validate(value);
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || 'the value'} ${message}`);
  }
}

const isEmpty = (content: object): boolean => Object.keys(content).length === 0;
