import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { within } from './deadline.ts';

/** What to start, and how it says that it is ready. */
export interface ServiceStart {
  /** For messages: who ended, who did not get ready. */
  readonly name: string;
  /** Arguments of Node: its own options, the script, the script's options. */
  readonly args: readonly string[];
  /** All of the process's environment. */
  readonly environment: NodeJS.ProcessEnv;
  /** Its working directory; this process's own where it is not given. */
  readonly cwd?: string;
  /** Matches the line of its output that says it is ready. */
  readonly ready: RegExp;
  /** Gets every line it prints, the first one included, and whether it came on stderr. */
  readonly onLine?: (line: string, isOnStderr: boolean) => void;
}

/** Most a service may take from its start to its ready line. */
const READY_MILLISECONDS = 60_000;

/** Most a service may take to end by itself before it is killed: longer than the functions host gives what is in flight, and the app's hooks. */
const STOP_MILLISECONDS = 40_000;

/** Most lines of a start that an error quotes. */
const QUOTED_LINES = 20;

/**
 * A Node process that serves something for this one, run by the same Node.
 *
 * It has an IPC channel only to end in good order when the channel closes, and so whenever this process ends, however that happens.
 * It is in a process group of its own: Ctrl-C in a terminal reaches only this process, which then stops its services one by one.
 */
export class ServiceProcess {
  readonly #child: ChildProcess;
  readonly #name: string;
  /** Fulfils with what to say about it once the process has ended and all its output has been read. Never rejects. */
  readonly exited: Promise<string>;

  private constructor({ name, args, environment, cwd }: ServiceStart) {
    this.#name = name;
    this.#child = spawn(process.execPath, args, {
      env: environment,
      cwd,
      detached: true,
      windowsHide: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.exited = this.#untilExited();
  }

  /**
   * Starts the process and waits until it says that it is ready.
   *
   * @throws {Error} with the process's own last lines, where it ends or stays silent instead
   */
  static async start(start: ServiceStart): Promise<ServiceProcess> {
    const service = new ServiceProcess(start);
    const firstLines: string[] = [];
    let isReady = false;
    const ready = new Promise<'ready'>((resolve) => {
      service.#readLines((line, isOnStderr) => {
        start.onLine?.(line, isOnStderr);
        if (isReady) return;
        firstLines.push(line);
        isReady = start.ready.test(line);
        if (isReady) resolve('ready');
      });
    });

    const outcome = await within(READY_MILLISECONDS, Promise.race([ready, service.exited]));
    if (outcome === 'ready') return service;
    service.kill();
    await service.exited;
    const reason = outcome === 'late' ? `${start.name} was not ready after ${READY_MILLISECONDS / 1000} s` : outcome;
    throw new Error([`${reason}:`, ...firstLines.slice(-QUOTED_LINES)].join('\n'));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Asks it to end, waits until it has, and kills it where it does not. May be called again. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    if ((await within(STOP_MILLISECONDS, this.exited)) !== 'late') return;
    console.error(`${this.#name} did not end within ${STOP_MILLISECONDS / 1000} s and is killed`);
    this.kill();
    await this.exited;
  }

  /** Ends it at once, as a crash of its machine would. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async #untilExited(): Promise<string> {
    // A child process's own 'close' event never comes once this side has disconnected the channel.
    const outputs = [this.#child.stdout, this.#child.stderr].flatMap((stream) => (stream === null ? [] : [stream]));
    const allRead = Promise.all(outputs.map(async (stream) => new Promise((done) => stream.once('close', done))));
    const reason = await new Promise<string>((resolve) => {
      this.#child.once('error', (error) => resolve(`${this.#name} could not be run: ${error.message}`));
      this.#child.once('exit', (code, signal) => {
        resolve(`${this.#name} ended ${signal === null ? `with code ${code}` : `by ${signal}`}`);
      });
    });
    await allRead;
    return reason;
  }

  #readLines(onLine: (line: string, isOnStderr: boolean) => void): void {
    const { stdout, stderr } = this.#child;
    for (const input of [stdout, stderr]) {
      if (input !== null) createInterface({ input }).on('line', (line) => onLine(line, input === stderr));
    }
  }
}
