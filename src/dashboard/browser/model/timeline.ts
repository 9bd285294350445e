import { nameOf } from './alert-state.ts';
import type { Notification, Recipient } from './answers.ts';

type Running = Pick<Notification, 'status' | 'recipients' | 'next_wave_at'>;

/** The next step of the service for a notification, and its time (ISO 8601). */
export interface Next {
  readonly what: string;
  readonly at: string;
}

/** The next wave, or without one the next call to a person. */
export const nextOf = ({ status, recipients, next_wave_at: wave }: Running): Next | undefined => {
  if (status !== 'in_progress') return undefined;
  if (wave !== undefined) {
    // The first wave without a call.
    const number = wavesOf({ recipients }).find(
      (each) => each.number !== undefined && each.startedAt === undefined,
    )?.number;
    return { what: number === undefined ? 'The next wave' : `Wave ${number}`, at: wave };
  }
  const [soonest] = recipients
    .flatMap((each) => (each.next_attempt_at === undefined ? [] : [{ who: nameOf(each), at: each.next_attempt_at }]))
    .sort((left, right) => (left.at < right.at ? -1 : 1));
  return soonest && { what: `Call to ${soonest.who}`, at: soonest.at };
};

export interface Wave {
  /** From 1; undefined without waves. */
  readonly number: number | undefined;
  /** The first call of the wave (ISO 8601). */
  readonly startedAt: string | undefined;
  /** In the order of the request. */
  readonly recipients: readonly Recipient[];
}

/** The recipients of a notification, wave after wave. */
export const wavesOf = ({ recipients }: Pick<Notification, 'recipients'>): readonly Wave[] =>
  Array.from(
    Map.groupBy(
      recipients.toSorted((left, right) => (left.wave ?? 0) - (right.wave ?? 0)),
      ({ wave }) => wave,
    ),
    ([number, of]) => {
      const [startedAt] = of.flatMap(({ attempts }) => attempts.flatMap(({ placed_at: at }) => at ?? [])).sort();
      return { number, startedAt, recipients: of };
    },
  );
