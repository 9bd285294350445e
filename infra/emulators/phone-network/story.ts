import type { PublishedEvent } from './event-topic.ts';

/** One line of a call's story. */
export interface StoryLine {
  /** ISO 8601, UTC, as all times here. */
  readonly at: string;
  /** The app asked, the provider reported, the voice spoke. */
  readonly kind: 'request' | 'event' | 'speech';
  /** Such as `createCall`, `CallConnected`, the spoken text. */
  readonly text: string;
  /** What the app answered to an event, or was answered to a request: an HTTP status, or what happened in place of one. */
  readonly answer?: string;
}

/** A text of which a callee heard at least the beginning. */
export interface Speech {
  readonly text: string;
  readonly startedAt: string;
  /** How long it was spoken, or has been until now, in milliseconds. */
  readonly spokenMs: number;
  /** False if it was interrupted, and while it is still spoken. */
  readonly isComplete: boolean;
}

/** Who ended a call; `network`: nobody was reached, or a limit of the provider. */
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
  /** A call that waits in a queue of the provider is `ringing` here. */
  readonly state: 'ringing' | 'connected' | 'ended';
  readonly rangAt: string;
  readonly answeredAt?: string;
  readonly endedAt?: string;
  readonly endedBy?: EndedBy;
  /** The texts of its speeches. */
  readonly spoken: readonly string[];
  readonly speeches: readonly Speech[];
  /** How many requests of each kind were right, also if they were not carried out. Instructions in TwiML count as requests. */
  readonly requests: Readonly<Record<'createCall' | 'play' | 'listen' | 'hangUp', number>>;
  readonly story: readonly StoryLine[];
}

/** Everything that happened: what `GET /log` answers. */
export interface SimulatorLog {
  readonly calls: readonly CallStory[];
  /** Requests that the app should not have made, and answers that it should not have given. */
  readonly refused: readonly {
    readonly at: string;
    /** Method and path. */
    readonly request: string;
    readonly status: number;
    readonly reason: string;
  }[];
  /** Requests for a call while all lines were busy. */
  readonly turnedAway: readonly { readonly at: string; readonly to: string }[];
  /** What the topic has taken, repeats included. */
  readonly published: readonly PublishedEvent[];
  /** How often the keys of the callback tokens were fetched (ACS). */
  readonly keyFetches: number;
}
