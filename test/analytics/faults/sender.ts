import { fork, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { fileURLToPath } from 'node:url';

import type { Outcome } from '../../../src/analytics/record/batch.ts';
import { saidSchema, type Job, type Said } from './job.ts';

const SENDER_PROCESS = fileURLToPath(new URL('sender-process.ts', import.meta.url));

/** The result of a job. */
export interface Sent {
  /** The outcomes of the acknowledged batches, by the index of the batch in the job. */
  readonly acknowledged: ReadonlyMap<number, readonly Outcome[]>;
  /** Whether the process finished the job or was killed. */
  readonly ended: 'done' | 'killed';
}

/** A child process that records messages. It ends with this process. */
export class Sender {
  readonly #child: ChildProcess;
  readonly #said = new EventEmitter<{ said: [Said | 'gone'] }>();
  readonly #gone: Promise<unknown>;

  private constructor() {
    this.#child = fork(SENDER_PROCESS, {
      execArgv: ['--import', import.meta.resolve('tsx')],
      serialization: 'advanced',
    });
    this.#child.on('message', (said) => this.#said.emit('said', saidSchema.parse(said)));
    this.#gone = once(this.#child, 'exit');
    void this.#gone.then(() => this.#said.emit('said', 'gone'));
  }

  /** Starts one and waits until it takes jobs. */
  static async start(): Promise<Sender> {
    const sender = new Sender();
    const [said] = await once(sender.#said, 'said');
    if (said === 'gone') throw new Error('a sender did not start');
    return sender;
  }

  /**
   * Has it do a job; one at a time.
   *
   * @param onAcknowledged called for each batch that was acknowledged
   * @throws {Error} where it fails otherwise than by being killed
   */
  async send(job: Job, onAcknowledged: () => void = () => undefined): Promise<Sent> {
    const acknowledged = new Map<number, readonly Outcome[]>();
    const ended = new Promise<Sent['ended']>((resolve, reject) => {
      const listen = (said: Said | 'gone'): void => {
        if (said !== 'gone' && said.kind === 'acknowledged') {
          acknowledged.set(said.batch, said.outcomes);
          onAcknowledged();
          return;
        }
        this.#said.off('said', listen);
        if (said === 'gone') resolve('killed');
        else if (said.kind === 'done') resolve('done');
        else reject(new Error(said.kind === 'failed' ? said.reason : 'a sender spoke out of turn'));
      };
      this.#said.on('said', listen);
    });
    this.#child.send(job);
    return { ended: await ended, acknowledged };
  }

  /** Kills it at once, as a crash of its machine would. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Ends it and waits until it has ended. */
  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#gone;
  }
}
