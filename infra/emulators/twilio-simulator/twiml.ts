import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { z } from 'zod';

/** Instructions that Twilio does not carry out. */
export class TwimlError extends Error {
  override readonly name = 'TwimlError';
}

const wholeNumber = (max: number) =>
  z
    .string()
    .regex(/^\d{1,4}$/)
    .transform(Number)
    .refine((value) => value <= max);

/** Of a text that Twilio speaks. */
const MOST_CHARACTERS = 4_096;

const say = z.strictObject({
  '#text': z.string().max(MOST_CHARACTERS).regex(/\S/),
  voice: z.string().min(1),
  language: z.literal('en-US').optional(),
  loop: wholeNumber(1_000).prefault('1'),
});
const gather = z.strictObject({
  Say: say.optional(),
  input: z.literal('dtmf'),
  action: z.string(),
  method: z.literal('POST').optional(),
  numDigits: z.literal('1'),
  // By default the key # would post nothing.
  finishOnKey: z.literal(''),
  timeout: wholeNumber(60).prefault('5'),
});
const redirect = z.union([
  z.string(),
  z.strictObject({ '#text': z.string(), method: z.literal('POST') }).transform((element) => element['#text']),
]);
const document = z.strictObject({
  Response: z.union([
    z.literal(''),
    z
      .strictObject({
        Say: say.optional(),
        Gather: gather.optional(),
        Redirect: redirect.optional(),
        Hangup: z.literal('').optional(),
      })
      .refine(({ Say, Gather }) => Say === undefined || Gather === undefined, 'only one of <Say> and <Gather>'),
  ]),
});

/** The instructions that this simulator carries out: it speaks, perhaps listens for one key, and then fetches others or hangs up. */
export interface Instructions {
  readonly say: { readonly text: string; readonly times: number } | undefined;
  /** Undefined: no key is listened for. */
  readonly gather: { readonly action: string; readonly timeoutSeconds: number } | undefined;
  /** Undefined: the call ends. */
  readonly redirect: string | undefined;
}

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  ignoreDeclaration: true,
});

/**
 * TwiML → instructions.
 *
 * @throws {TwimlError} the text is no XML, or says what is not carried out here
 */
export const parseTwiml = (text: string): Instructions => {
  if (XMLValidator.validate(text) !== true) throw new TwimlError('not well-formed');
  // The parser forgets the order of different elements.
  if (/<(Redirect|Hangup)\b[\s\S]*<(Say|Gather)\b/.test(text))
    throw new TwimlError('what ends the instructions is not last');
  const { data, error } = document.safeParse(parser.parse(text));
  if (error !== undefined) throw new TwimlError(z.prettifyError(error));
  const response = data.Response === '' ? {} : data.Response;
  const said = response.Gather === undefined ? response.Say : response.Gather.Say;
  return {
    say: said && { text: said['#text'], times: said.loop },
    gather: response.Gather && { action: response.Gather.action, timeoutSeconds: response.Gather.timeout },
    redirect: response.Redirect,
  };
};
