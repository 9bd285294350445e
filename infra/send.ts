/**
 * `npm run send -- FILE…`: sends files of camera events to the service, whatever their size, and goes on where it was stopped.
 * infra/send/README.md tells how to use it.
 */
import { access, constants, stat } from 'node:fs/promises';

import { CommandError, runCommand } from './command-line.ts';
import { watchForStop } from './local/stop-request.ts';
import { type Display, makeDisplay } from './send/display.ts';
import { STDIN } from './send/input.ts';
import { rejectedPath, SEND, type SendOptions, statePath } from './send/options.ts';
import { Pace } from './send/pace.ts';
import { postBatch } from './send/post-batch.ts';
import { type Progress, readProgress, removeProgress } from './send/progress-file.ts';
import { RejectedFile } from './send/rejected-file.ts';
import { SendStopped } from './send/send-error.ts';
import { sendFile } from './send/send-file.ts';
import { summaryText } from './send/summary.ts';
import { readTarget } from './send/target.ts';

const EXIT = { recorded: 0, rejected: 1, usage: 2, stopped: 3, insisted: 130 } as const;

const HOW_TO_GO_ON =
  'The same command goes on from here; with standard input and without --state it begins again, which is safe.';

/** An input with what an earlier run has left of it, found before anything is sent. */
interface Work {
  readonly name: string;
  readonly stateFile: string | undefined;
  readonly before: Progress | undefined;
  readonly rejected: RejectedFile;
}

const prepare = async (name: string, url: string, options: SendOptions): Promise<Work> => {
  const stateFile = statePath(name, options);
  const before = stateFile === undefined || options.isFromStart ? undefined : await readProgress(stateFile, url);
  return {
    name,
    stateFile,
    before,
    rejected: await RejectedFile.at(rejectedPath(name, options), name),
  };
};

const mustBeReadable = async (name: string): Promise<void> => {
  if (name === STDIN) return;
  const isDirectory = await access(name, constants.R_OK).then(
    async () => (await stat(name)).isDirectory(),
    (error: unknown) => {
      throw new CommandError(`${name} cannot be read.`, { cause: error });
    },
  );
  if (isDirectory) throw new CommandError(`${name} is a directory; name the files in it.`);
};

const onStop = (stop: AbortController, display: Display): void => {
  const { asked, insisted } = watchForStop();
  void asked.then(() => {
    if (!stop.signal.aborted) display.note('Stopping: what is in flight is finished. Ctrl-C again stops at once.');
    stop.abort(new SendStopped('Stopped.'));
  });
  void insisted.then(() => {
    display.end();
    process.exit(EXIT.insisted);
  });
};

const send = async (options: SendOptions): Promise<number> => {
  const started = performance.now();
  const target = await readTarget(options.url, options.keyFile, process.env);
  for (const name of options.files) await mustBeReadable(name);
  const works: Work[] = [];
  for (const name of options.files) works.push(await prepare(name, target.url, options));

  const display = makeDisplay();
  const stop = new AbortController();
  onStop(stop, display);
  const pace = new Pace((text) => display.note(text), options.giveUpAfterMs, stop.signal);
  const done = new Map(works.map(({ name, before }) => [name, before]));
  const summary = (): string =>
    summaryText(
      [...done].map(([name, progress]) => ({ name, progress, rejectedPath: rejectedPath(name, options) })),
      performance.now() - started,
    );
  try {
    for (const work of works) {
      display.begin(work.name);
      if (work.before !== undefined) {
        display.note(`${work.name}: ${work.before.items} events are done by an earlier run.`);
      }
      const progress = await sendFile({
        ...work,
        url: target.url,
        batchSize: options.batchSize,
        requests: options.requests,
        post: async (events) => postBatch(target, events),
        pace,
        stop,
        onProgress: (now, bytesRead, totalBytes) => {
          done.set(work.name, now);
          display.update(now, bytesRead, totalBytes);
        },
      });
      done.set(work.name, progress);
    }
  } catch (error) {
    display.end();
    console.log(summary());
    throw error;
  } finally {
    display.end();
    for (const { rejected } of works) await rejected.close();
  }
  console.log(summary());
  for (const { stateFile } of works) if (stateFile !== undefined) await removeProgress(stateFile);
  return [...done.values()].some((progress) => (progress?.rejected ?? 0) > 0) ? EXIT.rejected : EXIT.recorded;
};

const isSystemError = (error: unknown): error is Error => error instanceof Error && 'syscall' in error;

await runCommand(SEND, send, {
  exitCode: (error) => (error instanceof CommandError ? EXIT.usage : EXIT.stopped),
  describe: (error) =>
    error instanceof SendStopped || isSystemError(error) ? `${error.message}\n${HOW_TO_GO_ON}` : undefined,
});
