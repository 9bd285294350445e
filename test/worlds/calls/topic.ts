import type { Destination, OutcomeTopic } from '../../../src/calls/model/outcomes.ts';
import type { Life } from '../life.ts';
import type { Ground } from './ground.ts';

/** A destination of outcomes as one instance reaches it: a batch, or the answer to it, gets lost. */
export const unreliableTopic = (
  to: Destination,
  { published, chance, conditions }: Ground,
  life: Life,
): OutcomeTopic => ({
  publish: (events) => {
    const { topicFaults } = conditions.faults;
    const lost = chance.byProbability([
      [topicFaults / 2, 'request'],
      [topicFaults / 2, 'answer'],
    ]);
    const travel = {
      thereMs: chance.between(5, 50),
      backMs: chance.between(5, 50),
      lost,
      told: { afterMs: chance.between(5, 9_000), error: new Error('no answer') },
    };
    return life.request(travel, async () => {
      published.push(...events.map((event) => ({ to, ...event })));
    });
  },
});
