/**
 * `npm run send -- FILE…`: sends files of camera events to the service, whatever their size, and goes on where it was stopped.
 * infra/send/README.md tells how to use it.
 */
import { access, constants, stat } from 'node:fs/promises';

import { CommandError, runCommand } from './command-line.ts';
import { watchForStop } from './local/stop-request.ts';
import { Progress } from './progress.ts';
import { checkFile } from './send/check.ts';
import { Delivery, MACHINE_CLOCK, stoppedError } from './send/deliver.ts';
import { type Done, readDone, RejectedFile, removeDone } from './send/files.ts';
import { EXIT, rejectedPath, SEND, STDIN, type SendOptions } from './send/options.ts';
import { postTo } from './send/post-batch.ts';
import { sendFile } from './send/send-file.ts';
import { readTarget } from './send/target.ts';

const HOW_TO_GO_ON = 'The same command goes on from here; standard input begins again, which is safe.';

const number = (value: number): string => value.toLocaleString('en-GB');

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

const onStop = (stop: AbortController, progress: Progress): void => {
  const { asked, insisted } = watchForStop();
  void asked.then(() => {
    if (!stop.signal.aborted) progress.note('Stopping: what is in flight is finished. Ctrl-C again stops at once.');
    stop.abort(stoppedError('Stopped.'));
  });
  void insisted.then(() => {
    progress.end();
    process.exit(EXIT.insisted);
  });
};

const check = async ({ files }: SendOptions, stop: AbortSignal): Promise<number> => {
  const total = { good: 0, wrong: 0 };
  for (const name of files) {
    const { good, wrong } = await checkFile(name, stop, (line) => console.log(line));
    total.good += good;
    total.wrong += wrong;
  }
  console.log(`good   ${number(total.good)}\nwrong  ${number(total.wrong)}`);
  return total.wrong === 0 ? EXIT.recorded : EXIT.rejected;
};

const send = async (options: SendOptions): Promise<number> => {
  const { files, url, keyFile, giveUpAfterMs, batchSize, requests } = options;
  for (const name of files) await mustBeReadable(name);
  const stop = new AbortController();
  const progress = new Progress(files.length === 1 ? (files[0] ?? '') : `${files.length} files`, 'events');
  onStop(stop, progress);
  if (options.checks) return check(options, stop.signal);

  const started = performance.now();
  const target = await readTarget(url, keyFile, process.env);
  // What is wrong with any of them is found before anything is sent.
  const works: { name: string; path: string; done: Done; rejected: RejectedFile }[] = [];
  for (const name of files) {
    const path = rejectedPath(name, options);
    works.push({ name, path, done: await readDone(name, target.url), rejected: await RejectedFile.at(path, name) });
  }
  const note = (text: string): void => progress.note(text);
  const delivery = new Delivery({
    post: postTo(target),
    clock: MACHINE_CLOCK,
    giveUpAfterMs,
    stop: stop.signal,
    note,
  });
  const sum = (of: 'items' | 'recorded' | 'unchanged' | 'rejected'): number =>
    works.reduce((total, { done }) => total + done[of], 0);
  const before = sum('items');
  // Of standard input nobody knows how long it is, and so nothing about the whole.
  const size = works.some(({ name }) => name === STDIN)
    ? undefined
    : works.reduce((all, { done }) => all + done.size, 0);
  try {
    let sizeBefore = 0;
    for (const work of works) {
      if (work.done.items > 0) note(`${work.name}: ${work.done.items} events are done by an earlier run.`);
      work.done = await sendFile({
        name: work.name,
        before: work.done,
        rejected: work.rejected,
        batchSize,
        requests,
        delivery,
        stop: stop.signal,
        onProgress: (done, part) => {
          work.done = done;
          progress.update({
            part: part === undefined || size === undefined ? undefined : (sizeBefore + part * done.size) / size,
            count: sum('items') - before,
            text: sum('rejected') === 0 ? '' : `${number(sum('rejected'))} rejected`,
          });
        },
      });
      sizeBefore += work.done.size;
    }
  } finally {
    progress.end();
    for (const { rejected } of works) await rejected.close();
    const paths = works.flatMap(({ done, path }) => (done.rejected > 0 ? [path] : []));
    console.log(
      [
        `recorded   ${number(sum('recorded'))}`,
        `unchanged  ${number(sum('unchanged'))}`,
        `rejected   ${number(sum('rejected'))}${paths.length > 0 ? `, in ${paths.join(', ')}` : ''}`,
        `time       ${((performance.now() - started) / 1_000).toFixed(1)} s`,
      ].join('\n'),
    );
  }
  for (const { name } of works) await removeDone(name);
  return sum('rejected') > 0 ? EXIT.rejected : EXIT.recorded;
};

const isSystemError = (error: unknown): error is Error => error instanceof Error && 'syscall' in error;

const sendOrStop = async (options: SendOptions): Promise<number> => {
  try {
    return await send(options);
  } catch (error) {
    const isStop = error instanceof CommandError && error.exitCode === EXIT.stopped;
    if (!isStop && !isSystemError(error)) throw error;
    throw new CommandError(`${error.message}\n${HOW_TO_GO_ON}`, { cause: error, exitCode: EXIT.stopped });
  }
};

await runCommand(SEND, sendOrStop, { exitCode: EXIT.usage });
