import { z } from 'zod';

import { polled } from '../../emulators/deadline.ts';
import { CommandError } from '../command-line.ts';

const CALL_MILLISECONDS = 30_000;

const simulatorLogSchema = z.object({
  calls: z.array(
    z.object({
      to: z.string(),
      state: z.string(),
      steps: z.array(z.object({ at: z.string(), kind: z.string(), text: z.string(), answer: z.string().optional() })),
    }),
  ),
});

type LoggedCall = z.infer<typeof simulatorLogSchema>['calls'][number];

/**
 * Waits until the first simulated call to a number has ended.
 *
 * @returns a line for each step of the call
 * @throws {CommandError} if no call to the number ends in time
 */
export const callSteps = async (simulatorUrl: string, number: string): Promise<readonly string[]> => {
  const call = await polled(CALL_MILLISECONDS, async () => {
    const log = await fetch(`${simulatorUrl}/log`);
    const first = simulatorLogSchema.parse(await log.json()).calls.find(({ to }) => to === number);
    return first !== undefined && isComplete(first) ? first : undefined;
  });
  if (call === undefined) throw new CommandError(`The call to ${number} did not end in time.`);
  return call.steps.map(stepLine);
};

/** The events that report the end of a call, of ACS and of Twilio. */
const END = /^(CallDisconnected|CreateCallFailed|completed|busy|no-answer|failed|canceled)$/;

// The state changes shortly before the event that reports the end of the call, and the app's answers to the events come after them.
const isComplete = ({ state, steps }: LoggedCall): boolean =>
  state === 'ended' &&
  steps.some(({ kind, text }) => kind === 'event' && END.test(text)) &&
  steps.every(({ kind, answer }) => kind !== 'event' || answer !== undefined);

const ACTORS: Readonly<Record<string, string>> = {
  request: 'app asks',
  event: 'phone reports',
  speech: 'callee hears',
};

const stepLine = ({ at, kind, text, answer }: LoggedCall['steps'][number]): string =>
  `${at.slice(11, 23)}  ${(ACTORS[kind] ?? kind).padEnd(13)}  ${text}${answer === undefined ? '' : ` → ${answer}`}`;
