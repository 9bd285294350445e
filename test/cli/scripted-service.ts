import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

import { onTestFinished } from 'vitest';
import { z } from 'zod';

import { LoopbackServer } from '../harness/loopback-server.ts';

/** An answer over HTTP. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** `'reset'` cuts the connection, `'torn'` cuts it in the middle of a 200, `'record'` answers as the service does. */
type Reply = Answer | 'record' | 'reset' | 'torn';

/** One request as the service got it. */
interface Asked {
  /** Its number, from 1. */
  readonly number: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Script = (asked: Asked) => Reply | Promise<Reply>;

const eventSchema = z.object({ specversion: z.literal('1.0'), data: z.object({ event_id: z.string() }) });

/** A service over HTTP whose answers a test scripts. */
export class ScriptedService {
  /** How often each event was recorded or found known by its event id, and how often each element that is not an event was refused, by its JSON. */
  readonly times = new Map<string, number>();
  requests = 0;
  url = '';

  /** Starts one for the test that runs. */
  static async start(script: Script = () => 'record'): Promise<ScriptedService> {
    const service = new ScriptedService();
    const server = await LoopbackServer.start((request, response) => {
      // The client goes away in the middle, as some tests make it.
      service.#answer(script, request, response).catch(() => response.destroy());
    });
    onTestFinished(() => server.stop());
    service.url = `http://127.0.0.1:${server.port}`;
    return service;
  }

  async #answer(script: Script, request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1;
    const { method = '', url: path = '', headers } = request;
    const asked = { number: this.requests, method, path, headers, body: await text(request) };
    const reply = await script(asked);
    if (reply === 'reset') response.destroy();
    else if (reply === 'torn') {
      response.writeHead(200, { 'content-length': '99' }).write('{"recorded": ', () => response.destroy());
    } else {
      const answer = reply === 'record' ? this.#record(z.array(z.unknown()).parse(JSON.parse(asked.body))) : reply;
      response.writeHead(answer.status, answer.headers).end(answer.body);
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
    return errors.length === 0
      ? { status: 200, body: JSON.stringify(counts) }
      : { status: 400, body: JSON.stringify({ ...counts, errors }) };
  }
}
