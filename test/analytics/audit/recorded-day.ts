import { EMPTY_TALLY } from '../../../src/analytics/model/tally.ts';
import { tallyValues } from '../../../src/analytics/rows/properties.ts';
import type { NewProperties } from '../../../src/storage/row.ts';
import { all, frame, HOUR, type MemoryStorage, MINUTE, recorded, SHARD, START } from '../counting.ts';
import type { PlainMessage } from '../oracle.ts';

export const EIGHT = START + 8n * HOUR;

/** Frames of two cameras within some minutes, and a removed frame. */
export const MESSAGES: readonly PlainMessage[] = [
  ...all(4).map((index) =>
    frame(`ridge-${index % 2}`, `f-${index}`, EIGHT + BigInt(index) * (MINUTE + 4_999_999n), {
      detections: { smoke: index % 3, fire: 1 },
      reviewed: index % 2 === 0,
      annotations: { smoke: index },
    }),
  ),
  frame('test', 'f-removed', EIGHT + 2n * HOUR, { removed: true }),
];

/** The properties of a row of a day or a camera with this number of events. */
export const counting = (events: number) => tallyValues({ ...EMPTY_TALLY, events }, EMPTY_TALLY);

/** Changes of counter rows by their keys. A row that does not exist is inserted. */
export type Damage = Readonly<Record<string, NewProperties | 'deleted'>>;

/** A table that holds the messages, with damage. */
export const damaged = async (damage: Damage): Promise<MemoryStorage> => {
  const storage = await recorded(MESSAGES);
  for (const [rowKey, properties] of Object.entries(damage)) {
    const isNew = properties !== 'deleted' && !storage.keys().includes(rowKey);
    if (isNew) await storage.process().table.insert(SHARD, rowKey, properties);
    else await storage.change(rowKey, properties);
  }
  return storage;
};
