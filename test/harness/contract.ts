import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { z } from 'zod';

import { loadBundle } from './bundled.ts';

/** An answer that the service gave. */
export interface GivenAnswer {
  readonly method: string;
  /** With or without a query. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

const headerSchema = z.looseObject({ required: z.boolean().optional() });
const responseSchema = z.looseObject({
  headers: z.record(z.string(), z.union([z.strictObject({ $ref: z.string() }), headerSchema])).optional(),
  content: z.record(z.string(), z.unknown()).optional(),
});
const documentSchema = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ responses: z.record(z.string(), responseSchema) }))),
  components: z.looseObject({ headers: z.record(z.string(), headerSchema) }),
});

/** The description that a debug build answers, which has every endpoint. */
export const debugDescription = () => loadBundle('debug').description;

/** Whether a path of the description, such as `/api/notifications/{id}`, fits a path without its query. */
const fits = (template: string, path: string): boolean => {
  const wanted = template.toLowerCase().split('/');
  const given = path.toLowerCase().replace(/\/+$/, '').split('/');
  return (
    given.length === wanted.length &&
    wanted.every((segment, index) => (segment.startsWith('{') ? given[index] !== '' : given[index] === segment))
  );
};

/**
 * Compares answers with the API's description.
 *
 * @example
 * const contract = new Contract(debugDescription());
 * expect(contract.objectionsTo({ method: 'GET', path: '/api/health', status, headers, body })).toEqual([]);
 */
export class Contract {
  readonly #document: z.infer<typeof documentSchema>;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: unknown) {
    this.#document = documentSchema.parse(document);
    addFormats(this.#ajv);
    this.#ajv.addSchema(this.#document, 'api');
  }

  /** Everything that is wrong with an answer, in words; empty where it is as described. */
  objectionsTo({ method, path, status, headers, body }: GivenAnswer): readonly string[] {
    const said = `${method} ${path} → ${status}`;
    const [plainPath = ''] = path.split('?');
    const found = Object.entries(this.#document.paths).find(([template]) => fits(template, plainPath));
    const verb = method.toLowerCase();
    const operation = found?.[1][verb];
    if (found === undefined || operation === undefined) {
      return status === 404 && body === '' ? [] : [`${said}: not described, and not an empty 404`];
    }
    const response = operation.responses[String(status)];
    if (response === undefined) return [`${said}: this status is not described`];
    const pointer = ['paths', found[0], verb, 'responses', String(status)];
    return [
      ...this.#wrongHeaders(response, pointer, headers),
      ...this.#wrongBody(response, pointer, headers, body),
    ].map((objection) => `${said}: ${objection}`);
  }

  #wrongHeaders(
    { headers: described = {} }: z.infer<typeof responseSchema>,
    responsePointer: readonly string[],
    headers: Headers,
  ): readonly string[] {
    return Object.entries(described).flatMap(([name, here]) => {
      const isShared = '$ref' in here;
      const header = isShared ? this.#document.components.headers[name] : here;
      const pointer = isShared ? ['components', 'headers', name] : [...responsePointer, 'headers', name];
      const value = headers.get(name);
      if (value === null) return header?.['required'] === true ? [`the header ${name} is missing`] : [];
      return this.#invalid([...pointer, 'schema'], value);
    });
  }

  #wrongBody(
    { content }: z.infer<typeof responseSchema>,
    pointer: readonly string[],
    headers: Headers,
    body: string,
  ): readonly string[] {
    if (content === undefined) return body === '' ? [] : ['a body, where none is described'];
    const mediaType = headers.get('content-type')?.split(';')[0]?.trim() ?? 'no Content-Type';
    if (!Object.hasOwn(content, mediaType)) return [`${mediaType} is not described`];
    const value = mediaType.endsWith('json') ? parsed(body) : body;
    return value === undefined
      ? ['the body is not JSON']
      : this.#invalid([...pointer, 'content', mediaType, 'schema'], value);
  }

  #invalid(pointer: readonly string[], value: unknown): readonly string[] {
    const steps = pointer.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')));
    const $ref = `api#/${steps.join('/')}`;
    const validate = this.#validators.get($ref) ?? this.#ajv.compile({ $ref });
    this.#validators.set($ref, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      (error) => `${error.instancePath || 'the value'} ${error.message ?? 'is wrong'}`,
    );
  }
}

const parsed = (body: string): unknown => {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
};
