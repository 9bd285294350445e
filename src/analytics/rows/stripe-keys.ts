import { DecodeError } from '../../storage/errors.ts';
import type { KeyRange } from '../../storage/row.ts';
import { twoDigits } from './keys.ts';

/** Most stripes of a shard. More instances than that share stripes; a day that has so many writers wants more shards. */
export const MAX_STRIPES = 64;

/**
 * The key of a counter row in a stripe: stripe 0 has the plain key, the others a suffix: `total`, `total 01`, `total 02`. Nothing
 * else in a key is lower than the space, and ids have none in keys, so the rows of all stripes are neighbours: between
 * `camera|cam-1` and `camera|cam-1 01` there is nothing, and `camera|cam-10` comes after both.
 */
export const inStripe = (key: string, stripe: number): string => (stripe === 0 ? key : `${key} ${twoDigits(stripe)}`);

/** The keys of a counter row in all stripes: `!` is the character after the space. */
export const stripesOf = (key: string): KeyRange => ({ from: key, before: `${key}!` });

/** The plain key of a counter row and its stripe. @throws {DecodeError} */
export const parseStripe = (rowKey: string): { readonly key: string; readonly stripe: number } => {
  const [key = '', suffix, ...more] = rowKey.split(' ');
  if (suffix === undefined) return { key, stripe: 0 };
  const stripe = Number(suffix);
  if (more.length > 0 || !/^\d\d$/.test(suffix) || stripe === 0 || stripe >= MAX_STRIPES) {
    throw new DecodeError('its key has the suffix of no stripe');
  }
  return { key, stripe };
};
