import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

import { z } from 'zod';

import { jsonText, send } from './http-answer.ts';

const API_VERSION = '2018-01-01';

/** Event Grid takes no larger batch. */
const MOST_CHARACTERS = 1024 * 1024;

const cloudEvent = z.looseObject({
  specversion: z.literal('1.0'),
  id: z.string().min(1),
  source: z.string().min(1),
  type: z.string().min(1),
  time: z.iso.datetime({ offset: true }).optional(),
  subject: z.string().min(1).optional(),
  data: z.unknown().optional(),
});

const cloudEvents = jsonText.pipe(z.array(cloudEvent).min(1));

/** A CloudEvent that the app published. */
export type PublishedEvent = z.infer<typeof cloudEvent>;

/** An Event Grid topic with the CloudEvents schema. */
export class EventTopic {
  /** For EVENT_TOPIC_ENDPOINT. */
  readonly endpoint: string;
  /** For EVENT_TOPIC_KEY. */
  readonly key = randomBytes(32).toString('base64');
  /** What was published so far, repeats included. */
  readonly published: PublishedEvent[] = [];
  #mood: 'takes' | 'hangs' = 'takes';
  readonly #hung = new Set<ServerResponse>();

  constructor(endpoint: string) {
    this.endpoint = endpoint;
  }

  /** What the topic does with a batch: takes it, or does not answer until that changes; then the connection breaks. */
  get mood(): 'takes' | 'hangs' {
    return this.#mood;
  }

  set mood(mood) {
    this.#mood = mood;
    for (const response of this.#hung) response.destroy();
    this.#hung.clear();
  }

  /** @param refused is told of a batch that Event Grid would refuse */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    refused: (status: number, reason: string) => void,
  ): Promise<void> {
    const body = await text(request);
    if (this.mood === 'hangs') {
      this.#hung.add(response);
      return;
    }
    const [status, reason] = this.#take(request, body);
    if (reason !== undefined) refused(status, reason);
    send(response, { status });
  }

  #take({ headers, url = '/' }: IncomingMessage, body: string): readonly [status: number, reason?: string] {
    if (body.length > MOST_CHARACTERS) return [413, 'the batch is too large'];
    if (headers['aeg-sas-key'] !== this.key) return [401, 'the key is wrong'];
    if (new URL(url, this.endpoint).searchParams.get('api-version') !== API_VERSION) {
      return [400, 'api-version is missing or unknown'];
    }
    if (headers['content-type']?.startsWith('application/cloudevents-batch+json') !== true) {
      return [415, 'not a batch of CloudEvents'];
    }
    const { data: events, error } = cloudEvents.safeParse(body);
    if (error !== undefined) return [400, z.prettifyError(error)];
    this.published.push(...events);
    return [200];
  }
}
