import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import { z } from 'zod';

import { type Answer, jsonText, Refusal } from './reply.ts';

const API_VERSION = '2018-01-01';

/** Event Grid refuses larger batches. */
const MAX_CHARACTERS = 1024 * 1024;

const text = z.string().min(1);
const cloudEvent = z.looseObject({
  specversion: z.literal('1.0'),
  id: text,
  source: text,
  type: text,
  time: z.iso.datetime({ offset: true }).optional(),
  subject: text.optional(),
});
const cloudEvents = jsonText.pipe(z.array(cloudEvent).min(1));

/** An Event Grid topic with the CloudEvents schema. */
export class EventTopic {
  /** For EVENT_TOPIC_ENDPOINT. */
  readonly endpoint: string;
  /** For EVENT_TOPIC_KEY. */
  readonly key = randomBytes(32).toString('base64');
  /** The published events, repeats included. */
  readonly published: z.output<typeof cloudEvents> = [];

  constructor(endpoint: string) {
    this.endpoint = endpoint;
  }

  /**
   * Takes a batch of events.
   *
   * @throws {Refusal | z.ZodError} if Event Grid would refuse it
   */
  take({ headers }: IncomingMessage, query: URLSearchParams, body: string): Answer {
    if (body.length > MAX_CHARACTERS) throw new Refusal([413, ''], 'the batch is too large');
    if (headers['aeg-sas-key'] !== this.key) throw new Refusal([401, ''], 'the key is wrong');
    if (query.get('api-version') !== API_VERSION) throw new Refusal([400, ''], 'api-version is missing or unknown');
    if (headers['content-type']?.startsWith('application/cloudevents-batch+json') !== true) {
      throw new Refusal([415, ''], 'not a batch of CloudEvents');
    }
    this.published.push(...cloudEvents.parse(body));
    return { status: 200 };
  }
}
