import { all, frame, HOUR, MemoryStorage, MINUTE, START } from '../counting.ts';
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

/** A table that holds these messages. */
export const recorded = async (messages = MESSAGES, shards = 1): Promise<MemoryStorage> => {
  const storage = new MemoryStorage();
  await storage.process(shards).record(messages);
  return storage;
};
