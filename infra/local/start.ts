/**
 * `npm start [-- --port N] [-- --data DIR]`: the whole service on one machine. Azurite, the ACS simulator and the
 * functions host, the first two replaced by the real thing where a setting names it. Ctrl-C stops everything.
 */
import { announcement } from './announcement.ts';
import { type LocalRun, startLocalRun } from './local-run.ts';
import { readStartOptions, StartError } from './start-options.ts';
import { watchForStop } from './stop-request.ts';

const start = async (): Promise<number> => {
  const options = readStartOptions(process.argv.slice(2));
  const stop = watchForStop();
  let run: LocalRun | undefined;
  // Before everything has started, the processes that have are ended by the loss of this one.
  void stop.insisted.then(() => {
    run?.kill();
    process.exit(130);
  });

  console.log('Starting …');
  run = await startLocalRun(options, process.env, (line) => console.log(line));
  console.log(announcement(run, options.dataDir, process.uptime()));

  const reason = await Promise.race([stop.asked, run.partLost]);
  console.log(reason === 'asked' ? 'Stopping …' : `${reason}. Stopping the rest …`);
  await run.stop();
  console.log('Everything has stopped.');
  return reason === 'asked' ? 0 : 1;
};

// A closed terminal: what is written there then is lost, and that is no reason to leave anything running.
process.stdout.on('error', () => undefined);
process.stderr.on('error', () => undefined);

start().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof StartError ? error.message : error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
