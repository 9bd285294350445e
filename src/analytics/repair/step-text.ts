import type { Difference } from '../audit/findings.ts';
import type { DamagedRows } from '../audit/remedy.ts';
import { TOTAL_KEY } from '../rows/keys.ts';
import { inStripe } from '../rows/stripe-keys.ts';

/** What a repair will do about a difference, in words; undefined: it goes with another one. */
export const stepText = ({ remedy, counter }: Difference): string | undefined => {
  switch (remedy.kind) {
    case 'add':
      return `add to ${counter} what the event rows have more or less`;
    case 'set aside':
      return remedy.rows.map(rowsText).join('; ');
    case 'number':
      return `raise the commit number of ${inStripe(TOTAL_KEY, remedy.stripe)}`;
    case 'stripes':
      return `write that the shard has ${remedy.stripes} stripes`;
    case 'shards':
      return `write that the day has ${remedy.shards} shards`;
    case 'move':
      return `record the events of camera ${remedy.cameraId} in its own shard, and set them aside in this one`;
    case 'none':
      return undefined;
  }
};

const rowsText = (rows: DamagedRows): string => {
  const again = 'and count anew what they held';
  switch (rows.of) {
    case 'row':
      return rows.rowKey.startsWith('event|')
        ? `set aside row ${rows.rowKey}: what it contributed leaves the counters`
        : `set aside row ${rows.rowKey}, and count anew what it held`;
    case 'hour':
      return `set aside the rows of hour ${rows.hour} in stripe ${rows.stripe}, ${again}`;
    case 'hours':
      return `set aside the rows of all hours in stripe ${rows.stripe}, ${again}`;
    case 'stripe':
      return `set aside all rows of stripe ${rows.stripe}, ${again}`;
  }
};
