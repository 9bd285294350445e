/** An outcome to publish: a CloudEvent without the common envelope. */
export interface OutcomeEvent {
  /** The same for the same outcome, so that the receiver recognizes a repeat. */
  readonly id: string;
  readonly type: 'Notification.RecipientFinal' | 'Notification.Completed' | 'Notification.Acknowledged';
  /** The notification's id. */
  readonly subject: string;
  /** When it was decided, in milliseconds since 1970. */
  readonly time: number;
  /** As JSON; phone numbers are masked. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Where outcomes are published. No destination delays another. */
export const DESTINATIONS = ['topic', 'webhook'] as const;

export type Destination = (typeof DESTINATIONS)[number];

/** The `source` of the events. */
export const OUTCOME_SOURCE = '/notifications';

export interface OutcomeTopic {
  /**
   * Publishes events; fulfills when the topic has taken all of them. Ends within {@link MAX_PUBLISHING_MS}.
   *
   * @throws any error of the topic's client: tried again later
   */
  publish(events: readonly OutcomeEvent[]): Promise<void>;
}

/** How long publishing takes at most, in milliseconds. */
export const MAX_PUBLISHING_MS = 10_000;

/** The outcomes of an attempt: README.md explains them. Answers, rows, logs and alerts use the same words. */
export const OUTCOMES = [
  'confirmed',
  'cannot_go',
  'heard',
  'unconfirmed',
  'cut_short',
  'no_answer',
  'busy',
  'declined',
  'refused',
  'stopped',
  'unknown',
] as const;

export type Outcome = (typeof OUTCOMES)[number];
