import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

import { onTestFinished } from 'vitest';
import { z } from 'zod';

import { LoopbackServer } from '../harness/loopback-server.ts';

/** An answer over HTTP. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One request as the service got it. */
interface Asked {
  /** Its number, from 1. */
  readonly number: number;
  readonly path: string;
  readonly body: Buffer;
  readonly headers: IncomingMessage['headers'];
}

/** What to answer; `'reset'` cuts the connection, `'torn'` cuts it in the middle of a 200, `'record'` answers as the service does. */
export type Script = (asked: Asked) => 'record' | 'reset' | 'torn' | Answer | Promise<'record' | Answer>;

const eventSchema = z.object({ specversion: z.literal('1.0'), data: z.object({ event_id: z.string() }) });

/** A service over HTTP that answers as a test tells it to. */
export class ScriptedService {
  /** How often each event was recorded or found known by its event id, and each element that is no event refused by its JSON. */
  readonly times = new Map<string, number>();
  url = '';
  requests = 0;
  inFlight = 0;
  mostInFlight = 0;
  script: Script;

  private constructor(script: Script) {
    this.script = script;
  }

  /** Starts one for the test that runs. */
  static async start(script: Script = () => 'record'): Promise<ScriptedService> {
    const service = new ScriptedService(script);
    const server = await LoopbackServer.start((request, response) => void service.#answer(request, response));
    onTestFinished(() => server.stop());
    service.url = `http://127.0.0.1:${server.port}`;
    return service;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1;
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    const number = this.requests;
    try {
      const body = await buffer(request);
      const scripted = await this.script({ number, path: request.url ?? '', body, headers: request.headers });
      this.inFlight -= 1;
      if (scripted === 'reset') response.destroy();
      else if (scripted === 'torn') {
        response.writeHead(200, { 'content-length': '99' }).write('{"recorded": ', () => response.destroy());
      } else {
        const answer =
          scripted === 'record' ? this.#record(z.array(z.unknown()).parse(JSON.parse(body.toString()))) : scripted;
        response.writeHead(answer.status, answer.headers).end(answer.body);
      }
    } catch {
      // The client went away in the middle, as some tests make it.
      response.destroy();
    }
  }

  #record(events: readonly unknown[]): Answer {
    const counts = { recorded: 0, unchanged: 0 };
    const errors: { index: number; detail: string }[] = [];
    for (const [index, event] of events.entries()) {
      const { data } = eventSchema.safeParse(event);
      const id = data?.data.event_id ?? JSON.stringify(event);
      // Two faults of one event, which are two errors with its index.
      if (data === undefined) errors.push({ index, detail: 'is wrong' }, { index, detail: 'altogether' });
      else counts[this.times.has(id) ? 'unchanged' : 'recorded'] += 1;
      this.times.set(id, (this.times.get(id) ?? 0) + 1);
    }
    const body = JSON.stringify(errors.length === 0 ? counts : { ...counts, errors });
    return { status: errors.length === 0 ? 200 : 400, body };
  }
}
