import { setImmediate } from 'node:timers/promises';

/** Lets everything that follows a request happen before the next one: recorders also wait for the event loop, readers do not. */
export const oneAtATime = async (request: () => Promise<unknown>): Promise<void> => {
  await request();
  for (let turns = 0; turns < 3; turns += 1) await setImmediate();
};
