/**
 * `npm run demo`: sends a believable day of 20 cameras to the running service, places a test call, and reports a fire to three people in waves. It
 * prints the results. Sending a day again changes no count.
 */
import { runCommand } from './command-line.ts';
import { demo, demoCommand } from './demo/steps.ts';

const now = Date.now();
await runCommand(demoCommand(now), (options) => demo(options, now));
