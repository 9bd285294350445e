/**
 * `npm start`: the whole service on one machine. It starts Azurite, the ACS simulator and the functions host; a setting that
 * names real storage or a real ACS replaces one of the first two. Ctrl-C stops everything.
 */
import { runCommand } from '../command-line.ts';
import { announcement } from './announcement.ts';
import { type LocalRun, startLocalRun } from './local-run.ts';
import { START, type StartOptions } from './start-options.ts';
import { watchForStop } from './stop-request.ts';

const start = async (options: StartOptions): Promise<number> => {
  const stop = watchForStop();
  let run: LocalRun | undefined;
  // Before everything has started, the processes that have are ended by the loss of this one.
  void stop.insisted.then(() => {
    run?.kill();
    process.exit(130);
  });

  console.log('Starting …');
  run = await startLocalRun(options, process.env, (line) => console.log(line));
  console.log(announcement(run, options, process.uptime()));

  const reason = await Promise.race([stop.asked, run.partLost]);
  console.log(reason === 'asked' ? 'Stopping …' : `${reason}. Stopping the rest …`);
  await run.stop();
  console.log('Everything has stopped.');
  return reason === 'asked' ? 0 : 1;
};

// A closed terminal: what is written there then is lost, and that is no reason to leave anything running.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);

await runCommand(START, start, { describe: (error) => (error instanceof Error ? error.message : undefined) });
// After a failed start a part may keep the process alive.
process.exit();
