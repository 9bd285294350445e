import type { SimulatorLog } from '../../../infra/local/acs-simulator/story.ts';

/** What all calls to a number came to, as the simulator saw it. */
export interface Callee {
  /** How often it rang, or was to ring. */
  readonly calls: number;
  readonly pickedUp: number;
  /** How often they heard a message to its end. */
  readonly heardWhole: number;
  /** How often a message was cut off. */
  readonly heardPart: number;
  /** Calls that nobody has ended. */
  readonly openLines: number;
}

/** The numbers that were called, in the order of their first calls, and what became of each. */
export const calleesOf = ({ calls }: SimulatorLog): ReadonlyMap<string, Callee> =>
  new Map(
    [...new Set(calls.map(({ to }) => to))].map((number) => {
      const own = calls.filter(({ to }) => to === number);
      const speeches = own.flatMap((call) => call.speeches);
      const heardWhole = speeches.filter(({ isComplete }) => isComplete).length;
      return [
        number,
        {
          calls: own.length,
          pickedUp: own.filter(({ answeredAt }) => answeredAt !== undefined).length,
          heardWhole,
          heardPart: speeches.length - heardWhole,
          openLines: own.filter(({ state }) => state !== 'ended').length,
        },
      ];
    }),
  );
