/**
 * `npm start`: the whole service on one machine. It starts Azurite, the simulator of a telephone service and the functions host; a setting that
 * names real storage or a real telephone service replaces one of the first two. Ctrl-C stops everything.
 */
import type { z } from 'zod';

import { runCommand } from './command-line.ts';
import { announcement } from './start/announcement.ts';
import { startLocalRun } from './start/local-run.ts';
import { START } from './start/options.ts';
import { jsonLine, readableLine } from './start/readable-line.ts';
import { watchForStop } from './stop-request.ts';

const start = async ({ json, ...options }: z.infer<typeof START.values>): Promise<number> => {
  const stop = watchForStop();
  // Processes that were started end with their parent.
  void stop.insisted.then(() => process.exit(130));

  console.log('Starting …');
  const run = await startLocalRun(options, process.env, (line, isWrong = false) => {
    console.log(json ? jsonLine(line) : readableLine(line, isWrong, new Date()));
  });
  console.log(announcement(run, options, process.uptime()));

  const reason = await Promise.race([stop.asked, run.partLost]);
  console.log(reason === 'asked' ? 'Stopping …' : `${reason}. Stopping all other processes …`);
  await run.stop();
  console.log('Everything has stopped.');
  return reason === 'asked' ? 0 : 1;
};

// After the terminal is closed, writing the output fails. That must not keep the processes running.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);

await runCommand(START, start, { describe: (error) => (error instanceof Error ? error.message : undefined) });
// After a failed start a part may keep the process alive.
process.exit();
