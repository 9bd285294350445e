import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { z } from 'zod';

/** Speaks a text so many times. */
export interface Say {
  readonly verb: 'Say';
  readonly text: string;
  readonly loop: number;
}

/** Waits so many seconds. */
export interface Pause {
  readonly verb: 'Pause';
  readonly seconds: number;
}

/** Listens for keys, from its beginning to so many seconds after what it says. */
export interface Gather {
  readonly verb: 'Gather';
  readonly says: readonly (Say | Pause)[];
  readonly action: string | undefined;
  readonly numDigits: number | undefined;
  readonly finishOnKey: string;
  readonly timeoutSeconds: number;
}

/** An instruction that this simulator carries out. */
export type Verb =
  Say | Pause | Gather | { readonly verb: 'Redirect'; readonly url: string } | { readonly verb: 'Hangup' };

/** What Twilio would not carry out. */
export class TwimlError extends Error {
  override readonly name = 'TwimlError';
}

/** Twilio speaks no longer text. */
const MOST_CHARACTERS = 4_096;

type Element = Readonly<Record<string, unknown>>;

const attributesOf = <Schema extends z.ZodType>(element: Element, schema: Schema): z.output<Schema> => {
  const parsed = schema.safeParse(element[':@'] ?? {});
  if (!parsed.success) throw new TwimlError(z.prettifyError(parsed.error));
  return parsed.data;
};

const wholeText = (max: number) =>
  z
    .string()
    .regex(/^\d{1,4}$/)
    .transform(Number)
    .refine((value) => value <= max);

const sayAttributes = z.strictObject({
  voice: z.string().min(1),
  language: z.literal('en-US').optional(),
  loop: wholeText(1_000).prefault('1'),
});
const gatherAttributes = z.strictObject({
  input: z.literal('dtmf'),
  action: z.string().optional(),
  method: z.literal('POST').optional(),
  numDigits: wholeText(1_000).optional(),
  finishOnKey: z
    .string()
    .regex(/^[\d#*]?$/)
    .prefault('#'),
  timeout: wholeText(60).prefault('5'),
  actionOnEmptyResult: z.literal('false').optional(),
});
const redirectAttributes = z.strictObject({ method: z.literal('POST').optional() });
const pauseAttributes = z.strictObject({ length: wholeText(60).prefault('1') });
const noAttributes = z.strictObject({});

const elementsOf = z.array(z.record(z.string(), z.unknown()));
const textNode = z.object({ '#text': z.string() });

const nameOf = (element: Element): string => Object.keys(element).find((key) => key !== ':@') ?? '';

const childrenOf = (element: Element): readonly Element[] =>
  elementsOf.parse(element[nameOf(element)]).filter((child) => !isBlank(child));

const isBlank = (element: Element): boolean => {
  const { data } = textNode.safeParse(element);
  return data !== undefined && data['#text'].trim() === '';
};

const textOf = (element: Element): string => {
  const text = elementsOf
    .parse(element[nameOf(element)])
    .map((child) => textNode.parse(child)['#text'])
    .join('');
  if (text.trim() === '') throw new TwimlError(`<${nameOf(element)}> is empty`);
  return text;
};

const readSay = (element: Element): Say => {
  const { loop } = attributesOf(element, sayAttributes);
  const text = textOf(element);
  if (text.length > MOST_CHARACTERS) throw new TwimlError(`<Say> has ${text.length} characters`);
  return { verb: 'Say', text, loop };
};

const readSpoken = (element: Element): Say | Pause => {
  switch (nameOf(element)) {
    case 'Say':
      return readSay(element);
    case 'Pause':
      return { verb: 'Pause', seconds: attributesOf(element, pauseAttributes).length };
    default:
      throw new TwimlError(`<${nameOf(element)}> cannot stand in <Gather>`);
  }
};

const readVerb = (element: Element): Verb => {
  const name = nameOf(element);
  switch (name) {
    case 'Say':
      return readSay(element);
    case 'Pause':
      return { verb: 'Pause', seconds: attributesOf(element, pauseAttributes).length };
    case 'Gather': {
      const { action, numDigits, finishOnKey, timeout } = attributesOf(element, gatherAttributes);
      const says = childrenOf(element).map(readSpoken);
      return { verb: 'Gather', says, action, numDigits, finishOnKey, timeoutSeconds: timeout };
    }
    case 'Redirect':
      attributesOf(element, redirectAttributes);
      return { verb: 'Redirect', url: textOf(element).trim() };
    case 'Hangup':
      attributesOf(element, noAttributes);
      return { verb: 'Hangup' };
    default:
      throw new TwimlError(`<${name}> is not carried out here`);
  }
};

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  ignoreDeclaration: true,
});

/**
 * TwiML → its verbs, in order.
 *
 * @throws {TwimlError} where the text is no XML, or says what is not carried out here
 */
export const parseTwiml = (text: string): readonly Verb[] => {
  if (XMLValidator.validate(text) !== true) throw new TwimlError('not well-formed');
  const [response, ...more] = elementsOf.parse(parser.parse(text)).filter((element) => !isBlank(element));
  if (response === undefined || nameOf(response) !== 'Response' || more.length > 0) {
    throw new TwimlError('the root is not <Response>');
  }
  attributesOf(response, noAttributes);
  return childrenOf(response).map(readVerb);
};
