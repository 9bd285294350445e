/** An outcome that others are told of: a CloudEvent without the envelope that is the same for all. */
export interface OutcomeEvent {
  /** The same for the same outcome, so that a repeat is recognised. */
  readonly id: string;
  readonly type: 'Notification.RecipientFinal' | 'Notification.Completed';
  /** The notification's id. */
  readonly subject: string;
  /** When it was decided, in milliseconds since 1970. */
  readonly time: number;
  /** As JSON; phone numbers are masked. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Where outcomes are published. */
export interface OutcomeTopic {
  /**
   * Publishes events; fulfils when the topic has taken all of them. Ends within {@link LONGEST_PUBLISHING_MS}.
   *
   * @throws whatever the topic's client throws: tried again later
   */
  publish(events: readonly OutcomeEvent[]): Promise<void>;
}

/** How long publishing takes at most, in milliseconds. */
export const LONGEST_PUBLISHING_MS = 10_000;
