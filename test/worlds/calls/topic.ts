import type { OutcomeEvent, OutcomeTopic } from '../../../src/calls/outcome-events.ts';
import type { Chance } from '../chance.ts';
import type { Life } from '../life.ts';

/** The events that a topic has taken, repeats included, each with its time in milliseconds since 1970. */
export type Published = (OutcomeEvent & { readonly takenAt: number })[];

/** What a topic with faults needs. */
export interface UnreliableTopicParts {
  readonly published: Published;
  readonly life: Life;
  readonly chance: Chance;
  /** That a batch or the answer to it is lost. */
  readonly faults: () => number;
  readonly now: () => number;
}

/** The topic as one instance reaches it. */
export const unreliableTopic = ({ published, life, chance, faults, now }: UnreliableTopicParts): OutcomeTopic => ({
  publish: (events) => {
    const lost = chance.byProbability([
      [faults() / 2, 'request'],
      [faults() / 2, 'answer'],
    ]);
    const travel = {
      thereMs: chance.between(5, 50),
      backMs: chance.between(5, 50),
      lost,
      told: { afterMs: chance.between(5, 9_000), error: new Error('no answer') },
    };
    return life.request(travel, async () => {
      published.push(...events.map((event) => ({ ...event, takenAt: now() })));
    });
  },
});
