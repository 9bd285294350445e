import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

import { onTestFinished } from 'vitest';
import { z } from 'zod';

import { LoopbackServer } from '../harness/loopback-server.ts';

/** One request as the service got it. */
export interface Asked {
  /** Its number, from 1. */
  readonly number: number;
  readonly events: readonly unknown[];
  readonly body: Buffer;
  readonly headers: IncomingMessage['headers'];
}

/** An answer over HTTP. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What to answer; `'reset'` cuts the connection, `'record'` answers as the service does. */
export type Scripted =
  'record' | 'reset' | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

export type Script = (asked: Asked) => Scripted | Promise<Scripted>;

const eventSchema = z.object({ specversion: z.literal('1.0'), data: z.object({ event_id: z.string() }) });

/** A service that answers as a test tells it to, and counts what it gets. */
export class ScriptedService {
  readonly url: string;
  /** How often each event was recorded or found known, by its event id. */
  readonly times: ReadonlyMap<string, number>;
  /** How often each element that is no event was refused, by its JSON. */
  readonly refused: ReadonlyMap<string, number>;
  #requests = 0;
  #inFlight = 0;
  #mostInFlight = 0;
  script: Script;
  readonly #times = new Map<string, number>();
  readonly #refused = new Map<string, number>();

  private constructor(url: string, script: Script) {
    this.url = url;
    this.script = script;
    this.times = this.#times;
    this.refused = this.#refused;
  }

  /** Starts one for the test that runs. */
  static async start(script: Script = () => 'record'): Promise<ScriptedService> {
    let service: ScriptedService | undefined;
    const server = await LoopbackServer.start((request, response) => void service?.answer(request, response));
    onTestFinished(() => server.stop());
    service = new ScriptedService(`http://127.0.0.1:${server.port}`, script);
    return service;
  }

  get requests(): number {
    return this.#requests;
  }

  get mostInFlight(): number {
    return this.#mostInFlight;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#requests += 1;
    const number = this.#requests;
    this.#inFlight += 1;
    this.#mostInFlight = Math.max(this.#mostInFlight, this.#inFlight);
    try {
      const body = await buffer(request);
      const events = z.array(z.unknown()).parse(JSON.parse(body.toString('utf8')));
      const scripted = await this.script({ number, events, body, headers: request.headers });
      if (scripted === 'reset') response.destroy();
      else {
        const { status, headers = {}, body: text = '' } = scripted === 'record' ? this.record(events) : scripted;
        response.writeHead(status, headers).end(text);
      }
    } catch {
      // The client went away in the middle, as some tests make it.
      response.destroy();
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** What the service answers, and what it counts. */
  record(events: readonly unknown[]): Answer {
    const counts = { recorded: 0, unchanged: 0 };
    const errors: { index: number; detail: string }[] = [];
    for (const [index, event] of events.entries()) {
      const { data } = eventSchema.safeParse(event);
      if (data === undefined) {
        errors.push({ index, detail: 'is wrong' });
        const json = JSON.stringify(event);
        this.#refused.set(json, (this.#refused.get(json) ?? 0) + 1);
      } else {
        const id = data.data.event_id;
        counts[this.#times.has(id) ? 'unchanged' : 'recorded'] += 1;
        this.#times.set(id, (this.#times.get(id) ?? 0) + 1);
      }
    }
    const body = JSON.stringify(errors.length === 0 ? counts : { ...counts, errors });
    return { status: errors.length === 0 ? 200 : 400, body };
  }
}
