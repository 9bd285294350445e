import { setTimeout as delay } from 'node:timers/promises';

import { z } from 'zod';

/** Most that a simulated call may take, in milliseconds. */
const CALL_MILLISECONDS = 30_000;

const simulatorLogSchema = z.object({
  calls: z.array(
    z.object({
      id: z.string(),
      to: z.string(),
      state: z.string(),
      story: z.array(z.object({ at: z.string(), kind: z.string(), text: z.string(), answer: z.string().optional() })),
    }),
  ),
  published: z.array(z.object({ type: z.string(), subject: z.string().optional(), data: z.unknown() })),
});

type CallStory = z.infer<typeof simulatorLogSchema>['calls'][number];

/**
 * Waits until the first simulated call to a number has ended. It may have to wait for a line first: then the answer to the request names no
 * call yet.
 *
 * @returns a line for everything that happened; undefined where there is no call to it or it does not end in time
 */
export const callStory = async (simulatorUrl: string, number: string): Promise<readonly string[] | undefined> => {
  const end = performance.now() + CALL_MILLISECONDS;
  while (performance.now() < end) {
    const call = await findCall(simulatorUrl, number);
    if (call !== undefined && isComplete(call)) return call.story.map(storyLine);
    await delay(200);
  }
  return undefined;
};

// The state changes shortly before the event that reports the end of the call.
const isComplete = ({ state, story }: CallStory): boolean =>
  state === 'ended' && story.some(({ text }) => text === 'CallDisconnected' || text === 'CreateCallFailed');

const findCall = async (simulatorUrl: string, number: string): Promise<CallStory | undefined> =>
  (await callsOf(simulatorUrl)).find((call) => call.to === number);

/** The numbers that a simulator has called since it was started. */
export const calledNumbers = async (simulatorUrl: string): Promise<ReadonlySet<string>> =>
  new Set((await callsOf(simulatorUrl)).map(({ to }) => to));

const callsOf = async (simulatorUrl: string): Promise<readonly CallStory[]> => (await logOf(simulatorUrl)).calls;

const logOf = async (simulatorUrl: string): Promise<z.infer<typeof simulatorLogSchema>> => {
  const response = await fetch(`${simulatorUrl}/log`);
  return simulatorLogSchema.parse(await response.json());
};

/** Waits until the outcomes of a notification have arrived at the simulator's topic; as many as have if that takes too long. */
export const publishedOutcomes = async (simulatorUrl: string, notificationId: string): Promise<readonly object[]> => {
  const end = performance.now() + CALL_MILLISECONDS;
  for (;;) {
    const { published } = await logOf(simulatorUrl);
    const own = published.filter(({ subject }) => subject === notificationId);
    if (own.some(({ type }) => type === 'Notification.Completed') || performance.now() > end) return own;
    await delay(200);
  }
};

const WHO: Readonly<Record<string, string>> = { request: 'app asks', event: 'ACS tells', speech: 'callee hears' };

const storyLine = ({ at, kind, text, answer }: CallStory['story'][number]): string =>
  `${at.slice(11, 23)}  ${(WHO[kind] ?? kind).padEnd(12)}  ${text}${answer === undefined ? '' : ` → ${answer}`}`;
