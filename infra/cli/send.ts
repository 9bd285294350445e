/**
 * `npm run send -- FILE…`: sends files of camera events, or backups, of any size to the service. infra/cli/send/README.md explains how to use it.
 */
import { instantFromMilliseconds } from '../../src/analytics/model/instant.ts';
import { parseCameraEvent } from '../../src/http/event-message.ts';
import { fieldOf } from '../../src/http/route/faults.ts';
import { storageFailure } from './chosen-storage.ts';
import { CommandError, runCommand } from './command-line.ts';
import { grouped } from './grouped.ts';
import { startProgress } from './progress.ts';
import { filesIn } from './send/folder.ts';
import { readItems } from './send/items.ts';
import { EXIT, positionIn, readTarget, SEND, type SendOptions, stoppedError } from './send/options.ts';
import { nothingSent, type Sent, sendAll } from './send/send-all.ts';
import { backupSources, fileSource, type Source } from './send/source.ts';
import { watchForStop } from './stop-request.ts';

/** Is aborted at the first request to stop; a second one ends the process. */
const stopSignal = (): AbortSignal => {
  const stop = new AbortController();
  const { asked, insisted } = watchForStop();
  void asked.then(() => {
    console.error('Stopping after the requests in flight. Ctrl-C again stops at once.');
    stop.abort(stoppedError('Stopped.'));
  });
  void insisted.then(() => process.exit(EXIT.insisted));
  return stop.signal;
};

const sourcesOf = async ({ positionals, backup, from, to, settings }: SendOptions): Promise<readonly Source[]> =>
  backup ? backupSources(positionIn(from) === undefined ? from : undefined, to, settings) : fileSources(positionals);

const fileSources = async (paths: readonly string[]): Promise<readonly Source[]> => {
  const names = (await Promise.all(paths.map(async (path) => filesIn(path, console.error)))).flat();
  if (new Set(names).size < names.length) throw new CommandError('A FILE is named twice.');
  return Promise.all(names.map(fileSource));
};

/** Checks every event as the service would, and sends nothing. It does not know which days are closed. */
const check = async (sources: readonly Source[], stop: AbortSignal): Promise<number> => {
  const now = instantFromMilliseconds(Date.now());
  let [good, wrong] = [0, 0];
  for (const source of sources) {
    for await (const { line, index, text, fault } of readItems(source.name, await source.open(), stop)) {
      const parsed = fault === undefined ? parseCameraEvent(JSON.parse(text), now) : undefined;
      if (parsed !== undefined && 'message' in parsed) good += 1;
      else {
        wrong += 1;
        const faults = parsed?.faults.first.map(({ path, detail }) => `${fieldOf(path)} ${detail}`.trim()).join('; ');
        console.log(`${source.name}:${line}${index === undefined ? '' : `[${index}]`} ${faults ?? fault}`);
      }
    }
  }
  console.log(`good   ${grouped(good)}\nwrong  ${grouped(wrong)}`);
  return wrong === 0 ? EXIT.recorded : EXIT.rejected;
};

const summary = ({ counts, rejectedFiles }: Sent, milliseconds: number): string =>
  [
    `recorded   ${grouped(counts.recorded)}`,
    `unchanged  ${grouped(counts.unchanged)}`,
    `rejected   ${grouped(counts.rejected)}${rejectedFiles.size > 0 ? `, in ${[...rejectedFiles].join(', ')}` : ''}`,
    `time       ${(milliseconds / 1_000).toFixed(1)} s`,
  ].join('\n');

const send = async (options: SendOptions): Promise<number> => {
  // A fault of any source is found before the first request.
  const sources = await sourcesOf(options);
  const stop = stopSignal();
  if (options.check) return check(sources, stop);

  const started = performance.now();
  const target = await readTarget(options.url, options['key-file'], process.env);
  const sent = nothingSent();
  let isRight: boolean;
  try {
    isRight = await sendAll(sources, sent, {
      target,
      giveUpAfterMs: options['give-up-after'] * 1_000,
      batch: options.batch,
      requests: options.requests,
      resumesAt: positionIn(options.from),
      stop,
      note: console.error,
      onAnswered: startProgress('events'),
      onCompared: console.log,
    });
  } catch (error) {
    const isStop = error instanceof CommandError && error.exitCode === EXIT.stopped;
    if (!isStop && !isSystemError(error)) throw error;
    throw stoppedError(`${error.message}\nThe same command with --from ${sent.position} resumes here.`, error);
  } finally {
    console.log(summary(sent, performance.now() - started));
  }
  return sent.counts.rejected > 0 || !isRight ? EXIT.rejected : EXIT.recorded;
};

const isSystemError = (error: unknown): error is Error => error instanceof Error && 'syscall' in error;

await runCommand(SEND, send, { exitCode: EXIT.usage, describe: (error) => storageFailure(error, 'analytics') });
