import * as z from 'zod';

// How values are stored: what the schemas of rows and of what stands in them are made of.

/**
 * An object of which a later version may know more: what it has added is carried along and written again as it was. Only `copiedProperties`
 * and JSON come in, so that whatever is carried along can be written.
 */
export const extensible = <Shape extends z.ZodRawShape>(
  shape: Shape,
): z.ZodType<z.output<z.ZodObject<Shape>>, z.input<z.ZodObject<Shape>>> => z.looseObject(shape);

/** Also what a damaged row has is a number that can be counted on with. */
export const wholeNumber = z.int32().nonnegative();

/** A time is stored as a date, so that a storage browser shows it as one; it is milliseconds since 1970 in the program. */
export const time = z.codec(z.date(), z.number(), {
  decode: (date) => date.getTime(),
  encode: (ms) => new Date(ms),
});

/** A property that holds JSON. */
export const json = <Schema extends z.ZodType>(schema: Schema) =>
  z.codec(z.string(), schema, {
    decode: (text, context) => {
      try {
        return JSON.parse(text);
      } catch {
        context.issues.push({ code: 'custom', message: 'not JSON', input: text });
        return z.NEVER;
      }
    },
    encode: (value) => JSON.stringify(value),
  });
