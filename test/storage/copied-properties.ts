import type { NewProperties, PropertyValue, StoredRow } from '../../src/storage/row.ts';

/** The read properties of a row, to write it again: without the time of its last write. */
export const copiedProperties = ({ properties }: Pick<StoredRow, 'properties'>): NewProperties =>
  Object.fromEntries(
    Object.entries(properties).filter(
      (property): property is [string, PropertyValue] => property[0] !== 'timestamp' && isValue(property[1]),
    ),
  );

const isValue = (value: unknown): value is PropertyValue =>
  ['string', 'number', 'boolean'].includes(typeof value) || (typeof value === 'object' && value !== null);
