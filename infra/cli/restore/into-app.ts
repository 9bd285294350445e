import { z } from 'zod';

import { StorageTrouble } from '../../../src/storage/errors.ts';
import { CommandError } from '../command-line.ts';
import { grouped } from '../grouped.ts';
import { Delivery } from '../send/deliver.ts';
import type { Target } from '../send/options.ts';
import type { Destination } from './destination.ts';

const GIVE_UP_AFTER_MS = 600_000;
const ASKED_WITHIN_MS = 30_000;

const daySchema = z.object({ total_events: z.number() });

/** A running app. What its counters say is asked over HTTP: `npm run audit` compares them with the rows. */
export const intoApp = (target: Target, note: (text: string) => void): Destination => {
  const delivery = new Delivery({ target, note, giveUpAfterMs: GIVE_UP_AFTER_MS, stop: new AbortController().signal });
  const headers = target.key === undefined ? {} : { 'x-functions-key': target.key };
  return {
    name: target.url,

    take: async (events) => {
      const items = events.map((text, index) => ({ line: index + 1, index: undefined, text, fault: undefined }));
      const { refused } = await delivery.deliver(items);
      return [...refused.values()];
    },

    audit: async (day, events) => {
      const url = `${target.url}/api/analytics/day?date=${day}`;
      const answer = await fetch(url, { headers, signal: AbortSignal.timeout(ASKED_WITHIN_MS) }).catch(
        (error: unknown) => {
          throw new StorageTrouble(0, { reason: 'no answer', cause: error });
        },
      );
      if (!answer.ok) throw new CommandError(`The app answers ${answer.status} about ${day}.`);
      const { total_events: counted } = daySchema.parse(await answer.json());
      const isRight = counted >= events;
      return { isRight, text: `${grouped(counted)} counted${isRight ? '' : ': events are missing'}` };
    },
  };
};
