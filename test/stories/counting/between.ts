import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { bodyOf, forward } from '../../harness/forward.ts';
import { LoopbackServer } from '../../harness/loopback-server.ts';
import type { Job } from './job.ts';

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url));
const ENDPOINT = /(?<=TableEndpoint=)([^;]+)/;

/** When a worker is killed: at its `write`-th write, which is carried out first or not at all. */
export interface Kill {
  readonly write: number;
  readonly isCarriedOut: boolean;
}

/** How a worker ended. */
export interface Ended {
  readonly how: 'done' | 'killed' | 'failed';
  readonly output: string;
}

/** Stands between a worker and its storage, to kill it at a write. */
export class Between {
  readonly #target: URL;
  readonly #agent = new Agent({ keepAlive: true });
  #writes = 0;
  #onWrite: (write: number, carryOut: () => Promise<void>) => Promise<void> = async (_, carryOut) => carryOut();

  private constructor(target: URL) {
    this.#target = target;
  }

  /**
   * Runs a worker in a process of its own.
   *
   * @param kill undefined: it may do its job to the end
   */
  static async run(job: Job, kill?: Kill): Promise<Ended> {
    const between = new Between(new URL(ENDPOINT.exec(job.connectionString)?.[1] ?? ''));
    const server = await LoopbackServer.start((incoming, answer) => {
      between.#handle(incoming, answer).catch(() => void answer.destroy());
    });
    const own = new URL(between.#target);
    own.port = String(server.port);
    const connectionString = job.connectionString.replace(ENDPOINT, own.href);
    const worker = spawn(
      process.execPath,
      ['--import', import.meta.resolve('tsx'), WORKER, JSON.stringify({ ...job, connectionString })],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    if (kill !== undefined) {
      between.#onWrite = async (write, carryOut) => {
        if (write < kill.write) return carryOut();
        if (kill.isCarriedOut && write === kill.write) await carryOut();
        worker.kill('SIGKILL');
        throw new Error('the worker is killed');
      };
    }
    try {
      const [output] = await Promise.all([text(worker.stdout), once(worker, 'exit')]);
      if (worker.signalCode === 'SIGKILL') return { how: 'killed', output };
      return { how: worker.exitCode === 0 ? 'done' : 'failed', output };
    } finally {
      await server.stop();
      between.#agent.destroy();
    }
  }

  async #handle(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await bodyOf(incoming);
    const { hostname, port } = this.#target;
    const { method, url = '/' } = incoming;
    let carriedOut: ReturnType<typeof forward> | undefined;
    const carryOut = async (): Promise<void> => {
      carriedOut = forward(incoming, body, { hostname, port, path: url, agent: this.#agent });
      await carriedOut;
    };
    if (method === 'GET' || url.includes('/Tables')) await carryOut();
    else await this.#onWrite((this.#writes += 1), carryOut);
    if (carriedOut === undefined) throw new Error('it is not carried out');
    const { status, headers, body: answered } = await carriedOut;
    answer.writeHead(status, headers);
    answer.end(answered);
  }
}
