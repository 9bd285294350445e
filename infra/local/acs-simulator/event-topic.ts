import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { z } from 'zod';

import { readBody, send } from './http-exchange.ts';
import type { PublishedEvent } from './story.ts';

const API_VERSION = '2018-01-01';

/** Event Grid takes no larger batch. */
const MOST_BODY_BYTES = 1024 * 1024;

const cloudEvents = z
  .array(
    z.looseObject({
      specversion: z.literal('1.0'),
      id: z.string().min(1),
      source: z.string().min(1),
      type: z.string().min(1),
      time: z.iso.datetime({ offset: true }).optional(),
      subject: z.string().min(1).optional(),
      data: z.unknown().optional(),
    }),
  )
  .min(1);

/** What the topic does with a batch: takes it; answers 503; never answers; takes it, and its answer is lost. */
export type TopicMood = 'takes' | 'unavailable' | 'hangs' | 'answer lost';

/** An Event Grid topic with the CloudEvents schema. */
export class EventTopic {
  /** For EVENT_TOPIC_KEY. */
  readonly key = randomBytes(32).toString('base64');
  /** What was published so far, repeats included. */
  readonly published: PublishedEvent[] = [];
  mood: TopicMood = 'takes';
  /** Batches that Event Grid would refuse. */
  readonly #refuse: (request: string, status: number, reason: string) => void;

  constructor(refuse: (request: string, status: number, reason: string) => void) {
    this.#refuse = refuse;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fault = await this.#publish(request);
    if (this.mood === 'hangs') return;
    if (this.mood === 'answer lost') {
      request.socket.destroy();
      return;
    }
    if (fault !== undefined) this.#refuse(`POST ${TOPIC_PATH}`, fault.status, fault.reason);
    const status = fault?.status ?? (this.mood === 'unavailable' ? 503 : 200);
    send(response, { status });
  }

  async #publish(request: IncomingMessage): Promise<{ status: number; reason: string } | undefined> {
    const { headers, url } = request;
    const body = await readBody(request, MOST_BODY_BYTES);
    if (body === undefined) return { status: 413, reason: 'the batch is too large' };
    if (headers['aeg-sas-key'] !== this.key) return { status: 401, reason: 'the key is wrong' };
    if (new URL(url ?? '/', 'http://topic').searchParams.get('api-version') !== API_VERSION) {
      return { status: 400, reason: 'api-version is missing or unknown' };
    }
    if (headers['content-type']?.startsWith('application/cloudevents-batch+json') !== true) {
      return { status: 415, reason: 'not a batch of CloudEvents' };
    }
    const events = cloudEvents.safeParse(parsed(body));
    if (!events.success) return { status: 400, reason: z.prettifyError(events.error) };
    if (this.mood === 'takes' || this.mood === 'answer lost') {
      const at = new Date().toISOString();
      for (const { id, source, type, subject, data } of events.data) {
        this.published.push({ at, id, source, type, subject, data });
      }
    }
    return undefined;
  }
}

/** The topic's path on the simulator. */
export const TOPIC_PATH = '/topic/api/events';

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
