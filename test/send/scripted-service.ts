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

const eventSchema = z.object({ specversion: z.literal('1.0'), data: z.object({ event_id: z.string() }) });

/** Answers batches as the service does, and counts what it gets. */
export class ScriptedRecorder {
  /** How often each event was recorded or found known, by its event id. */
  readonly times = new Map<string, number>();
  /** How often each element that is no event was refused, by its JSON. */
  readonly refused = new Map<string, number>();

  record(events: readonly unknown[]): Answer {
    const counts = { recorded: 0, unchanged: 0 };
    const errors: { index: number; detail: string }[] = [];
    for (const [index, event] of events.entries()) {
      const { data } = eventSchema.safeParse(event);
      if (data === undefined) {
        errors.push({ index, detail: 'is wrong' });
        count(this.refused, JSON.stringify(event));
      } else {
        const id = data.data.event_id;
        counts[this.times.has(id) ? 'unchanged' : 'recorded'] += 1;
        count(this.times, id);
      }
    }
    const body = JSON.stringify(errors.length === 0 ? counts : { ...counts, errors });
    return { status: errors.length === 0 ? 200 : 400, body };
  }
}

const count = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);

/** One request as the service got it. */
export interface Asked {
  /** Its number, from 1. */
  readonly number: number;
  readonly body: Buffer;
  readonly headers: IncomingMessage['headers'];
}

/** What to answer; `'reset'` cuts the connection, `'record'` answers as the service does. */
export type Script = (asked: Asked) => 'record' | 'reset' | Answer | Promise<'record' | Answer>;

/** A service over HTTP that answers as a test tells it to. */
export class ScriptedService {
  readonly url: string;
  readonly recorder = new ScriptedRecorder();
  requests = 0;
  script: Script;

  private constructor(url: string, script: Script) {
    this.url = url;
    this.script = script;
  }

  /** Starts one for the test that runs. */
  static async start(script: Script = () => 'record'): Promise<ScriptedService> {
    let service: ScriptedService | undefined;
    const server = await LoopbackServer.start((request, response) => void service?.answer(request, response));
    onTestFinished(() => server.stop());
    service = new ScriptedService(`http://127.0.0.1:${server.port}`, script);
    return service;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1;
    const number = this.requests;
    try {
      const body = await buffer(request);
      const scripted = await this.script({ number, body, headers: request.headers });
      if (scripted === 'reset') response.destroy();
      else {
        const events = z.array(z.unknown()).parse(JSON.parse(body.toString('utf8')));
        const answer = scripted === 'record' ? this.recorder.record(events) : scripted;
        response.writeHead(answer.status, answer.headers).end(answer.body);
      }
    } catch {
      // The client went away in the middle, as some tests make it.
      response.destroy();
    }
  }
}
