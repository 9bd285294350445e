import { AzureKeyCredential, EventGridPublisherClient } from '@azure/eventgrid';
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
  const client = lazily(() => {
    const options = {
      // Whoever looks tries again.
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
      await client().send(
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
