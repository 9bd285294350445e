import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { z } from 'zod';

/** The text of an integer. */
export const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max);

const say = z
  .strictObject({
    '#text': z.string().max(4_096).regex(/\S/),
    voice: z.string().min(1),
    language: z.literal('en-US').optional(),
    loop: integer(0, 1_000).prefault('1'),
  })
  .transform(({ '#text': text, loop: times }) => ({ text, times }));
/** The blank text between two elements. */
const blank = z.string().regex(/^\s*$/).optional();
const gather = z.strictObject({
  '#text': blank,
  Say: say.optional(),
  input: z.literal('dtmf'),
  action: z.string(),
  method: z.literal('POST').optional(),
  numDigits: z.literal('1'),
  // By default the key # would post nothing.
  finishOnKey: z.literal(''),
  timeout: integer(0, 60).prefault('5'),
});
const redirect = z.strictObject({ '#text': z.string(), method: z.literal('POST') }).transform((one) => one['#text']);
const response = z.strictObject({
  '#text': blank,
  Say: say.optional(),
  Gather: gather.optional(),
  Redirect: z.union([z.string(), redirect]).optional(),
  Hangup: z.literal('').optional(),
});

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  ignoreDeclaration: true,
});

/** The TwiML that this simulator carries out: it speaks, perhaps listens for one key, and then fetches other instructions or hangs up. */
export const twiml = z
  .string()
  .refine((text) => XMLValidator.validate(text) === true, { error: 'not well-formed', abort: true })
  // The parser forgets the order of different elements.
  .refine((text) => !/<(Redirect|Hangup)\b[\s\S]*<(Say|Gather)\b/.test(text), 'the end of the instructions is not last')
  .transform((text): unknown => parser.parse(text))
  .pipe(z.strictObject({ Response: z.union([z.literal('').transform(() => ({})), response]) }))
  .transform(({ Response }): z.output<typeof response> => Response)
  .refine(({ Say, Gather }) => Say === undefined || Gather === undefined, 'only one of <Say> and <Gather>');

/** The content of TwiML. Without a redirect the call ends. */
export type Instructions = z.output<typeof response>;
