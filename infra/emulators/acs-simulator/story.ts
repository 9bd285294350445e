import type { PublishedEvent } from './event-topic.ts';

/** One line of a call's story. */
export interface StoryLine {
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Who did it: the app asked, ACS reported, the voice spoke. */
  readonly kind: 'request' | 'event' | 'speech';
  /** `createCall`, `CallConnected`, the spoken text. */
  readonly text: string;
  /** What the app answered to an event, or was answered to a request: an HTTP status, or what happened in place of one. */
  readonly answer?: string;
}

/** A text that a callee heard, or began to hear. */
export interface Speech {
  readonly text: string;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  /** How long it was spoken, in milliseconds; up to now where it still is. */
  readonly spokenMs: number;
  /** False where the call ended before the text did, and while it is still spoken. */
  readonly isComplete: boolean;
}

/** Who ended a call; `network`: nobody was reached. */
export type EndedBy = 'app' | 'callee' | 'network';

/** One call, told. */
export interface CallStory {
  readonly id: string;
  /** The whole number: no real person has it. */
  readonly to: string;
  /** The caller's number, or the id of the Teams resource account that calls. */
  readonly from: string;
  readonly scenario: string;
  readonly callbackUri: string;
  readonly state: 'ringing' | 'connected' | 'ended';
  /** When it began to ring: ISO 8601, UTC. */
  readonly rangAt: string;
  /** When the callee picked up. */
  readonly answeredAt?: string;
  /** When the line was free again. */
  readonly endedAt?: string;
  readonly endedBy?: EndedBy;
  /** Every text that the callee heard, or began to hear. */
  readonly spoken: readonly string[];
  /** The same, and how far each was spoken. */
  readonly speeches: readonly Speech[];
  /** How many requests of each kind came that ACS takes, those that were not carried out included. */
  readonly requests: Readonly<Record<'createCall' | 'play' | 'listen' | 'hangUp', number>>;
  readonly story: readonly StoryLine[];
}

/** A request that the simulator refused: the app should not have made it. */
export interface RefusedRequest {
  readonly at: string;
  /** Method and path. */
  readonly request: string;
  readonly status: number;
  readonly reason: string;
}

/** A request for a call while all lines were taken. */
export interface TurnedAway {
  readonly at: string;
  readonly to: string;
}

/** What `GET /log` answers. */
export interface SimulatorLog {
  readonly calls: readonly CallStory[];
  readonly refused: readonly RefusedRequest[];
  readonly turnedAway: readonly TurnedAway[];
  /** What the topic has taken, repeats included. */
  readonly published: readonly PublishedEvent[];
  /** How often the keys of the callback tokens were fetched. */
  readonly keyFetches: number;
}
