import { z } from 'zod';

const EDM_TYPES = ['Binary', 'Boolean', 'DateTime', 'Double', 'Guid', 'Int32', 'Int64', 'String'] as const;

/** A property with the type that Table Storage has for it. The value is its text: base64 for Binary, ISO 8601 for DateTime. */
const propertySchema = z.tuple([z.enum(EDM_TYPES), z.string()]);

const rowSchema = z.strictObject({
  rowKey: z.string(),
  /** The version of the row in the storage that it was exported from. An import does not use it. */
  etag: z.string(),
  properties: z.record(z.string(), propertySchema),
});

/** A row as it is in an archive, without its partition, which is that of its file. */
export type ArchivedRow = z.infer<typeof rowSchema>;

const typedSchema = z.object({ type: z.enum(EDM_TYPES), value: z.union([z.string(), z.boolean()]).transform(String) });

/** What the SDK and the service add to a row. `Timestamp` is set by the service on every write. */
const NOT_PROPERTIES: ReadonlySet<string> = new Set(['partitionKey', 'rowKey', 'etag', 'timestamp', 'odata.metadata']);

// One value has one text, so that rows can be compared as texts.
const canonical = (type: (typeof EDM_TYPES)[number], value: string): string => {
  if (type === 'Double') return String(Number(value));
  return type === 'DateTime' ? value.replace(/(\.\d*?)0*Z$/, '$1Z').replace('.Z', 'Z') : value;
};

/**
 * An entity that the SDK has read with `disableTypeConversion` → a row of an archive, its properties by name.
 *
 * @throws {z.ZodError} where a property has a type that Table Storage does not have
 */
export const archivedRow = (entity: Readonly<Record<string, unknown>>): ArchivedRow => ({
  rowKey: z.string().parse(entity['rowKey']),
  etag: z.string().parse(entity['etag']),
  properties: Object.fromEntries(
    Object.entries(entity)
      .filter(([name, value]) => !NOT_PROPERTIES.has(name) && value !== null)
      .map(([name, property]) => {
        const { type, value } = typedSchema.parse(property);
        return [name, [type, canonical(type, value)] as const] as const;
      })
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, [type, value]]) => [name, [type, value]]),
  ),
});

/** The entity that the SDK writes for a row. */
export const entityOf = (partitionKey: string, { rowKey, properties }: ArchivedRow) => ({
  partitionKey,
  rowKey,
  ...Object.fromEntries(Object.entries(properties).map(([name, [type, value]]) => [name, { type, value }])),
});

/** A row as a line of a file, without the end of the line. */
export const lineOf = (row: ArchivedRow): string => JSON.stringify(row);

/** The row of a line; undefined where the line is none, as the last one of a file whose writer was killed. */
export const rowOfLine = (line: string): ArchivedRow | undefined => {
  try {
    return rowSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
};

/** Whether two rows hold the same, whatever their versions. */
export const sameContent = (one: ArchivedRow, other: ArchivedRow): boolean =>
  one.rowKey === other.rowKey && JSON.stringify(one.properties) === JSON.stringify(other.properties);
