import { wholeBetween, type Random } from '../../../infra/local/demo/random.ts';
import { dayOf } from '../../../src/analytics/model/day.ts';
import { instantFrom } from '../../../src/analytics/model/instant.ts';
import type { PlainMessage } from '../oracle.ts';
import { shuffled } from './chance.ts';

/** The first microsecond of the day that the messages are about, and the day. */
export const MIDNIGHT = BigInt(Date.parse('2026-03-14T00:00:00Z')) * 1_000n;
export const DAY_OF_MESSAGES = dayOf(instantFrom(MIDNIGHT));

const HOUR = 3_600_000_000n;
const CATEGORIES = ['smoke', 'fire', 'structure', 'lens-flare'] as const;

/** How many messages, about how many events of how many cameras. */
export interface Load {
  readonly messages: number;
  readonly events: number;
  readonly cameras: number;
}

const someCounts = (random: Random): Record<string, number> =>
  Object.fromEntries(CATEGORIES.filter(() => random() < 0.4).map((category) => [category, wholeBetween(random, 0, 3)]));

/**
 * Messages of which several are about the same event, each with its own time, so that the result does not depend on their
 * order. The events are in two hours, so that processes that send them contend.
 */
export const contendedMessages = (random: Random, { messages, events, cameras }: Load): readonly PlainMessage[] => {
  const sentAfter = MIDNIGHT + 10n * HOUR;
  return Array.from({ length: messages }, (_, at) => {
    const event = wholeBetween(random, 0, events - 1);
    const facet = random();
    return {
      eventId: `f-${event}`,
      cameraId: `ridge-${event % cameras}`,
      ts: MIDNIGHT + 8n * HOUR + (BigInt(event) * 2n * HOUR) / BigInt(events) + BigInt(event % 1_000),
      time: sentAfter + BigInt(at),
      ...(facet < 0.5 && { detections: someCounts(random) }),
      ...(facet > 0.4 && facet < 0.8 && { reviewed: random() < 0.7 }),
      ...(facet > 0.6 && facet < 0.95 && { annotations: someCounts(random) }),
    };
  });
};

/** The messages of so many senders, each in its own order. A tenth of the messages is sent by two of them. */
export const dealtOut = (
  random: Random,
  messages: readonly PlainMessage[],
  senders: number,
): readonly (readonly PlainMessage[])[] => {
  const shares = Array.from({ length: senders }, (): PlainMessage[] => []);
  for (const [at, message] of messages.entries()) {
    shares[at % senders]?.push(message);
    if (random() < 0.1) shares[(at + 1) % senders]?.push(message);
  }
  return shares.map((share) => shuffled(random, share));
};
