import * as z from 'zod';

/** A JSON object of the description, as OpenAPI 3.1 has it. */
export type Described = Readonly<Record<string, unknown>>;

/** The paths of one area: path → method → operation. */
export type Paths = Readonly<Record<string, Readonly<Record<string, Described>>>>;

/** The schemas that answers and bodies refer to by name; see {@link schemaRef}. */
export type NamedSchemas = Readonly<Record<string, Described>>;

/**
 * A zod schema → JSON Schema (2020-12, which OpenAPI 3.1 has taken over).
 *
 * @param io `input` for what a caller sends, before it is parsed; `output` for what the service answers
 */
export const jsonSchema = (schema: z.ZodType, io: 'input' | 'output'): Described => {
  const { $schema: _, ...described } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema: said }) => {
      // zod says of every integer that it is one that JavaScript can hold.
      if (said.maximum === Number.MAX_SAFE_INTEGER) delete said.maximum;
    },
  });
  return described;
};

/** A reference to a schema of the description, by its name there. */
export const schemaRef = (name: string): Described => ({ $ref: `#/components/schemas/${name}` });

/** What is said of a parameter besides what its schema says. */
export interface ParameterText {
  readonly description: string;
  readonly example: string;
  /** In place of what the schema tells, where that parses text and so tells nothing of its form. */
  readonly schema?: Described;
}

/**
 * The query parameters of a schema that validates them. The texts must cover all of them.
 *
 * @example queryParameters(daySchema, { date: { description: 'A UTC day.', example: '2026-11-21' }, … })
 */
export const queryParameters = <Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  texts: Readonly<Record<keyof Shape & string, ParameterText>>,
): readonly Described[] => {
  const { properties, required = [] } = z
    .object({
      properties: z.record(z.string(), z.record(z.string(), z.unknown())),
      required: z.array(z.string()).optional(),
    })
    .parse(jsonSchema(schema, 'input'));
  return Object.entries<ParameterText>(texts).map(([name, text]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    description: text.description,
    schema: { ...properties[name], ...text.schema },
    example: text.example,
  }));
};

/** A body, of a request or an answer: the schema's name, and an example or several by name. */
export interface BodyText {
  readonly schema: string;
  readonly examples: Readonly<Record<string, unknown>>;
  /** Where it is not `application/json`. */
  readonly mediaTypes?: readonly string[];
}

/** The `content` of a request or an answer. */
export const content = ({ schema, examples, mediaTypes = ['application/json'] }: BodyText): Described => {
  const described = {
    schema: schemaRef(schema),
    examples: Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }])),
  };
  return Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, described]));
};

/** An answer; without a body where none is given. */
export const answer = (description: string, body?: BodyText, headers: readonly string[] = []): Described => ({
  description,
  ...(headers.length === 0
    ? {}
    : { headers: Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }])) }),
  ...(body === undefined ? {} : { content: content(body) }),
});

/** What a problem's example shows. */
export interface ProblemExample {
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly [member: string]: unknown;
}

/** An answer that is a problem (RFC 9457). */
export const problemAnswer = (
  description: string,
  example: ProblemExample,
  { schema = 'Problem', headers = [] }: { readonly schema?: string; readonly headers?: readonly string[] } = {},
): Described =>
  answer(
    description,
    { schema, mediaTypes: ['application/problem+json'], examples: { problem: { type: 'about:blank', ...example } } },
    headers,
  );

/** What any endpoint may answer where something went wrong that nobody foresaw. */
export const unexpected = (): Readonly<Record<string, Described>> => ({
  '500': problemAnswer('Something unforeseen went wrong. It has been logged; the answer says nothing of it.', {
    title: 'Internal Server Error',
    status: 500,
    detail: 'Something went wrong here. It has been logged.',
  }),
});

/** Storage cannot be reached, or is busy. */
export const storageUnavailable = (): Readonly<Record<string, Described>> => ({
  '503': problemAnswer(
    'Storage cannot do this now, or did not answer in time. Send the same again.',
    {
      title: 'Service Unavailable',
      status: 503,
      detail: 'Storage cannot do this now. Nothing is lost by sending the same again.',
    },
    { headers: ['Retry-After'] },
  ),
});

/** Only with a function key; where it is missing or wrong, the host answers before any code of this service runs. */
export const withFunctionKey = {
  security: [{ functionKeyHeader: [] }, { functionKeyQuery: [] }],
  refusal: { '401': { description: 'The function key is missing or wrong. Empty: the Functions host answers this.' } },
} as const;
