/**
 * `npm run demo`: sends a believable day of 20 cameras to the running service, places a test call, reports a fire to three people in waves, and
 * prints what the service makes of it, and where to look at it. Sending a day again changes nothing.
 */
import { runCommand } from './command-line.ts';
import { demo, demoCommand } from './demo/steps.ts';

const now = Date.now();
await runCommand(demoCommand(now), (options) => demo(options, now));
