import { DecodeError, decodingRow, StorageTrouble } from '../../storage/errors.ts';
import {
  ANY_VERSION,
  type KeyRange,
  type NewProperties,
  type StoredRow,
  type StoringWrite,
  writeOf,
} from '../../storage/row.ts';
import type { Table } from '../../storage/table.ts';
import { DAY_KEY, SEALED_KEY, twoDigits } from './keys.ts';
import { readWhole } from './properties.ts';

// The counter rows of a shard exist once per stripe, and a counter is the sum over the stripes: how they are named, counted and read together.

/** Most stripes of a shard. More instances than that share stripes; a day with more writers needs more shards. */
export const MAX_STRIPES = 64;

/** Greatest number of an attempt to rewrite a day: the SDK sends numbers without a type, and storage takes them for 32 bits. */
export const MAX_ATTEMPT = 2 ** 31 - 1;

/** The key of a counter row in a stripe: `day`, `day 01`, `day 02`. The rows of all stripes are neighbors. */
export const inStripe = (key: string, stripe: number): string => (stripe === 0 ? key : `${key} ${twoDigits(stripe)}`);

/** A counter row to read: its key in stripe 0, and the properties. */
export interface RowRequest {
  readonly key: string;
  readonly select: readonly string[];
}

/** The keys of a counter row in all stripes: `!` is the character after the space. The fields of `day` include `day sealed`. */
export const stripesOf = (key: string): KeyRange => ({ from: key, before: `${key}!` });

/** The plain key of a counter row and its stripe. */
export const parseStripe = (rowKey: string): { readonly key: string; readonly stripe: number } => {
  const [key = '', suffix, ...more] = rowKey.split(' ');
  if (suffix === undefined) return { key, stripe: 0 };
  const stripe = Number(suffix);
  if (more.length > 0 || !/^\d\d$/.test(suffix) || stripe === 0 || stripe >= MAX_STRIPES) {
    throw new DecodeError('its key has the suffix of no stripe');
  }
  return { key, stripe };
};

/** The property of stripe 0's row, and of `day sealed`, that says how many stripes the shard has. */
export const STRIPES = 'stripes';
/** The property that a seal merges into the row of every stripe: the number of the attempt to rewrite the day. */
export const MARK = 'mark';
const ATTEMPT = 'attempt';

/** What a `day` row says of its shard, in addition to its counts. */
export interface StripeState {
  /** How many stripes the shard has, numbered from 0. Only stripe 0's row says it; the others say 1. */
  readonly stripes: number;
  /** The latest attempt to rewrite the day that sealed the shard; 0: none did. */
  readonly mark: number;
}

export const STATE_PROPERTIES: readonly string[] = [STRIPES, MARK];

export const stateFrom = (row: StoredRow): StripeState =>
  decodingRow(row, () => {
    const properties = { [STRIPES]: 1, [MARK]: 0, ...row.properties };
    return {
      stripes: readWhole(STRIPES, properties, 1, MAX_STRIPES),
      mark: readWhole(MARK, properties, 0, MAX_ATTEMPT),
    };
  });

/**
 * The `day sealed` row of a shard. Every commit that inserts a stripe changes it at the version that it read, so stripes appear one by one,
 * and none appears after a seal.
 */
export interface SealedRow {
  readonly etag: string;
  /** The latest attempt to rewrite the day that sealed the shard; 0: none did. */
  readonly attempt: number;
  /** How many stripes the shard has, or had before its rows were deleted. */
  readonly stripes: number;
}

const sealedFrom = (row: StoredRow): SealedRow =>
  decodingRow(row, () => ({
    etag: row.etag,
    attempt: readWhole(ATTEMPT, row.properties, 0, MAX_ATTEMPT),
    stripes: readWhole(STRIPES, row.properties, 0, MAX_STRIPES),
  }));

/** Reads the `day sealed` row of a shard; undefined if the shard has no commit and was never sealed. */
export const readSealed = async (table: Table, partition: string): Promise<SealedRow | undefined> => {
  const row = await table.get(partition, SEALED_KEY);
  return row && sealedFrom(row);
};

/** The `day sealed` row of a shard that has no stripe yet, for a seal to insert. */
export const UNSEALED: NewProperties = { [ATTEMPT]: 0, [STRIPES]: 0 };

/** The writes of a new stripe in addition to its own rows: the number of stripes into `day sealed`, and into stripe 0's row if it is another row. */
export const newStripeWrites = (stripe: number, sealed: SealedRow | undefined): readonly StoringWrite[] => {
  const stripes = Math.max(stripe + 1, sealed?.stripes ?? 0);
  const touch = writeOf(
    SEALED_KEY,
    sealed?.etag,
    sealed === undefined ? { ...UNSEALED, [STRIPES]: stripes } : { [STRIPES]: stripes },
  );
  if (stripe === 0) return [touch];
  // Stripe 0's writer changes other properties of its row all the time. What orders the new stripes is `day sealed`.
  return [{ kind: 'merge', rowKey: DAY_KEY, etag: ANY_VERSION, properties: { [STRIPES]: stripes } }, touch];
};

/**
 * Seals a shard for an attempt to rewrite its day: from this transaction on storage refuses every commit that read the rows before.
 *
 * @param stripes the stripes whose rows are stored
 */
export const sealWrites = (sealed: SealedRow, stripes: Iterable<number>, attempt: number): readonly StoringWrite[] => [
  { kind: 'merge', rowKey: SEALED_KEY, etag: sealed.etag, properties: { [ATTEMPT]: attempt } },
  ...Array.from(stripes, (stripe): StoringWrite => ({
    kind: 'merge',
    rowKey: inStripe(DAY_KEY, stripe),
    etag: ANY_VERSION,
    properties: { [MARK]: attempt },
  })),
];

/**
 * Lists the `day` rows of all stripes of a shard, and then `day sealed`, which comes last.
 *
 * @param select the properties to read in addition to the properties of {@link stateFrom} and {@link sealedFrom}
 */
export const listStripes = async (
  table: Table,
  partition: string,
  select: readonly string[] = [],
): Promise<{ readonly stripes: StripeRows; readonly sealed: SealedRow | undefined }> => {
  const rows = await table.all(partition, stripesOf(DAY_KEY), { select: [...STATE_PROPERTIES, ATTEMPT, ...select] });
  const sealed = rows.find(({ rowKey }) => rowKey === SEALED_KEY);
  return { stripes: byStripe(rows), sealed: sealed && sealedFrom(sealed) };
};

const PAGE_TRIES = 3;
const COLLECT_TRIES = 50;

/** The rows of one counter by stripe. */
export type StripeRows = ReadonlyMap<number, StoredRow>;

const byStripe = (rows: readonly StoredRow[]): StripeRows =>
  new Map(
    rows
      .filter(({ rowKey }) => rowKey !== SEALED_KEY)
      .map((row) => [decodingRow(row, () => parseStripe(row.rowKey).stripe), row]),
  );

/**
 * Reads a counter row in all stripes at one moment. The rows are neighbors, and a page of a query is read together. If storage does not
 * answer them in one page, they are read by their keys until two readings are the same.
 *
 * @param key the row's key in stripe 0
 */
export const readStripes = async (
  table: Table,
  partition: string,
  key: string,
  select?: readonly string[],
): Promise<StripeRows> => {
  for (let tries = 0; tries < PAGE_TRIES; tries += 1) {
    const { rows, continuation } = await table.page(partition, stripesOf(key), { select });
    if (continuation === undefined) return byStripe(rows);
  }
  // If two readings in a row have the same versions, no row changed between the end of the first reading and the start of the second, and the
  // number of stripes did not either.
  let before: string | undefined;
  for (let tries = 0; tries < COLLECT_TRIES; tries += 1) {
    const first = await table.get(partition, DAY_KEY, { select: STATE_PROPERTIES });
    const stripes = first === undefined ? 0 : stateFrom(first).stripes;
    const found = await Promise.all(
      Array.from({ length: stripes }, async (_, stripe) => table.get(partition, inStripe(key, stripe), { select })),
    );
    const rows = found.filter((row) => row !== undefined);
    const versions = rows.map(({ rowKey, etag }) => `${rowKey} ${etag}`).join('\n');
    if (versions === before) return byStripe(rows);
    before = versions;
  }
  throw new StorageTrouble(0);
};
