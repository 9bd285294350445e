import type { TokenCredential } from '@azure/identity';

import { LONGEST_PUBLISHING_MS, type OutcomeTopic } from '../model/outcome-events.ts';
import { lazily } from '../../azure/lazily.ts';

/** An Event Grid topic of the CloudEvents schema, and how to reach it. */
export interface EventGridTopic {
  readonly endpoint: string;
  /** Undefined: the app's identity is used. */
  readonly key: string | undefined;
}

/**
 * Publishes to an Event Grid topic.
 *
 * @param source of the events
 */
export const eventGridTopic = (
  { endpoint, key }: EventGridTopic,
  source: string,
  credential: TokenCredential,
): OutcomeTopic => {
  const client = lazily(async () => {
    // Loaded with the first outcome: it is a part of the time that the app takes to start.
    const { AzureKeyCredential, EventGridPublisherClient } = await import('@azure/eventgrid');
    const options = {
      // The outbox tries again.
      retryOptions: { maxRetries: 0 },
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
      await publisher.send(
        events.map(({ id, type, subject, time, data }) => ({
          id,
          type,
          subject,
          source,
          time: new Date(time),
          data,
          datacontenttype: 'application/json',
        })),
        { abortSignal: AbortSignal.timeout(LONGEST_PUBLISHING_MS) },
      );
    },
  };
};
