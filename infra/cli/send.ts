/**
 * `npm run send -- FILE…`: sends files of camera events to the service, whatever their size, and goes on where it was stopped.
 * infra/cli/send/README.md tells how to use it.
 */
import { access, constants, stat } from 'node:fs/promises';

import { instantFromMilliseconds } from '../../src/analytics/model/instant.ts';
import { parseCameraEvent } from '../../src/http/event-message.ts';
import { fieldOf } from '../../src/http/route/faults.ts';
import { CommandError, runCommand } from './command-line.ts';
import { watchForStop } from './stop-request.ts';
import { grouped } from './grouped.ts';
import { Progress } from './progress.ts';
import { Account } from './send/done.ts';
import { openInput } from './send/items.ts';
import { EXIT, readTarget, SEND, type SendOptions, STDIN, stoppedError } from './send/options.ts';
import { sendFile } from './send/send-file.ts';

const HOW_TO_GO_ON = 'The same command goes on from here; standard input begins again, which is safe.';

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

/** Is aborted at the first request to stop; a second one ends the process. */
const stopSignal = (progress: Progress): AbortSignal => {
  const stop = new AbortController();
  const { asked, insisted } = watchForStop();
  void asked.then(() => {
    progress.note('Stopping: what is in flight is finished. Ctrl-C again stops at once.');
    stop.abort(stoppedError('Stopped.'));
  });
  void insisted.then(() => {
    progress.end();
    process.exit(EXIT.insisted);
  });
  return stop.signal;
};

/** Looks at every event as the service would, and sends nothing. What only the service knows, such as which days are closed, is not looked at. */
const check = async (files: readonly string[], stop: AbortSignal): Promise<number> => {
  const now = instantFromMilliseconds(Date.now());
  let [good, wrong] = [0, 0];
  for (const name of files) {
    const { items } = await openInput(name, stop);
    for await (const { line, index, text, fault } of items) {
      const parsed = fault === undefined ? parseCameraEvent(JSON.parse(text), now) : undefined;
      if (parsed !== undefined && 'message' in parsed) good += 1;
      else {
        wrong += 1;
        const faults = parsed?.faults.map(({ path, detail }) => `${fieldOf(path)} ${detail}`.trim()).join('; ');
        console.log(`${name}:${line}${index === undefined ? '' : `[${index}]`} ${faults ?? fault}`);
      }
    }
  }
  console.log(`good   ${grouped(good)}\nwrong  ${grouped(wrong)}`);
  return wrong === 0 ? EXIT.recorded : EXIT.rejected;
};

const send = async (options: SendOptions): Promise<number> => {
  const names = options.positionals;
  for (const name of names) await mustBeReadable(name);
  const progress = new Progress(names.length === 1 ? (names[0] ?? '') : `${names.length} files`, 'events');
  const stop = stopSignal(progress);
  if (options.check) return check(names, stop);

  const started = performance.now();
  const target = await readTarget(options.url, options['key-file'], process.env);
  // What is wrong with any of them is found before anything is sent.
  const accounts: Account[] = [];
  for (const name of names) {
    const rejected = options.rejected ?? `${name === STDIN ? 'stdin' : name}.rejected.ndjson`;
    accounts.push(await Account.open(name, target.url, rejected));
  }
  const sending = {
    target,
    giveUpAfterMs: options['give-up-after'] * 1_000,
    batch: options.batch,
    requests: options.requests,
    stop,
    note: (text: string): void => progress.note(text),
  };
  const sum = (of: 'items' | 'recorded' | 'unchanged' | 'rejected' | 'size'): number =>
    accounts.reduce((total, { done }) => total + done[of], 0);
  const before = sum('items');
  const size = sum('size');
  try {
    let sizeBefore = 0;
    for (const account of accounts) {
      const { items, size: ownSize } = account.done;
      if (items > 0) progress.note(`${account.name}: ${items} events are done by an earlier run.`);
      const onProgress = (part: number | undefined): void => {
        progress.update({
          // Of standard input nobody knows how long it is, and so nothing about the whole.
          part: part === undefined || names.includes(STDIN) ? undefined : (sizeBefore + part * ownSize) / size,
          count: sum('items') - before,
          text: sum('rejected') === 0 ? '' : `${grouped(sum('rejected'))} rejected`,
        });
      };
      await sendFile({ ...sending, account, onProgress });
      sizeBefore += ownSize;
    }
  } finally {
    progress.end();
    const paths = accounts.flatMap(({ done, rejectedPath }) => (done.rejected > 0 ? [rejectedPath] : []));
    console.log(
      [
        `recorded   ${grouped(sum('recorded'))}`,
        `unchanged  ${grouped(sum('unchanged'))}`,
        `rejected   ${grouped(sum('rejected'))}${paths.length > 0 ? `, in ${paths.join(', ')}` : ''}`,
        `time       ${((performance.now() - started) / 1_000).toFixed(1)} s`,
      ].join('\n'),
    );
  }
  for (const account of accounts) await account.close();
  return sum('rejected') > 0 ? EXIT.rejected : EXIT.recorded;
};

const isSystemError = (error: unknown): error is Error => error instanceof Error && 'syscall' in error;

const sendOrStop = async (options: SendOptions): Promise<number> => {
  try {
    return await send(options);
  } catch (error) {
    const isStop = error instanceof CommandError && error.exitCode === EXIT.stopped;
    if (!isStop && !isSystemError(error)) throw error;
    throw stoppedError(`${error.message}\n${HOW_TO_GO_ON}`, error);
  }
};

await runCommand(SEND, sendOrStop, { exitCode: EXIT.usage });
