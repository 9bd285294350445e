import pLimit from 'p-limit';
import type { TokenCredential } from '@azure/identity';
import { withDeadline } from '../../azure/deadline.ts';
import { lazily } from '../../azure/lazily.ts';
import { ONE_REQUEST } from '../../azure/one-request.ts';
import { MAX_PUBLISHING_MS, OUTCOME_SOURCE, type OutcomeEvent, type OutcomeTopic } from '../model/outcomes.ts';

/** An Event Grid topic of the CloudEvents schema, and how to reach it. */
interface EventGridTopic {
  readonly endpoint: string;
  /** Undefined: the app's identity is used. */
  readonly key: string | undefined;
}

/** Publishes to an Event Grid topic. */
export const eventGridTopic = ({ endpoint, key }: EventGridTopic, credential: TokenCredential): OutcomeTopic => {
  const client = lazily(async () => {
    // Loaded with the first outcome: it is a part of the time that the app takes to start.
    const { AzureKeyCredential, EventGridPublisherClient } = await import('@azure/eventgrid');
    const options = {
      ...ONE_REQUEST,
      // The settings accept plain http for loopback addresses only.
      allowInsecureConnection: endpoint.startsWith('http:'),
    };
    return new EventGridPublisherClient(
      endpoint,
      'CloudEvent',
      key === undefined ? credential : new AzureKeyCredential(key),
      options,
    );
  });
  return {
    publish: async (events) => {
      const publisher = await client();
      const sent = events.map(({ id, type, subject, time, data }) => ({
        id,
        type,
        subject,
        source: OUTCOME_SOURCE,
        time: new Date(time),
        data,
        datacontenttype: 'application/json',
      }));
      await withDeadline(MAX_PUBLISHING_MS, async (abortSignal) => publisher.send(sent, { abortSignal }));
    },
  };
};

/** A receiver of outcomes, and the key by which it verifies them. */
interface WebhookTarget {
  readonly url: string;
  /** `whsec_` and the key in Base64. */
  readonly secret: string;
}

// A notification of fifty people that is stopped is one batch: a receiver may take two seconds for each event of it.
const AT_A_TIME = 16;

/** Thrown if the receiver does not take an event. */
export class WebhookRejected extends Error {
  override readonly name = 'WebhookRejected';
  /** The answer: any HTTP status but 2xx. */
  readonly status: number;

  constructor(status: number) {
    super(`the receiver of the webhook answers ${status}`);
    this.status = status;
  }
}

/**
 * Posts outcomes to any address: one CloudEvent (structured mode) a request, signed as Standard Webhooks says. Any answer but 2xx, a redirect
 * too, is a failure: the event is sent again later, with the same id and time.
 */
export const outcomeWebhook = ({ url, secret }: WebhookTarget): OutcomeTopic => {
  const signer = lazily(async () => import('standardwebhooks').then(({ Webhook }) => new Webhook(secret)));
  const post = async ({ id, type, subject, time, data }: OutcomeEvent, signal: AbortSignal): Promise<void> => {
    const at = new Date(time).toISOString();
    const event = {
      specversion: '1.0',
      id,
      source: OUTCOME_SOURCE,
      type,
      subject,
      time: at,
      datacontenttype: 'application/json',
      data,
    };
    const body = JSON.stringify(event);
    const sentAt = new Date();
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/cloudevents+json; charset=utf-8',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
        'webhook-signature': (await signer()).sign(id, sentAt, body),
      },
      body,
      // The body has names: it goes only to this address.
      redirect: 'manual',
      signal,
    });
    await response.body?.cancel();
    if (!response.ok) throw new WebhookRejected(response.status);
  };
  return {
    publish: async (events) => {
      await withDeadline(MAX_PUBLISHING_MS, async (signal) =>
        pLimit(AT_A_TIME).map(events, async (event) => post(event, signal)),
      );
    },
  };
};
