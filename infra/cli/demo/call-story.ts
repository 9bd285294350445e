import { z } from 'zod';

import { polled } from '../../emulators/deadline.ts';

/** Most that a simulated call may take, in milliseconds. */
const CALL_MILLISECONDS = 30_000;

const simulatorLogSchema = z.object({
  calls: z.array(
    z.object({
      to: z.string(),
      state: z.string(),
      story: z.array(z.object({ at: z.string(), kind: z.string(), text: z.string(), answer: z.string().optional() })),
    }),
  ),
});

type CallStory = z.infer<typeof simulatorLogSchema>['calls'][number];

const logOf = async (simulatorUrl: string) =>
  simulatorLogSchema.parse(await (await fetch(`${simulatorUrl}/log`)).json());

/**
 * Waits until the first simulated call to a number has ended. It may have to wait for a line first: then the answer to the request names no
 * call yet.
 *
 * @returns a line for everything that happened; undefined where there is no call to it or it does not end in time
 */
export const callStory = (simulatorUrl: string, number: string): Promise<readonly string[] | undefined> =>
  polled(CALL_MILLISECONDS, async () => {
    const call = (await logOf(simulatorUrl)).calls.find(({ to }) => to === number);
    return call !== undefined && isComplete(call) ? call.story.map(storyLine) : undefined;
  });

// The state changes shortly before the event that reports the end of the call, and the app's answers to the events come after them.
const isComplete = ({ state, story }: CallStory): boolean =>
  state === 'ended' &&
  story.some(({ text }) => text === 'CallDisconnected' || text === 'CreateCallFailed') &&
  story.every(({ kind, answer }) => kind !== 'event' || answer !== undefined);

const WHO: Readonly<Record<string, string>> = { request: 'app asks', event: 'ACS tells', speech: 'callee hears' };

const storyLine = ({ at, kind, text, answer }: CallStory['story'][number]): string =>
  `${at.slice(11, 23)}  ${(WHO[kind] ?? kind).padEnd(12)}  ${text}${answer === undefined ? '' : ` → ${answer}`}`;
