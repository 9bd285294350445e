import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { within } from './deadline.ts';

/** How to start a process. */
interface ServiceStart {
  /** For messages. */
  readonly name: string;
  /** Arguments of Node: its own options, the script, the script's options. */
  readonly args: readonly string[];
  /** The whole environment of the process. */
  readonly environment: NodeJS.ProcessEnv;
  /** Its working directory; undefined: the working directory of this process. */
  readonly cwd?: string;
  /** Matches the line of its output that says that it is ready. */
  readonly ready: RegExp;
  /** Gets every line that it prints, and whether it came on stderr. */
  readonly onLine?: (line: string, isOnStderr: boolean) => void;
}

/** The longest time from the start to the ready line. */
const READY_MILLISECONDS = 60_000;

/** After this time, a service that still runs is killed. Longer than the functions host waits for requests in flight and the app's hooks. */
const STOP_MILLISECONDS = 40_000;

/** How many lines of a start an error quotes. */
const QUOTED_LINES = 20;

/**
 * A service in a child process, run by the same Node.
 *
 * Its IPC channel closes if this process ends for any reason; then the child ends gracefully. It has its own process group: Ctrl-C in a terminal
 * reaches only this process, which stops its services one by one.
 */
export class ServiceProcess {
  readonly #child: ChildProcess;
  readonly #name: string;
  /** Fulfills with the reason when the process has ended and all its output has been read. */
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
   * @throws {Error} with the last lines of the process, if it ends or is not ready in time
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

  /** Asks it to end, and kills it if it does not end in time. */
  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    if ((await within(STOP_MILLISECONDS, this.exited)) !== 'late') return;
    console.error(`${this.#name} did not end within ${STOP_MILLISECONDS / 1000} s and is killed`);
    this.kill();
    await this.exited;
  }

  /** Ends it at once, like a crash. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async #untilExited(): Promise<string> {
    // The 'close' event of a child process never comes after this side has disconnected the channel.
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
